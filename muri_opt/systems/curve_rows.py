"""Many scaling tables as whole numbers at once: the same speeds as :func:`.curves.scaling_table` has, as one array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import log10
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.systems.curves import CLEARLY, MOST_SPEED, rounded
from muri_opt.systems.whole_quotients import Floats, Ints, quotient_down, quotient_up

Bools = NDArray[np.bool_]
_AT_ONCE: Final = 1 << 15
"""Periods that are worked out together: what they need stays in the processor's cache."""
_FAR: Final = 1 << 32
"""More GPUs than a table says."""
EXACT_TENS: Final = 22
"""Powers of ten up to which floats are exact."""
TENS: Final = np.array([float(10**digits) for digits in range(EXACT_TENS + 1)])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurveRows:
    """The curves of many tables, in units of 10**-``digits[i]`` iterations a second for table i.

    Table i says ``length[i]`` - 1 as the most GPUs, and ``slowest[i]`` is the least of its speeds. Where not
    ``plain[i]`` it is not read here: a table that is refused, or whose numbers floats do not tell, has to be read by
    itself.

    From a count that a table tells to the next, ``gap`` further, the time of an iteration changes evenly: such a step
    is of ``table``, from ``count`` GPUs with speed ``low`` to ``high``. The last count of a table is a step by itself.

    >>> rows = CurveRows.of([{1: 1.0, 4: 2.0}, {2: 1.0}, {1: 0.5}])
    >>> rows.length.tolist(), rows.speeds(np.array([2, 2, 1])).tolist()
    ([5, 0, 2], [120000000, 0, 500000000])
    """

    length: Ints
    slowest: Ints
    digits: Ints
    plain: Bools
    table: Ints
    count: Ints
    gap: Ints
    low: Ints
    high: Ints

    @classmethod
    def of(cls, tables: Sequence[Mapping[int, float]]) -> CurveRows:
        """Return the curves of tables, none of which is empty; missing counts are interpolated in iteration time.

        One that is given several times, as by jobs of one model, is read once.
        """
        number: dict[int, int] = {}
        whose = [number.setdefault(id(table), len(number)) for table in tables]
        if len(number) == len(tables):
            return cls._read(tables)
        unlike = {id(table): table for table in tables}  # in the order of their numbers
        return cls._read([*unlike.values()]).of_each(np.array(whose, dtype=np.int64))

    def of_each(self, whose: Ints) -> CurveRows:
        """Return the curves of tables that are those of these numbers, in turn."""
        steps = np.bincount(self.table, minlength=len(self.length))
        first, count = (np.cumsum(steps) - steps)[whose], steps[whose]
        begin = np.cumsum(count) - count
        step = np.arange(int(count.sum())) + np.repeat(first - begin, count)
        return CurveRows(
            length=self.length[whose],
            slowest=self.slowest[whose],
            digits=self.digits[whose],
            plain=self.plain[whose],
            table=np.repeat(np.arange(len(whose)), count),
            count=self.count[step],
            gap=self.gap[step],
            low=self.low[step],
            high=self.high[step],
        )

    @classmethod
    def _read(cls, tables: Sequence[Mapping[int, float]]) -> CurveRows:
        """Return the curves of tables, each of which is another one."""
        sizes = np.fromiter(map(len, tables), dtype=np.int64, count=len(tables))
        counts = np.fromiter(chain.from_iterable(tables), dtype=np.int64)
        rates = np.fromiter(chain.from_iterable([table.values() for table in tables]), dtype=np.float64)
        digits, plain = _digits(counts, rates, np.cumsum(sizes) - sizes)
        read = np.repeat(plain, sizes)
        counts, low = counts[read], _rounded(rates[read], np.repeat(digits, sizes)[read])
        first = np.cumsum(sizes[plain]) - sizes[plain]
        last = first + sizes[plain] - 1
        gap, high = np.append(np.diff(counts), 1)[: len(counts)], np.append(low[1:], 0)[: len(low)]
        gap[last], high[last] = 1, low[last]
        length, slowest = np.zeros((2, len(tables)), dtype=np.int64)
        length[plain] = counts[last] + 1
        slowest[plain] = np.minimum.reduceat(low, first) if len(first) else 0
        table = np.repeat(np.flatnonzero(plain), sizes[plain])
        return cls(
            length=length,
            slowest=slowest,
            digits=digits,
            plain=plain,
            table=table,
            count=counts,
            gap=gap,
            low=low,
            high=high,
        )

    def speeds(self, gpus: Ints) -> Ints:
        """Return the speed of each table with so many GPUs, 0 where it does not say one."""
        said = np.flatnonzero((gpus > 0) & (gpus < self.length))
        begins = self.table * _FAR + self.count
        step = np.searchsorted(begins, said * _FAR + gpus[said], side="right") - 1
        gap, low, high = self.gap[step], self.low[step], self.high[step]
        found = np.zeros(len(gpus), dtype=np.int64)
        found[said] = _between(gap, low, high, gpus[said] - self.count[step])
        return found

    def write_periods(self, numbers: Ints, begin: Ints, units: Units, *, powers: bool) -> None:
        """Write how long an iteration takes with each number of GPUs, rounded up: unit over speed.

        Those of table i are written from ``begin[i]`` on, which is for 0 GPUs and stays as it is; nowhere where that is
        below 0. ``powers`` writes those with 1, 2, 4, ... GPUs alone. Steps as long as each other are worked out
        together, as tables with a row each.
        """
        wanted = np.flatnonzero(begin[self.table] >= 0)
        wanted = wanted[np.argsort(self.gap[wanted], kind="stable")]
        gaps, starts = np.unique(self.gap[wanted], return_index=True)
        for gap, alike in zip(gaps.tolist(), np.split(wanted, starts[1:]), strict=False):  # one is empty without gaps
            many = max(1, _AT_ONCE // gap)
            for start in range(0, len(alike), many):
                self._write_steps(alike[start : start + many], gap, numbers, begin, units, powers)

    def _write_steps(self, steps: Ints, gap: int, numbers: Ints, begin: Ints, units: Units, powers: bool) -> None:
        """Write the periods of steps of the same length."""
        table, further = self.table[steps], np.arange(gap)
        speed = _between(gap, self.low[steps][:, None], self.high[steps][:, None], further)
        period = quotient_up(units.whole[table][:, None], units.about[table][:, None], speed)
        count = self.count[steps]
        if powers:
            gpus = count[:, None] + further
            period[(gpus & (gpus - 1)) > 0] = 0
        numbers[(begin[table] + count)[:, None] + further] = period


class Units(NamedTuple):
    """The time of an iteration at speed 1 of each table, as whole numbers modulo 2**64 and as floats."""

    whole: Ints
    about: Floats


def _digits(counts: Ints, rates: Floats, first: Ints) -> tuple[Ints, Bools]:
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


def _between(gap: int | Ints, low: Ints, high: Ints, further: Ints) -> Ints:
    """Return the speeds so many GPUs further than the begins of steps.

    After k GPUs of a gap the speed is gap x low x high / (gap x high + k x (low - high)), which for k = 0 is ``low``.
    """
    divisor = further * (low - high)
    divisor += gap * high
    about: Floats = np.multiply(gap, low, dtype=np.float64) * high
    return quotient_down(gap * low * high, about, divisor)
