"""Borda's order: exact scores, and for two complete lists the least disagreement."""

from fractions import Fraction
from itertools import permutations

import numpy as np
from hypothesis import given
from ranking_draws import disagreement, drawn_lists, random_lists, split_lists

from muri_opt.algorithms.ranking import Rankings, borda_order, borda_scores


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


@given(drawn_lists())
def test_scores_are_sums_of_ranks(drawn):
    lists, weights, jobs = drawn
    rankings = Rankings.of(lists, jobs=jobs, weights=weights)
    for normalised in (True, False):
        expected = [Fraction(0)] * jobs
        for entries, weight in zip(lists, weights, strict=True):
            for rank, job in enumerate(entries, start=1):
                expected[job] += Fraction(weight * rank, len(entries) + 1 if normalised else 1)
        assert list(borda_scores(rankings, normalised=normalised)) == expected


def least(lists, jobs):
    return min(disagreement(lists, order) for order in permutations(range(jobs)))


def test_no_order_disagrees_less_with_two_complete_lists():
    sizes = np.random.default_rng(5).integers(2, 6, 200).tolist()
    for seed, jobs in enumerate(sizes):
        lists = random_lists(jobs, 2, seed)
        assert disagreement(lists, borda_order(Rankings.of(lists))) == least(lists, jobs)


def test_with_three_lists_it_may_lose_a_third():
    lists = [[0, 1, 2, 3], [0, 1, 2, 3], [1, 2, 3, 0]]
    order = borda_order(Rankings.of(lists))
    assert order == (1, 0, 2, 3)
    assert (disagreement(lists, order), disagreement(lists, [0, 1, 2, 3]), least(lists, 4)) == (4, 3, 3)


def test_no_order_disagrees_less_with_split_lists_than_the_complete_one():
    for seed in range(30):
        lists = split_lists(6, seed)
        assert disagreement(lists, lists[0]) == least(lists, 6)


def test_with_raw_ranks_the_shorter_list_wins():
    draw = np.random.default_rng(0)
    kinds = np.repeat([0, 1, 2], [3, 10, 7])  # unpredictable, increase, decrease
    total = {True: np.zeros(3), False: np.zeros(3)}
    for _ in range(400):
        lists = [draw.permutation(20), draw.permutation(10) + 3, draw.permutation(7) + 13]
        for normalised, sums in total.items():
            scores = np.array(borda_scores(Rankings.of(lists), normalised=normalised, average=True), dtype=float)
            sums += np.bincount(kinds, weights=2 * scores) / np.bincount(kinds) / 400
    assert np.allclose(total[False], [21, 16, 14.5], atol=0.7)  # five standard errors
    assert np.allclose(total[True], 1, atol=0.06)
