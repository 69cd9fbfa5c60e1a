"""Pairs of jobs in opposite slots of a cycle of four, in a tree of boxes, so that few of them are looked at together.

The two pairs of a group of four meet in every slot: its period is the sum over slots of the longer of two times, one of
each pair. Pairs that take about as long in every slot are put into one box, and of two boxes it is known that no period
of two pairs is shorter than that of the shortest times in them, and what the pairs of each are at most above their
price at that period. Two boxes that are not enough together are left out with all their pairs; others are cut in
halves, down to a few pairs each, which all meet by arrays. Those are floats of 32 bits, whose rounding is allowed for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.verify.muri.periods import Ints

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
_SLOTS: Final = 4
_LEAF: Final = 4
"""Pairs of the smallest boxes."""
_AT_ONCE: Final = 1 << 16
"""Meetings of boxes that are looked at at once."""
_MET: Final = 1 << 12
"""Meetings of the smallest boxes whose pairs meet at once."""
_PROMISING: Final = 1 << 10
"""Meetings of boxes of each size that are followed to see at first how much groups are above their price."""
_ROUNDING: Final = 2e-6
"""Above what a dozen operations on floats of 32 bits can be off, as a part of their terms."""


class _Boxes(NamedTuple):
    """Boxes of one size: the shortest time in each slot, and what pairs add and pay.

    ``own`` is the period of the shortest times, ``above`` what a pair adds at most above its pay for so long, and
    ``pays`` the least pay. ``turned`` is the shortest time in each slot if pairs begin one slot later, then three.
    """

    turned: Floats
    low: Floats
    own: Floats
    above: Floats
    pays: Floats


class _Meetings(NamedTuple):
    """Boxes of one size that meet: the first by their place, the others by their place among those ``turned``."""

    level: int
    one: Ints
    other: Ints

    def of(self, some: Any) -> _Meetings:
        """Return some of them."""
        return _Meetings(self.level, self.one[some], self.other[some])

    def halves(self) -> _Meetings:
        """Return the meetings of their halves, of a box with itself each two once."""
        apart = np.flatnonzero(self.one != self.other % (1 << self.level))
        one, other = 2 * self.one, 2 * self.other
        first = np.concatenate([one, one, one + 1, one[apart] + 1])
        second = np.concatenate([other, other + 1, other + 1, other[apart]])
        return _Meetings(self.level + 1, first, second)


class PairTree:
    """Pairs that begin half a cycle apart: ``times[r]`` is stage r of every job, and no job pays less than nothing.

    ``looked`` is how many groups were looked at for the last that were yielded.
    """

    def __init__(self, times: Sequence[Floats], adds: Floats, pays: Floats, first: Ints, second: Ints) -> None:
        self.looked = 0
        slots = np.stack([np.maximum(times[slot][first], times[(slot - 2) % _SLOTS][second]) for slot in range(_SLOTS)])
        added, paid = (every[first] + every[second] for every in (adds, pays))
        self.levels = max(0, int(np.ceil(np.log2(max(1, len(first)) / _LEAF))))
        line = _in_boxes(slots, self.levels)
        nobody = np.arange(len(line)) >= len(first)  # the last pair stands in for those that are missing
        order = np.minimum(line, len(first) - 1)
        self._first, self._second = first[order], second[order]
        added = np.where(nobody[line], -np.inf, added[order])
        slots, paid = slots[:, order], paid[order]
        self._boxes = [_boxes(slots, added, paid, 1 << level) for level in range(self.levels + 1)]
        self._slots = [_leaves(times) for times in slots]
        self._turned = [
            np.concatenate([self._slots[(slot - later) % _SLOTS] for later in (1, 3)], axis=1) for slot in range(_SLOTS)
        ]
        self._adds, self._pays = _leaves(added), _leaves(paid - _ROUNDING * paid)

    def above(self, least: Callable[[], float]) -> Iterator[Ints]:
        """Yield groups (the two of a pair, then those in the slots between them) that may be above the least, over 0.

        That is asked for again and again, as it may rise by what was yielded; the most promising groups come first.
        """
        boxes = np.zeros(1, dtype=np.int64)
        every = _Meetings(0, np.concatenate([boxes, boxes]), np.concatenate([boxes, boxes + 1]))
        yield from self._below(every, least, _PROMISING)
        yield from self._below(every, least, None)

    def _below(self, every: _Meetings, least: Callable[[], float], most: int | None) -> Iterator[Ints]:
        """Yield the groups of boxes that meet, of each size no more than the ``most`` promising ones."""
        left = [every]
        while left:
            some = left.pop()
            able = self._may_be_above(some, least(), most)
            if some.level == self.levels:
                for begin in range(0, len(able.one), _MET):
                    yield self._met(able.of(slice(begin, begin + _MET)), least())
                continue
            halves = able.halves()
            step = _AT_ONCE if most is None else max(1, len(halves.one))
            left += [halves.of(slice(at, at + step)) for at in range(0, len(halves.one), step)]

    def _may_be_above(self, meetings: _Meetings, least: float, most: int | None) -> _Meetings:
        """Return the meetings of boxes of which some pairs may be above the least."""
        boxes, one, other = self._boxes[meetings.level], meetings.one, meetings.other
        second = other % (1 << meetings.level)
        period: Any = 0.0
        for low, turned in zip(boxes.low, boxes.turned, strict=True):
            period = period + np.maximum(low[one], turned[other])
        above = -least * period
        for place in (one, second):
            above += boxes.above[place] - (period - boxes.own[place]) * boxes.pays[place]
        able = np.flatnonzero(above > 0)
        if most is not None and len(able) > most:
            able = able[np.argpartition(-above[able] / period[able], most - 1)[:most]]
        return meetings.of(able)

    def _met(self, meetings: _Meetings, least: float) -> Ints:
        """Return the groups of the pairs of the smallest boxes that may be above the least."""
        one, other = meetings.one, meetings.other
        second = other % (1 << self.levels)
        self.looked = len(one) * _LEAF * _LEAF
        theirs = [np.take(slot, other, axis=1) for slot in self._turned]
        mine = [np.take(slot, one, axis=1) for slot in self._slots]
        adds, pays = (np.take(every, second, axis=1) for every in (self._adds, self._pays))
        my_adds, my_pays = (np.take(every, one, axis=1) for every in (self._adds, self._pays))
        pays += np.float32(least - _ROUNDING * abs(least))
        period, longer, above = np.empty_like(adds), np.empty_like(adds), np.empty(adds.shape, dtype=np.bool_)
        found = [np.zeros(0, dtype=np.int64)]
        for row in range(_LEAF):
            np.maximum(mine[0][row], theirs[0], out=period)
            for slot in range(1, _SLOTS):
                np.maximum(mine[slot][row], theirs[slot], out=longer)
                np.add(period, longer, out=period)
            np.add(my_pays[row], pays, out=longer)
            np.multiply(period, longer, out=period)
            np.add(my_adds[row], adds, out=longer)
            np.greater(longer, period, out=above)
            if above.any():
                found.append(np.flatnonzero(above) + row * above.size)
        mine_at, theirs_at, place = np.unravel_index(np.concatenate(found), (_LEAF, *adds.shape))
        return self._groups(_LEAF * one[place] + mine_at, _LEAF * second[place] + theirs_at, other[place])

    def _groups(self, pairs: Ints, others: Ints, other: Ints) -> Ints:
        """Return the groups of two pairs each, of which no job is in both."""
        between = np.column_stack([self._first[others], self._second[others]])
        between = np.where((other < 1 << self.levels)[:, None], between, between[:, ::-1])
        groups = np.column_stack([self._first[pairs], self._second[pairs], between])
        apart = (groups[:, :2, None] != groups[:, None, 2:]).all(axis=(1, 2))
        kept: Ints = groups[apart]
        return kept


def _in_boxes(slots: Floats, levels: int) -> Ints:
    """Return the places of pairs, each box in line: cut in halves where its times differ most.

    They are as many as the boxes hold; those beyond the pairs stand for nobody.
    """
    count = slots.shape[1]
    line: Ints = np.arange(_LEAF << levels)
    points = slots.astype(np.float32)
    for level in range(levels):
        boxes: Any = line.reshape(1 << level, -1)
        at = np.minimum(boxes, count - 1)
        spread = [np.ptp(slot[at], axis=1) for slot in points]
        widest = np.argmax(spread, axis=0)
        values = points[widest[:, None], at]
        in_halves = np.argpartition(values, boxes.shape[1] // 2, axis=1)
        line = np.take_along_axis(boxes, in_halves, axis=1).ravel()
    return line


def _boxes(slots: Floats, adds: Floats, pays: Floats, count: int) -> _Boxes:
    """Return so many boxes of pairs in line."""
    low = slots.reshape(_SLOTS, count, -1).min(axis=2)
    turned = np.concatenate([np.roll(low, later, axis=0) for later in (1, 3)], axis=1)
    own: Any = 0.0
    for times in low:
        own = own + times
    paid = pays.reshape(count, -1)
    above = (adds.reshape(count, -1) - own[:, None] * paid).max(axis=1)
    return _Boxes(turned, low, own, above, paid.min(axis=1))


def _leaves(values: Floats) -> Singles:
    """Return numbers of pairs by their place in the smallest boxes, then by box."""
    return np.ascontiguousarray(values.reshape(-1, _LEAF).T.astype(np.float32))
