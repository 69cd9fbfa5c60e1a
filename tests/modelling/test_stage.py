"""Objectives one after another: the last stage's optimum is the lexicographic one, and bounds combine."""

from itertools import pairwise, product

import numpy as np
from hypothesis import given, strategies as st
from small_models import described

from muri_opt.modelling import ModelBuilder, Stage, combined_bound, combined_value, evaluate, stage_model


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


def test_a_stage_is_held_by_its_digits():
    builder = ModelBuilder("digits")
    x = builder.add_columns("x", [0, 1], upper=3)
    h, l = builder.add_columns("h", [0], upper=9), builder.add_columns("l", [0], upper=9)  # noqa: E741 - a letter
    entries = ([0, 0, 0, 0], [*x, *h, *l], [-7, -12, 10, 1])
    builder.add_rows("made", [0], entries=entries, sense="<=", rhs=0)
    builder.add_rows("few", [0], entries=([0, 0], x, [1, 1]), sense="<=", rhs=4)
    model = builder.finish(maximise=True, columns=x, coefficients=[7, 12])
    digits = ((int(h[0]), 10), (int(l[0]), 1))
    stages = [
        Stage(objective=model.objective, weight=10, best=60, digits=digits),
        Stage(objective=np.array([1, 0, 0, 0]), weight=1, best=3),
    ]
    held = stage_model(model, stages, [43])
    (rows,) = [family for family in held.rows if family.label == "stage"]
    assert (rows.rhs.tolist(), rows.columns.tolist(), rows.coefficients.tolist()) == ([4, 3], [2, 3], [1, 1])
    points = [point for point in product(range(4), range(4), range(10), range(10)) if point[2:] == (4, 3)]
    feasible = [point[:2] for point in points if evaluate(held, np.array(point)).feasible]
    assert feasible == [(1, 3)]  # 7 + 36 is 43, and nothing is more


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
