"""Intervals and the signed-rank test, against all signs tried one by one and against another implementation."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy  # whose parts load when they are named: few of those who read this module run these tests
from hypothesis import given, strategies as st

from muri_opt.studies.runner.intervals import (
    MOST_COUNTED,
    Interval,
    Paired,
    interval_of,
    paired,
    ratio_of,
    signed_rank_p,
)

NUMBERS = st.lists(st.integers(-4, 4), min_size=1, max_size=9)
"""Few different sizes, so that there are ties and zeros."""


def all_signs(differences) -> float | None:
    """Return the p-value by trying every sign of every difference that is not 0."""
    sizes = [abs(one) for one in differences if one]
    if not sizes:
        return None
    ranks = [sum(other < one for other in sizes) + (sizes.count(one) + 1) / 2 for one in sizes]
    middle = sum(ranks) / 2
    off = abs(sum(rank for rank, one in zip(ranks, filter(None, differences), strict=True) if one > 0) - middle)
    sums = [
        sum(rank for rank, up in zip(ranks, signs, strict=True) if up) for signs in product((0, 1), repeat=len(ranks))
    ]
    return sum(abs(one - middle) >= off - 1e-9 for one in sums) / len(sums)


@given(NUMBERS)
def test_the_chance_is_that_of_all_signs(differences):
    found, wanted = signed_rank_p(np.array(differences, dtype=np.float64)), all_signs(differences)
    assert (found is None) == (wanted is None)
    assert found is None or found == pytest.approx(wanted, abs=1e-12)


@given(NUMBERS)
def test_neither_sign_nor_scale_nor_order_matters(differences):
    some = np.array(differences, dtype=np.float64)
    assert signed_rank_p(some) == signed_rank_p(-some) == signed_rank_p(some[::-1] * 1024)


@pytest.mark.parametrize("pairs", [5, 40, MOST_COUNTED])
def test_it_counts_as_scipy_does(pairs):
    some = np.random.default_rng(pairs).normal(0.2, 1, pairs)
    assert signed_rank_p(some) == pytest.approx(scipy.stats.wilcoxon(some, method="exact").pvalue, rel=1e-9)


@pytest.mark.parametrize("digits", [1, 9])
def test_many_pairs_are_near_to_normal(digits):
    some = np.round(np.random.default_rng(7).normal(0.05, 1, 2 * MOST_COUNTED), digits)
    wanted = scipy.stats.wilcoxon(some, method="asymptotic", correction=False).pvalue
    assert signed_rank_p(some) == pytest.approx(wanted, rel=1e-9)


def test_the_least_chance_halves_with_every_pair():
    for pairs in range(1, 9):
        assert signed_rank_p(np.arange(1.0, pairs + 1)) == 2 / 2**pairs


@pytest.mark.parametrize("repetitions", [2, 5, 30])
def test_intervals_are_students(repetitions):
    values = np.random.default_rng(repetitions).normal(3, 2, repetitions)
    low, high = scipy.stats.t.interval(0.95, repetitions - 1, loc=values.mean(), scale=scipy.stats.sem(values))
    found = interval_of(values.tolist())
    assert (found.mean, found.low, found.high) == pytest.approx((values.mean(), low, high))


def test_one_repetition_has_no_interval():
    assert interval_of([3.0]) == Interval(mean=3.0, low=None, high=None)
    assert ratio_of([3.0], [2.0]) == Interval(mean=pytest.approx(1.5), low=None, high=None)


@given(st.lists(st.tuples(st.floats(0.1, 9), st.floats(0.1, 9)), min_size=2, max_size=8))
def test_the_ratio_the_other_way_round_is_its_inverse(both):
    mine, firsts = zip(*both, strict=True)
    there, back = ratio_of(mine, firsts), ratio_of(firsts, mine)
    assert (there.mean, there.low, there.high) == pytest.approx((1 / back.mean, 1 / back.high, 1 / back.low))
    assert there.low <= there.mean <= there.high


def test_pairs_are_counted_by_which_is_smaller():
    assert paired([1.0, 1.0, 5.0], [2.0, 1.0, 4.0]) == Paired(pairs=3, smaller=1, equal=1, larger=1, p=1.0)
    assert paired([1.0], [1.0]) == Paired(pairs=1, smaller=0, equal=1, larger=0, p=None)
