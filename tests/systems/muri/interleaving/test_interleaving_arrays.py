"""Many groups at once give what each gives alone; weights are exact."""

from fractions import Fraction
from functools import cache
from itertools import combinations
from math import floor

import numpy as np
import pytest

from muri_opt import best_period, group_periods, pair_periods, weights_ppm
from muri_opt.systems.muri.interleaving import (
    PATTERNS,
    SLOWDOWN,
    batch_periods as arrays,
    pair_weights_ppm,
    periods_alone,
    periods_of_rows,
)

KINDS = {"cyclic": 4, "muri-cyclic": 4, "muri-4slot": 3, "muri-4slot-steady": 3}


@cache
def pairs_one_by_one(pattern):
    """Return 30 jobs and the period of every two of them, in microseconds."""
    jobs = draw(1, 30, KINDS[pattern])
    pairs = [(a, b) for a in range(30) for b in range(a, 30)]
    periods = [best_period(jobs[[*pair]] / 10**6, pattern).period_seconds for pair in pairs]
    return jobs, {pair: round(period * 10**6) for pair, period in zip(pairs, periods, strict=True)}


@cache
def groups_one_by_one(pattern, worst):
    """Return groups of every size and the best order of each of them."""
    sizes = range(1, 5 if KINDS[pattern] == 4 or "4slot" in pattern else 4)
    drawn = [draw(jobs, 40, jobs, KINDS[pattern]) for jobs in sizes]
    return [(groups, [best_period(group / 10**6, pattern, worst=worst) for group in groups]) for groups in drawn]


def draw(seed, *shape, most=500_000):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(shape) < 0.2, 0, rng.integers(0, most, size=shape))


def test_every_pattern_is_tried_here():
    assert set(KINDS) == set(PATTERNS)


@pytest.mark.parametrize("pattern", KINDS)
@pytest.mark.parametrize("block", [arrays._PAIR_BLOCK, 70, 1])
def test_pairs_at_once_are_the_pairs_one_by_one(pattern, block, monkeypatch):
    monkeypatch.setattr(arrays, "_PAIR_BLOCK", block)
    jobs, expected = pairs_one_by_one(pattern)
    found = pair_periods(jobs, pattern)
    assert found.dtype == np.int64
    for (a, b), alone in expected.items():
        assert found[a, b] == found[b, a] == alone


@pytest.mark.parametrize("pattern", KINDS)
@pytest.mark.parametrize("worst", [False, True])
@pytest.mark.parametrize("block", [arrays._GROUP_BLOCK, 3000, 1])
def test_groups_at_once_are_the_groups_one_by_one(pattern, worst, block, monkeypatch):
    expected = groups_one_by_one(pattern, worst)
    monkeypatch.setattr(arrays, "_GROUP_BLOCK", block)
    for groups, one_by_one in expected:
        found = group_periods(groups, pattern, worst=worst)
        assert found.microseconds.tolist() == [round(one.period_seconds * 10**6) for one in one_by_one]
        assert found.slots.tolist() == [list(one.slots) for one in one_by_one]
        assert found.orders.tolist() == [list(one.order) for one in one_by_one]


@pytest.mark.parametrize("pattern", KINDS)
@pytest.mark.parametrize("worst", [False, True])
@pytest.mark.parametrize(("at_once", "orders"), [(arrays._AT_ONCE, arrays._FEW_ORDERS), (7, 24), (1, 24), (7, 1)])
def test_periods_alone_are_those_of_groups(pattern, worst, at_once, orders, monkeypatch):
    monkeypatch.setattr(arrays, "_AT_ONCE", at_once)
    monkeypatch.setattr(arrays, "_FEW_ORDERS", orders)
    for jobs in range(1, 5 if KINDS[pattern] == 4 or "4slot" in pattern else 4):
        groups = draw(jobs, 40, jobs, KINDS[pattern])
        found = periods_alone(groups, pattern, worst=worst)
        assert found.dtype == np.int64
        assert found.tolist() == group_periods(groups, pattern, worst=worst).microseconds.tolist()


@pytest.mark.parametrize("pattern", KINDS)
@pytest.mark.parametrize("most", [500_000, 1 << 27, 1 << 40])  # periods of 32 bits, and of more
def test_periods_of_rows_are_those_of_their_jobs(pattern, most):
    stages = draw(3, 20, KINDS[pattern], most=most)
    for jobs in range(1, 4):
        groups = np.random.default_rng(jobs).integers(0, 20, size=(50, jobs))
        found = periods_of_rows(stages, groups, pattern)
        assert found.dtype == np.int64
        assert found.tolist() == group_periods(stages[groups], pattern).microseconds.tolist()


@pytest.mark.parametrize("pattern", KINDS)
def test_nothing_at_once_is_nothing(pattern):
    assert periods_alone(np.empty((0, 2, 3), dtype=np.int64), pattern).shape == (0,)
    assert pair_periods(np.empty((0, 3), dtype=np.int64), pattern).shape == (0, 0)
    found = group_periods(np.empty((0, 2, 3), dtype=np.int64), pattern)
    assert (found.microseconds.shape, found.slots.shape) == ((0,), (0, 2))
    assert pair_weights_ppm(np.empty((0, 3), dtype=np.int64), pattern).shape == (0, 0)


@pytest.mark.parametrize("pattern", ["cyclic", "muri-cyclic", "muri-4slot-steady"])
def test_the_longest_times_do_not_overflow(pattern):
    longest = np.full((1, KINDS[pattern], KINDS[pattern]), arrays.MAX_MICROSECONDS)
    period = group_periods(longest, pattern).microseconds[0]
    assert period == 4 * arrays.MAX_MICROSECONDS
    (weight,) = weights_ppm(longest.sum(axis=(1, 2)), np.array([period]), 4)
    assert weight == 10**6 * KINDS[pattern] ** 2 // 16


@pytest.mark.parametrize("most", [10, 500_000, 10**15])
@pytest.mark.parametrize("slowdown", [1.0, 1.33 / 1.015])
def test_weights_are_the_floor_of_the_exact_efficiency(most, slowdown):
    groups = np.array([draw(most % 97, 20, 4, most=most)[list(some)] for some in combinations(range(20), 3)])
    periods = group_periods(groups).microseconds
    found = weights_ppm(groups.sum(axis=(1, 2)), periods, 4, slowdown)
    factor = Fraction(1) if slowdown == 1 else Fraction(1330, 1015)
    for weight, group, period in zip(found.tolist(), groups.tolist(), periods.tolist(), strict=True):
        total = sum(map(sum, group))
        assert weight == (floor(Fraction(10**6 * total, 4 * period) / factor) if period else 0)


def test_weights_of_pairs():
    jobs = draw(5, 25, 4)
    jobs[3:6] = 0
    found = pair_weights_ppm(jobs)
    assert (found == found.T).all()
    assert (np.diagonal(found) == 0).all()
    assert found[3, 4] == 0
    for a, b in combinations(range(25), 2):
        pair = best_period(jobs[[a, b]] / 10**6)
        assert found[a, b] == floor(
            Fraction(int(jobs[[a, b]].sum()) * 10**6, 4 * max(1, round(pair.period_seconds * 10**6)))
        )
    slowed = pair_weights_ppm(draw(6, 9, 3), "muri-4slot", SLOWDOWN["muri"][2])
    assert (slowed * 38 // 29 <= pair_weights_ppm(draw(6, 9, 3), "muri-4slot")).all()


def test_slowdowns_of_the_simulator():
    assert {name: dict(table) for name, table in SLOWDOWN.items()} == {
        "none": {1: 1, 2: 1, 3: 1, 4: 1},
        "muri": {1: 1, 2: 1.33 / 1.015, 3: 1.5 / 1.015, 4: 1.37 / 1.015},
        "muri-without-blossom": {1: 1, 2: 1.33 / 1.015, 3: 1.5 / 1.015, 4: 1.3 / 1.015},
    }
    with pytest.raises(TypeError):
        SLOWDOWN["muri"][2] = 1.0
