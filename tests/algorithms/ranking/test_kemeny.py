"""Kemeny's order: reductions, searches, limits, and proofs that the verifier accepts."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ranking_draws import drawn_rankings, every_cost, random_lists, split_lists

from muri_opt import RefusalError
from muri_opt.algorithms.ranking import Rankings, borda_order, disagreement, kemeny_order
from muri_opt.algorithms.ranking.cyclic_block import BlockSearch, Means
from muri_opt.algorithms.ranking.decomposition import components
from muri_opt.algorithms.ranking.insertion import improved
from muri_opt.algorithms.ranking.subset_dp import MOST_JOBS, best_order
from muri_opt.algorithms.ranking.triangles import Packing, broken, greedy_packing
from muri_opt.rounds import Limit, Limits, Proof, Reason
from muri_opt.solve.solvers import backend_named, relaxation
from muri_opt.verify.certificates.ranking import check_ranking

HIGHS = backend_named("highs").solve
UNTIMED = Limits(seconds=None)


def checked(rankings, found):
    lists = [jobs.tolist() for jobs in rankings.lists]
    return check_ranking(lists, rankings.weights.tolist(), found.order, found.proof)


@settings(max_examples=50)
@given(drawn_rankings())
def test_small_cases_are_proved_without_a_solver(rankings):
    found = kemeny_order(rankings)
    assert found.value == found.bound == min(every_cost(rankings).values()) == disagreement(rankings, found.order)
    check = checked(rankings, found)
    assert (check.value, check.bound, check.proof) == (found.value, found.value, Proof.EXHAUSTIVE)
    assert found.termination.reason is Reason.OPTIMAL


@settings(max_examples=50)
@given(drawn_rankings())
def test_groups_follow_one_another_at_no_cost(rankings):
    before = rankings.before
    groups = components(before, np.arange(rankings.jobs))
    assert sorted(np.concatenate(groups).tolist()) == list(range(rankings.jobs))
    for place, group in enumerate(groups):
        for later in groups[place + 1 :]:
            assert (before[np.ix_(group, later)] >= before[np.ix_(later, group)].T).all()
    order = np.concatenate([group[best_order(before[np.ix_(group, group)])] for group in groups])
    assert disagreement(rankings, order) == min(every_cost(rankings).values())


@settings(max_examples=50)
@given(drawn_rankings(most_jobs=5))
def test_agreed_pairs_stand_so_in_every_best_order(rankings):
    costs = every_cost(rankings)
    least = min(costs.values())
    for a, b in np.argwhere(rankings.agreed).tolist():
        assert all(order.index(a) < order.index(b) for order, cost in costs.items() if cost == least)


def test_pairs_on_which_only_the_lists_with_both_agree_need_not():
    rankings = Rankings.of([[0, 1], [1, 2], [2, 0]], weights=[1, 10, 10])
    assert not rankings.agreed.any()
    assert kemeny_order(rankings).order == (1, 2, 0)


@settings(max_examples=50)
@given(drawn_rankings(), st.data())
def test_renaming_jobs_changes_no_value(rankings, data):
    names = np.array(data.draw(st.permutations(range(rankings.jobs))))
    renamed = Rankings.of([names[jobs] for jobs in rankings.lists], jobs=rankings.jobs, weights=rankings.weights)
    assert kemeny_order(renamed).value == kemeny_order(rankings).value


@settings(max_examples=50)
@given(drawn_rankings())
def test_reversing_the_lists_reverses_the_best_orders(rankings):
    turned = Rankings.of([jobs[::-1] for jobs in rankings.lists], jobs=rankings.jobs, weights=rankings.weights)
    found = kemeny_order(rankings)
    assert kemeny_order(turned).value == found.value == disagreement(turned, found.order[::-1])


@given(drawn_rankings(complete=True), st.data())
def test_two_more_jobs_that_all_lists_put_side_by_side_first_cost_nothing(rankings, data):
    jobs = rankings.jobs
    lists = [[jobs, jobs + 1, *entries.tolist()] for entries in rankings.lists]
    longer = kemeny_order(Rankings.of(lists, weights=rankings.weights))
    assert longer.value == kemeny_order(rankings).value
    assert longer.order.index(jobs) < longer.order.index(jobs + 1)


@settings(max_examples=50)
@given(drawn_rankings(most_jobs=8), st.data())
def test_any_triangles_are_a_bound(rankings, data):
    jobs, before = rankings.jobs, rankings.before
    least = disagreement(rankings, best_order(before))
    drawn = data.draw(st.lists(st.permutations(range(jobs)), max_size=6)) if jobs >= 3 else []
    triangles = np.array([order[:3] for order in drawn], dtype=np.int64).reshape(-1, 3)
    weights = np.array(data.draw(st.lists(st.floats(-1, 9), min_size=len(drawn), max_size=len(drawn))))
    packing = Packing.of(before, rankings.agreed, triangles, weights.astype(np.float64))
    greedy = greedy_packing(before, rankings.agreed, 1000)
    assert packing.bound <= least
    assert int(np.triu(np.minimum(before, before.T)).sum()) <= greedy.bound <= least
    for order, cost in list(every_cost(rankings).items())[:50] if jobs < 6 else []:
        place = np.argsort(order)
        wrong = greedy.decided(cost) & (place[:, None] > place[None, :])
        assert not wrong.any()


@pytest.mark.parametrize("backend", ["highs", "cp-sat", "cbc", "scip"])
@pytest.mark.parametrize("seed", range(2))
def test_every_way_through_a_block_ends_at_the_optimum(backend, seed):
    rankings = Rankings.of(random_lists(11, 3, seed))
    before, agreed = rankings.before, rankings.agreed
    least = disagreement(rankings, best_order(before))
    search = BlockSearch(before, agreed, Means.of(None, None, UNTIMED))
    search.branch(backend_named(backend).solve)
    assert search.bound == search.value == least
    search.bound = 0
    search.enumerate()
    assert search.bound == search.value == least


@pytest.mark.parametrize(("jobs", "lists"), [(20, 3), (30, 3), (40, 5)])
def test_relaxations_prove_larger_blocks(jobs, lists):
    rankings = Rankings.of(random_lists(jobs, lists, 0))
    found = kemeny_order(rankings, HIGHS, UNTIMED, relax=relaxation)
    check = checked(rankings, found)
    assert found.value == found.bound == check.value == disagreement(rankings, found.order)
    assert check.bound == found.value
    assert check.proof is Proof.LINEAR_DUALS
    assert found.value <= disagreement(rankings, borda_order(rankings))


def test_split_lists_of_sixty_jobs():
    rankings = Rankings.of(split_lists(60, 0), weights=[1, 2, 2])
    found = kemeny_order(rankings, HIGHS, UNTIMED, relax=relaxation)
    assert found.value == found.bound == checked(rankings, found).bound


def tournament(jobs, seed):
    """One list of two for every pair, either way round."""
    draw = np.random.default_rng(seed)
    return Rankings.of([pair if draw.random() < 0.5 else pair[::-1] for pair in combinations(range(jobs), 2)])


def test_what_relaxations_leave_open_is_branched_on():
    rankings = tournament(17, 1)  # its relaxation ends at a fraction, one unit below the optimum
    relaxed = kemeny_order(rankings, None, UNTIMED, relax=relaxation)
    assert relaxed.termination.limit is Limit.RELAXATION
    found = kemeny_order(rankings, HIGHS, UNTIMED, relax=relaxation)
    assert relaxed.bound < found.bound == found.value
    assert checked(rankings, found).bound == relaxed.bound


def test_a_limit_leaves_an_order_and_a_bound():
    rankings = Rankings.of(random_lists(40, 3, 1))
    for limits, relax, solve, limit in (
        (Limits(seconds=0), relaxation, None, Limit.TIME),
        (UNTIMED, None, None, Limit.HEURISTIC),
        (Limits(seconds=0), None, HIGHS, Limit.TIME),
        (UNTIMED, None, backend_named("exhaustive").solve, Limit.SIZE),
    ):
        found = kemeny_order(rankings, solve, limits, relax=relax)
        check = checked(rankings, found)
        assert found.termination.limit is limit
        assert check.bound == found.bound < found.value == check.value


def test_dynamic_programming_refuses_many_jobs():
    with pytest.raises(RefusalError, match="at most 16"):
        best_order(np.zeros((MOST_JOBS + 1, MOST_JOBS + 1), dtype=np.int64))


@given(drawn_rankings(most_jobs=7, complete=True), st.data())
def test_moves_never_lose_and_respect_agreed_pairs(rankings, data):
    start = np.array(data.draw(st.permutations(range(rankings.jobs))))
    found = improved(rankings.before, start)
    assert disagreement(rankings, found) <= disagreement(rankings, start)
    assert not np.tril(rankings.agreed[np.ix_(found, found)]).any()


def test_no_three_jobs_no_triangle():
    assert broken(np.zeros((2, 2)), 0.5).shape == (0, 3)


@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_blocks_of_13_to_16_jobs_agree_with_and_without_solvers(seed):
    rankings = Rankings.of(random_lists(13 + seed % 4, 3, seed))
    alone = kemeny_order(rankings)
    helped = kemeny_order(rankings, HIGHS, UNTIMED, relax=relaxation)
    assert alone.value == alone.bound == helped.value == helped.bound
    assert checked(rankings, helped).bound <= helped.value
