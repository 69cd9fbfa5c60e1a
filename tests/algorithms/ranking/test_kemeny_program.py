"""The program says what enumeration says, on every backend."""

import numpy as np
import pytest
from hypothesis import given, settings
from ranking_draws import drawn_rankings, every_cost, random_lists, split_lists

from muri_opt.algorithms.ranking import Rankings, disagreement, kemeny_program
from muri_opt.algorithms.ranking.program import all_triangles, decoded, pair_program, pair_table, pair_values
from muri_opt.algorithms.ranking.subset_dp import best_order
from muri_opt.modelling import evaluate
from muri_opt.rounds import Limits, Reason
from muri_opt.solve.solvers import BACKENDS, backend_named


def constant(rankings):
    return disagreement(rankings, range(rankings.jobs)[::-1])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("jobs", range(1, 8))
def test_program_equals_enumeration(backend, jobs):
    cases = [Rankings.of(random_lists(jobs, 3, 1)), Rankings.of(split_lists(jobs, 2), weights=[1, 2, 3])]
    for rankings in cases:
        model = kemeny_program(rankings)
        found = backend_named(backend).solve(model, Limits(seconds=None))
        least = min(every_cost(rankings).values())
        assert found.termination.reason is Reason.OPTIMAL
        assert found.value + constant(rankings) == least
        order = decoded(pair_table(jobs, found.values))
        assert disagreement(rankings, order) == least
        assert np.array_equal(pair_values(order), found.values)


@given(drawn_rankings(most_jobs=6))
@settings(max_examples=40)
def test_dynamic_programming_equals_enumeration_and_the_program(rankings):
    order = best_order(rankings.before)
    least = min(every_cost(rankings).values())
    assert disagreement(rankings, order) == least
    found = backend_named("highs").solve(kemeny_program(rankings), Limits(seconds=None))
    assert found.value + constant(rankings) == least


@given(drawn_rankings(most_jobs=5))
@settings(max_examples=30)
def test_orders_and_only_they_satisfy_every_row(rankings):
    model = kemeny_program(rankings)
    for order, cost in list(every_cost(rankings).items())[::7]:
        values = pair_values(np.array(order))
        found = evaluate(model, values)
        assert found.feasible
        assert found.value + constant(rankings) == cost
    assert model.row_count == len(all_triangles(rankings.jobs))


def test_a_circle_breaks_the_row_of_its_direction():
    before = np.zeros((3, 3), dtype=np.int64)
    model = pair_program(before, all_triangles(3)).model
    broken = {
        values: [(row.label, row.by) for row in evaluate(model, np.array(values)).broken]
        for values in ((1, 0, 1), (0, 1, 0))  # 0 before 1 before 2 before 0, and the other way
    }
    assert broken == {(1, 0, 1): [("forward", 1)], (0, 1, 0): [("backward", 1)]}


def test_fixed_pairs_are_bounds():
    fixed = np.zeros((3, 3), dtype=bool)
    fixed[0, 1] = fixed[2, 0] = True
    model = pair_program(np.zeros((3, 3), dtype=np.int64), all_triangles(3), fixed).model
    assert (model.lower.tolist(), model.upper.tolist()) == ([1, 0, 0], [1, 0, 1])
