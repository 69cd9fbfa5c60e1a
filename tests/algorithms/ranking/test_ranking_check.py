"""The check of an order counts for itself and accepts no proof that does not hold."""

import re
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ranking_draws import drawn_rankings, every_cost

from muri_opt import InputError
from muri_opt.rounds import Proof
from muri_opt.verify.certificates.ranking import check_ranking

CIRCLE = [[0, 1, 2], [1, 2, 0], [2, 0, 1]]


def test_a_circle_is_proved_by_its_triangle():
    once = check_ranking(CIRCLE, [1, 1, 1], [0, 1, 2], [((0, 1, 2), 2, {(0, 1, 2): 2})])
    assert (once.value, once.bound, once.proof) == (4, 4, Proof.LINEAR_DUALS)
    assert check_ranking(CIRCLE, [1, 1, 1], [0, 1, 2], [((0, 1, 2), 2, {(0, 1, 2): 1})]).bound == 4  # 3.5 rounded up
    assert check_ranking(CIRCLE, [1, 1, 1], [0, 1, 2], [((0, 1, 2), 1, {(0, 2, 1): 1})]).bound == 1
    assert check_ranking(CIRCLE, [1, 1, 1], [0, 1, 2]).bound == 3
    assert check_ranking(CIRCLE, [1, 1, 1], [0, 2, 1], [((0, 1, 2), 1, {})]).value == 5


@pytest.mark.parametrize(
    ("order", "proof", "field"),
    [
        ([0, 1, 1], [], "order"),
        ([0, 1, 2], [((0, 1), 1, {}), ((1, 2), 1, {})], "proof[1]"),
        ([0, 1, 2], [((0, 3), 1, {})], "proof[0]"),
        ([0, 1, 2], [((0, 1, 2), 0, {(0, 1, 2): 1})], "proof[0].denominator"),
        ([0, 1, 2], [((0, 1, 2), 1, {(0, 1, 2): -1})], "proof[0].triangles"),
        ([0, 1, 2], [((0, 1), 1, {(0, 1, 2): 1})], "proof[0].triangles"),
        ([0, 1, 2], [((0, 1, 2), 1, {(0, 1, 1): 1})], "proof[0].triangles"),
    ],
)
def test_breaches_are_named(order, proof, field):
    with pytest.raises(InputError, match=re.escape(field) + ":"):
        check_ranking(CIRCLE, [1, 1, 1], order, proof)


@given(drawn_rankings(most_jobs=5), st.data())
def test_no_proof_claims_too_much(rankings, data):
    jobs = rankings.jobs
    lists, weights = [entries.tolist() for entries in rankings.lists], rankings.weights.tolist()
    costs = every_cost(rankings)
    least = min(costs.values())
    order = data.draw(st.permutations(range(jobs)))
    cut = data.draw(st.integers(0, jobs))
    triangles = {}
    for a, b, c in combinations(order[:cut], 3):
        triangles[a, b, c] = data.draw(st.integers(0, 5))
    proof = [(order[:cut], data.draw(st.integers(1, 4)), triangles), (order[cut:], 1, {})]
    checked = check_ranking(lists, weights, order, proof)
    assert checked.value == costs[tuple(order)]
    assert checked.bound <= least
    assert check_ranking(lists, weights, order, [(range(jobs), 1, {})]).bound == least


def test_large_blocks_without_triangles_count_their_minorities():
    lists = [list(range(13)), list(range(13))[::-1], list(range(13))]
    checked = check_ranking(lists, [1, 1, 1], range(13), [(range(13), 1, {})])
    assert (checked.value, checked.bound, checked.proof) == (78, 78, Proof.LINEAR_DUALS)
