"""Objectives one after another: the last stage's optimum is the lexicographic one, and bounds combine."""

from itertools import pairwise

import numpy as np
from hypothesis import given, strategies as st
from small_models import described

from muri_opt.modelling import Stage, combined_bound, combined_value, evaluate, stage_model


@given(data=st.data(), it=described(continuous=False, most=2))
def test_stages_reach_the_lexicographic_optimum(data, it):
    size = it.model.column_count
    objectives = data.draw(st.lists(st.lists(st.integers(-2, 2), min_size=size, max_size=size), min_size=1, max_size=3))
    stages = [Stage(objective=np.array(o, dtype=np.int64), weight=1, best=99) for o in objectives]
    points = [point for point in it.points() if not it.broken(point)]
    worth = {point: tuple(sum(c * x for c, x in zip(o, point, strict=True)) for o in objectives) for point in points}
    best = max(worth.values(), default=None)
    for number, objective in enumerate(objectives if points else []):
        model = stage_model(it.model, stages, best[:number])
        assert model.objective.tolist() == objective
        feasible = [point for point in points if evaluate(model, np.array(point)).feasible]
        assert feasible == [point for point in points if worth[point][:number] == best[:number]]
        assert max(evaluate(model, np.array(point)).value for point in feasible) == best[number]


def test_values_and_bounds_are_weighted_sums():
    stages = [Stage(objective=np.array([1, 0]), weight=4, best=1), Stage(objective=np.array([0, 1]), weight=1, best=3)]
    assert combined_value(stages, [1, 2]) == 6
    assert combined_bound(stages, [], None) == 7
    assert combined_bound(stages, [], 0) == 3
    assert combined_bound(stages, [1], None) == 7
    assert combined_bound(stages, [1], 2) == 6
    assert combined_bound(stages, [1, 0], None) == 4


@given(best=st.lists(st.integers(0, 5), min_size=1, max_size=4), data=st.data())
def test_bounds_only_fall_while_stages_are_proved(best, data):
    weights = [6**rank for rank in reversed(range(len(best)))]
    stages = [
        Stage(objective=np.zeros(1, dtype=np.int64), weight=w, best=b) for w, b in zip(weights, best, strict=True)
    ]
    reached = [data.draw(st.integers(0, b)) for b in best]
    bounds = [combined_bound(stages, reached[:proved], None) for proved in range(len(best) + 1)]
    assert all(later <= earlier for earlier, later in pairwise(bounds))
    assert bounds[-1] == combined_value(stages, reached)
