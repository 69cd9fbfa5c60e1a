"""Many scaling tables as whole numbers at once: the same speeds as :func:`.curve.speeds_of` reads from each.

Floats tell the digits of a table and its speeds, unless they are so near to where these change that only exact
arithmetic tells: such tables, and those that are refused, are left to be read by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from math import log10
from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_TENS: Final = 22
"""Powers of ten up to which floats are exact."""
_NEAR: Final = 1e-6
"""How near to a half, or to the largest speed, a number is looked at exactly; floats are wrong by far less."""
_MOST_STEPS: Final = 1 << 20
"""GPU counts of a table for which products of two of its numbers, but for one factor, are machine words."""


def rows_of_tables(tables: Sequence[Mapping[int, float]], largest: int) -> list[tuple[Ints, int, int] | None]:
    """Return the speeds of each table with 1, 2, ... GPUs, the largest of them, and how many digits they keep.

    None is above ``largest``. A table has its counts in ascending order. There is nothing for one that is left to be
    read by itself.

    >>> (row, most, digits), alone = rows_of_tables([{1: 1.0, 4: 2.0}, {2: 1.0}], 10**9)
    >>> row.tolist(), digits, alone
    ([100000000, 120000000, 150000000, 200000000], 8, None)
    """
    sizes = np.fromiter(map(len, tables), dtype=np.int64, count=len(tables))
    filled = np.flatnonzero(sizes)
    rows: list[tuple[Ints, int, int] | None] = [None] * len(tables)
    if not len(filled):
        return rows
    some, sizes = [tables[at] for at in filled.tolist()], sizes[filled]
    counts = np.fromiter(chain.from_iterable(some), dtype=np.int64, count=int(sizes.sum()))
    rates = np.fromiter(chain.from_iterable([table.values() for table in some]), dtype=np.float64, count=len(counts))
    first = np.cumsum(sizes) - sizes
    told, digits = _digits(rates, first, largest)
    told &= (counts[first] == 1) & (np.maximum.reduceat(counts, first) <= _MOST_STEPS)
    scaled = _scaled(rates, np.repeat(np.where(told, digits, 0), sizes))
    halves = abs(scaled - np.floor(scaled) - 0.5) < _NEAR
    told &= ~np.logical_or.reduceat(halves, first)
    if not told.any():
        return rows
    read, sizes = np.repeat(told, sizes), sizes[told]
    known = np.maximum(np.rint(scaled[read]), 1.0).astype(np.int64)
    speeds, length = _between(counts[read], known, sizes)
    speeds.setflags(write=False)
    end, most = np.cumsum(length), np.maximum.reduceat(known, np.cumsum(sizes) - sizes)
    each = zip((end - length).tolist(), end.tolist(), most.tolist(), digits[told].tolist(), strict=True)
    for at, (begin, stop, top, kept) in zip(filled[told].tolist(), each, strict=True):
        rows[at] = speeds[begin:stop], top, kept
    return rows


def _digits(rates: Floats, first: Ints, largest: int) -> tuple[NDArray[np.bool_], Ints]:
    """Return whether floats tell how many digits each table keeps, and how many: its largest speed is just possible."""
    most = np.maximum.reduceat(rates, first)
    power = np.floor(log10(largest) - np.log10(most)).astype(np.int64)
    told = abs(power) <= _TENS
    top = _scaled(most, np.where(told, power, 0))
    told &= (top > largest * (0.1 + _NEAR)) & (top < largest * (1 - _NEAR))
    return told, power


def _scaled(rates: Floats, power: Ints) -> Floats:
    """Return rates times a power of ten, rounded once."""
    tens = np.array([float(10**digits) for digits in range(_TENS + 1)])[abs(power)]
    scaled: Floats = np.where(power < 0, rates / tens, rates * tens)
    return scaled


def _between(counts: Ints, speeds: Ints, sizes: Ints) -> tuple[Ints, Ints]:
    """Return the speeds at all counts, table after table, and how many each has; between two the time changes evenly.

    With a and b the counts before and after k, that is (b - a) x slow x fast over (b - k) x fast + (k - a) x slow.
    """
    last = np.cumsum(sizes) - 1
    gap = np.diff(counts, append=0)
    gap[last] = 1  # the last of a table stands for itself
    fast = np.append(speeds[1:], 0)
    fast[last] = speeds[last]
    begin = np.cumsum(gap) - gap
    step = np.arange(int(gap.sum())) - np.repeat(begin, gap)
    wide, slow, quick = (np.repeat(each, gap) for each in (gap, speeds, fast))
    divisor = (wide - step) * quick + step * slow
    found = _quotients(wide * slow, quick, divisor)
    return np.maximum(found, 1), counts[last]


def _quotients(some: Ints, others: Ints, divisor: Ints) -> Ints:
    """Return the products of some and other numbers over divisors, rounded down; products may be beyond machine words.

    Floats tell quotients below 2**31 but for one. What such a quotient leaves is known modulo 2**64, which is how
    machine words multiply, and small: that is all of it.
    """
    found = np.floor(some.astype(np.float64) * others / divisor).astype(np.int64)
    rest = some * others - found * divisor
    return found + (rest >= divisor) - (rest < 0)
