"""How much service jobs of unknown length are expected to need, from jobs that have ended: one over Gittins' index."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

MOST_SAMPLES = 128
"""Jobs that have ended and are remembered; of more, every second one by length."""


def expected_left(attained: Sequence[int], samples: Sequence[int]) -> list[int]:
    """Return for each job the least service that one end costs, if jobs are as long as ``samples``; all in one unit.

    A job that has attained a is one of the samples above a. If it is served until it has t, that takes the mean of
    min(x, t) - a, and it ends with the chance that x is at most t: the least quotient over all t is one over Gittins'
    index. Where no sample is above a, a job is expected to take as long again as it has had.

    >>> expected_left([0, 150, 900], [100, 200, 800])
    [200, 50, 900]
    """
    if not samples:
        return [*attained]
    rising = sorted(samples)
    sums = (0, *accumulate(rising))
    return [_left(one, rising, sums) for one in attained]


def _left(attained: int, rising: Sequence[int], sums: Sequence[int]) -> int:
    first, count = bisect_right(rising, attained), len(rising)
    if first == count:
        return attained
    return min(
        (sums[end] - sums[first] + rising[end - 1] * (count - end) - attained * (count - first)) // (end - first)
        for end in range(first + 1, count + 1)
    )
