"""What repetitions say: a mean with its confidence interval, and whether one of two is better where both were tried.

Intervals are Student's, of 95 %; the test of pairs is Wilcoxon's signed-rank test, two-sided. Its probabilities are
counted, not approximated, up to ``MOST_COUNTED`` pairs that differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import erfc, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

LEVEL: Final = 0.95
LEAST: Final = 2
"""Fewer repetitions say nothing of their spread."""
MOST_COUNTED: Final = 200
"""Of more pairs the normal distribution is near enough, with the correction for ties."""
STATISTICS: Final = "intervals: 95 %, Student's t; p: Wilcoxon signed-rank test of the pairs, two-sided"
"""The line under tables that says how their intervals and tests are computed."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A mean, and the ends of its confidence interval; of one repetition there are none."""

    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """How the second of two compares with the first where both were tried.

    ``smaller``, ``equal`` and ``larger`` count the pairs by the value of the second; ``p`` is the chance of an
    imbalance at least as large if neither tended to be smaller, ``None`` where no pair differs.
    """

    pairs: int
    smaller: int
    equal: int
    larger: int
    p: float | None


def interval_of(values: Sequence[float]) -> Interval:
    """Return the mean of repetitions, of which there is at least one, with its interval by Student's t.

    >>> interval_of([1.0, 2.0, 3.0]).mean
    2.0
    >>> round(interval_of([1.0, 2.0, 3.0]).high, 3)
    4.484
    """
    found = np.asarray(values, dtype=np.float64)
    mean = float(found.mean())
    if len(found) < LEAST:
        return Interval(mean=mean, low=None, high=None)
    from scipy.special import stdtrit

    half = float(stdtrit(len(found) - 1, (1 + LEVEL) / 2)) * float(found.std(ddof=1)) / sqrt(len(found))
    return Interval(mean=mean, low=mean - half, high=mean + half)


def ratio_of(values: Sequence[float], firsts: Sequence[float]) -> Interval:
    """Return the geometric mean of ratios, with the interval of the mean of their logarithms; all are above 0.

    >>> ratio_of([1.0, 4.0], [2.0, 2.0]).mean
    1.0
    """
    logs = interval_of(np.log(np.asarray(values, dtype=np.float64) / np.asarray(firsts, dtype=np.float64)).tolist())
    ends = [None if end is None else float(np.exp(end)) for end in (logs.low, logs.high)]
    return Interval(mean=float(np.exp(logs.mean)), low=ends[0], high=ends[1])


def paired(values: Sequence[float], firsts: Sequence[float]) -> Paired:
    """Return how the values compare with those of the first, pair by pair.

    >>> paired([1.0, 2.0, 3.0, 5.0], [2.0, 4.0, 6.0, 5.0])
    Paired(pairs=4, smaller=3, equal=1, larger=0, p=0.25)
    """
    differences = np.asarray(values, dtype=np.float64) - np.asarray(firsts, dtype=np.float64)
    smaller, larger = int((differences < 0).sum()), int((differences > 0).sum())
    return Paired(
        pairs=len(differences),
        smaller=smaller,
        equal=len(differences) - smaller - larger,
        larger=larger,
        p=signed_rank_p(differences),
    )


def signed_rank_p(differences: Floats) -> float | None:
    """Return the two-sided p-value of Wilcoxon's signed-rank test; ``None`` where all differences are 0.

    Differences of 0 are left out, equal ones share their mean rank. Under the null hypothesis a difference is as likely
    to be positive as negative: the distribution of the sum of the positive ranks is built by adding rank after rank.
    """
    found = differences[differences != 0]
    if not len(found):
        return None
    doubled = _doubled_ranks(np.abs(found))
    total, plus = int(doubled.sum()), int(doubled[found > 0].sum())
    extreme = min(plus, total - plus)
    if len(found) > MOST_COUNTED:
        deviation = sqrt(float((doubled.astype(np.float64) ** 2).sum())) / 2
        return min(1.0, erfc((total / 2 - extreme) / deviation / sqrt(2)))
    chance = np.zeros(total + 1)
    chance[0] = 1.0
    for rank in doubled.tolist():
        chance[rank:] = (chance[rank:] + chance[: total + 1 - rank]) / 2
        chance[:rank] /= 2
    return min(1.0, 2 * float(chance[: extreme + 1].sum()))


def _doubled_ranks(sizes: Floats) -> NDArray[np.int64]:
    """Return twice the ranks, which are whole numbers also where equal sizes share the mean of theirs."""
    _, place, number = np.unique(sizes, return_inverse=True, return_counts=True)
    last = np.cumsum(number)
    return (2 * last - number + 1)[place].astype(np.int64)
