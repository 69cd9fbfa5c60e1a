"""Efficiencies as whole parts per million, the weights of matchings and groupings."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from muri_opt.rounds import Job
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.quantities import microseconds
from muri_opt.systems.muri.interleaving.batch_periods import pair_periods
from muri_opt.systems.muri.interleaving.patterns import slot_count

PARTS = 1_000_000

_ALONE = 1.015  # what the simulator adds to the iteration of a job alone; the others are relative to it
SLOWDOWN: Mapping[str, Mapping[int, float]] = MappingProxyType(
    {
        "none": MappingProxyType({1: 1.0, 2: 1.0, 3: 1.0, 4: 1.0}),
        "muri": MappingProxyType({1: 1.0, 2: 1.33 / _ALONE, 3: 1.5 / _ALONE, 4: 1.37 / _ALONE}),
        "muri-without-blossom": MappingProxyType({1: 1.0, 2: 1.33 / _ALONE, 3: 1.5 / _ALONE, 4: 1.3 / _ALONE}),
    }
)
"""By how much sharing stretches the period of a group of so many jobs, as the authors' simulator assumes it."""

_LARGEST_DENOMINATOR = 10_000
_INT64 = 1 << 63


def weights_ppm(totals: Ints, periods: Ints, slots: int, slowdown: float = 1.0) -> Ints:
    """Return floor(10**6 * total / (slots * period * slowdown)) for arrays of groups, in exact integers.

    ``totals`` are the sums of all stage times of each group and ``periods`` their periods, both in microseconds. A
    period of 0 has weight 0.

    >>> weights_ppm(np.array([4_000_000]), np.array([2_500_000]), 2)
    array([800000])
    """
    return slowed_ratio(totals, periods, PARTS, slots, slowdown)


def slowed_ratio(totals: Ints, periods: Ints, parts: int, slots: int, slowdown: float) -> Ints:
    """Return floor(parts * total / (slots * period * slowdown)) in exact integers, 0 where the period is 0.

    The slow-down counts as the fraction it was written as (1.33 / 1.015 is 38/29).

    >>> slowed_ratio(np.array([4_000_000]), np.array([2_500_000]), 1_000_000, 2, 1.0)
    array([800000])
    """
    factor = Fraction(slowdown).limit_denominator(_LARGEST_DENOMINATOR)
    over, under = parts * factor.denominator, slots * factor.numerator
    largest = max(int(totals.max(initial=0)) * over, int(periods.max(initial=0)) * under)
    kind = np.int64 if largest < _INT64 else object
    upper, some = totals.astype(kind, copy=False) * over, periods > 0
    if some.all():
        return np.asarray(upper // (periods.astype(kind, copy=False) * under), dtype=np.int64)
    lower = np.where(some, periods, 1).astype(kind) * under
    return np.where(some, upper // lower, 0).astype(np.int64)


def alone_microseconds(job: Job) -> int:
    """Return the time of an iteration of a job alone; where it is not said, of its stages one after another.

    >>> alone_microseconds(shipped_round("toy/eight-stages").jobs[0])
    3000000
    """
    if job.iteration_seconds is not None:
        return microseconds(job.iteration_seconds)
    return sum(microseconds(seconds) for seconds in job.stage_seconds or ())


def pair_weights_ppm(stages: Ints, pattern: str = "cyclic", slowdown: float = 1.0) -> Ints:
    """Return the n x n weights of all pairs of n jobs; the diagonal is 0, as no job is paired with itself.

    >>> pair_weights_ppm(np.array([[1, 2], [2, 1]]))
    array([[      0, 1000000],
           [1000000,       0]])
    """
    periods = pair_periods(stages, pattern)
    totals = stages.sum(axis=1)
    weights = weights_ppm(totals[:, None] + totals, periods, slot_count(pattern, stages.shape[1]), slowdown)
    np.fill_diagonal(weights, 0)
    return weights
