"""Borda's order: exact scores, and for two complete lists the least disagreement."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from ranking_draws import drawn_rankings, random_lists

from muri_opt.algorithms.ranking import Rankings, borda_order, borda_scores, disagreement
from muri_opt.verify.certificates.ranking import check_ranking


def test_scores_of_partial_lists():
    rankings = Rankings.of([[0, 1, 2, 3], [2, 0]], jobs=5, weights=[1, 3])
    assert borda_scores(rankings, normalised=False) == (7, 2, 6, 4, 0)
    assert borda_scores(rankings) == (Fraction(11, 5), Fraction(2, 5), Fraction(8, 5), Fraction(4, 5), 0)
    assert borda_scores(rankings, average=True)[:2] == (Fraction(11, 20), Fraction(2, 5))
    assert borda_order(rankings, normalised=False) == (1, 3, 2, 0, 4)
    assert borda_order(rankings, average=True) == (1, 2, 0, 3, 4)


def test_averages_count_the_service_rank_of_unpredictable_jobs_twice():
    service, increase, decrease = [3, 1, 0, 2, 4], [1, 2], [4]
    rankings = Rankings.of([service, increase, decrease])
    doubled = [2 * score for score in borda_scores(rankings, normalised=False, average=True)]
    assert doubled == [2 * 3, 2 + 1, 4 + 2, 2 * 1, 5 + 1]


def test_ties_go_by_position_and_empty_lists_count_nothing():
    assert borda_order(Rankings.of([[1, 0], [0, 1], []])) == (0, 1)
    assert borda_order(Rankings.of([[2, 1, 0], [0, 1, 2]])) == (0, 1, 2)
    assert borda_order(Rankings.of([])) == ()


def test_many_lengths_need_numbers_of_any_size():
    lists = [list(range(size)) for size in range(1, 80)]
    rankings = Rankings.of(lists)
    expected = [sum(Fraction(job + 1, size + 1) for size in range(job + 1, 80)) for job in range(79)]
    assert list(borda_scores(rankings)) == expected
    assert borda_order(rankings) == tuple(sorted(range(79), key=expected.__getitem__))


@given(drawn_rankings())
def test_scores_are_sums_of_ranks(rankings):
    for normalised in (True, False):
        expected = [Fraction(0)] * rankings.jobs
        for jobs, weight in zip(rankings.lists, rankings.weights.tolist(), strict=True):
            for rank, job in enumerate(jobs.tolist(), start=1):
                expected[job] += Fraction(weight * rank, len(jobs) + 1 if normalised else 1)
        assert list(borda_scores(rankings, normalised=normalised)) == expected


def test_borda_is_kemeny_on_a_thousand_pairs_of_complete_lists():
    sizes = np.random.default_rng(5).integers(2, 8, 1000).tolist()
    for seed, jobs in enumerate(sizes):
        lists = random_lists(jobs, 2, seed)
        rankings = Rankings.of(lists)
        order = borda_order(rankings)
        checked = check_ranking(lists, [1, 1], order, [(range(jobs), 1, {})])  # all orders, set by set
        assert checked.value == checked.bound == disagreement(rankings, order)


def test_with_three_lists_it_may_lose_a_third():
    rankings = Rankings.of([[0, 1, 2, 3], [0, 1, 2, 3], [1, 2, 3, 0]])
    assert borda_order(rankings) == (1, 0, 2, 3)
    assert disagreement(rankings, borda_order(rankings)) == 4
    assert disagreement(rankings, [0, 1, 2, 3]) == 3
