"""Many scaling tables as whole numbers at once: the same speeds as :func:`.curves.scaling_table` has, as one array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import log10
from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.systems.curves import CLEARLY, MOST_SPEED, rounded
from muri_opt.systems.whole_quotients import Floats, Ints, quotient_down

EXACT_TENS: Final = 22
"""Powers of ten up to which floats are exact."""
TENS: Final = np.array([float(10**digits) for digits in range(EXACT_TENS + 1)])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SpeedRows:
    """The speeds of tables one after another, each from 0 GPUs on.

    Table i has ``length[i]`` of them, in units of 10**-``digits[i]`` iterations a second, the least of them above 0 is
    ``slowest[i]``. Where not ``plain[i]`` it has none here: a table that is refused, or whose numbers floats do not
    tell, has to be read by itself.

    >>> rows = SpeedRows.of([{1: 1.0, 4: 2.0}, {2: 1.0}, {1: 0.5}])
    >>> rows.speed.tolist(), rows.length.tolist()
    ([0, 100000000, 120000000, 150000000, 200000000, 0, 500000000], [5, 0, 2])
    """

    speed: Ints
    length: Ints
    slowest: Ints
    digits: Ints
    plain: NDArray[np.bool_]

    @classmethod
    def of(cls, tables: Sequence[Mapping[int, float]]) -> SpeedRows:
        """Return the speeds of tables, none of which is empty; missing counts are interpolated in iteration time."""
        sizes = np.fromiter(map(len, tables), dtype=np.int64, count=len(tables))
        counts = np.fromiter(chain.from_iterable(tables), dtype=np.int64)
        rates = np.fromiter(chain.from_iterable([table.values() for table in tables]), dtype=np.float64)
        digits, plain = _digits(counts, rates, np.cumsum(sizes) - sizes)
        read = np.repeat(plain, sizes)
        speeds = _rounded(rates[read], np.repeat(digits, sizes)[read])
        first = np.cumsum(sizes[plain]) - sizes[plain]
        length, slowest = np.zeros((2, len(tables)), dtype=np.int64)
        speed, length[plain] = _between(counts[read], speeds, sizes[plain])
        slowest[plain] = np.minimum.reduceat(speeds, first) if len(first) else 0
        return cls(speed=speed, length=length, slowest=slowest, digits=digits, plain=plain)


def _digits(counts: Ints, rates: Floats, first: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the digits of each table, and whether floats tell them, and it has rising counts from one GPU on."""
    if not len(first):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_)
    rising = np.append(True, counts[1:] > counts[:-1])
    rising[first] = counts[first] == 1
    most = np.maximum.reduceat(rates, first)
    digits = np.floor(log10(MOST_SPEED) - np.log10(most)).astype(np.int64)
    told = abs(digits) <= EXACT_TENS
    largest = _scaled(most, np.where(told, digits, 0))
    told &= (largest > MOST_SPEED * (0.1 + CLEARLY)) & (largest < MOST_SPEED * (1 - CLEARLY))
    return digits, told & np.logical_and.reduceat(rising, first)


def _scaled(rates: Floats, digits: Ints) -> Floats:
    """Return rates x 10**digits, rounded once."""
    tens = TENS[abs(digits)]
    scaled: Floats = np.where(digits < 0, rates / tens, rates * tens)
    return scaled


def _rounded(rates: Floats, digits: Ints) -> Ints:
    """Return rates x 10**digits in whole numbers of at least 1; those that are about halves are looked at exactly."""
    scaled = _scaled(rates, digits)
    speeds = np.maximum(np.rint(scaled), 1.0).astype(np.int64)
    for at in np.flatnonzero(abs(scaled - np.floor(scaled) - 0.5) < CLEARLY).tolist():
        speeds[at] = rounded(float(rates[at]), int(digits[at])) or 1
    return speeds


def _between(counts: Ints, speeds: Ints, sizes: Ints) -> tuple[Ints, Ints]:
    """Return the speeds at all counts from 0 on, table after table, and how many each table has.

    From a count to the next that is told, ``gap`` further, the time of an iteration changes evenly: after k steps the
    speed is gap x low x high / (gap x high + k x (low - high)), which for k = 0 is ``low``.
    """
    places = np.arange(len(counts)) + np.repeat(np.arange(1, len(sizes) + 1), sizes)
    low, at = np.zeros((2, len(counts) + len(sizes)), dtype=np.int64)  # with an entry for 0 GPUs before each table
    low[places], at[places] = speeds, counts
    last = np.cumsum(sizes + 1) - 1
    gap, high = np.diff(at, append=0), np.append(low[1:], 0)
    gap[last], high[last] = 1, low[last]
    begin = np.cumsum(gap) - gap
    k = np.arange(int(gap.sum())) - np.repeat(begin, gap)
    divisor = np.repeat(gap * high, gap) + k * np.repeat(low - high, gap)
    about = np.repeat(gap.astype(np.float64) * low * high, gap)
    return quotient_down(np.repeat(gap * low * high, gap), about, divisor), at[last] + 1
