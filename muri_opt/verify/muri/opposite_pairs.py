"""Pairs of jobs in opposite slots of a cycle of four, each looked at with all others that are no better.

The two pairs of a group of four meet in every slot: its period is the sum over slots of the longer of two times, one of
each pair. So a pair is looked at with thousands of others by a few operations on arrays, where jobs alike
leave too many groups for bounds to tell apart. It is done in floats of 32 bits, whose rounding is allowed for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.verify.muri.periods import Ints

Floats = NDArray[np.float64]
_SLOTS: Final = 4
_ROWS: Final = 16
_COLUMNS: Final = 4096
_ROUNDING: Final = 2e-6
"""Above what a dozen operations on floats of 32 bits can be off, as a part of their terms."""


class Suits(NamedTuple):
    """Which jobs may be in the two slots between those of a pair, a row for each of some pairs: ``[row, job]``."""

    next: NDArray[np.bool_]
    last: NDArray[np.bool_]


class OppositePairs:
    """Pairs that begin half a cycle apart, the best first.

    ``times[r]`` is stage r of every job, ``score`` what a pair is above its price at its own period. ``looked`` is how
    many groups were looked at for the last that were yielded.
    """

    def __init__(
        self, times: Sequence[Floats], adds: Floats, pays: Floats, first: Ints, second: Ints, score: Floats
    ) -> None:
        self.looked = 0
        line = np.argsort(-score, kind="stable")
        self.first, self.second, self.score = first[line], second[line], score[line]
        self.adds, self.pays = (every[self.first] + every[self.second] for every in (adds, pays))
        self._slots = [self._longest(times, slot).astype(np.float32) for slot in range(_SLOTS)]
        self._adds = self.adds.astype(np.float32)
        self._pays = (self.pays - _ROUNDING * np.abs(self.pays)).astype(np.float32)
        self._place = np.full((len(adds), len(adds)), -1, dtype=np.int32)
        self._place[self.first, self.second] = np.arange(len(self.first))

    def _longest(self, times: Sequence[Floats], slot: int) -> Floats:
        """Return how long each pair takes in a slot: the second of it is two stages behind the first."""
        longest: Floats = np.maximum(times[slot][self.first], times[(slot - 2) % _SLOTS][self.second])
        return longest

    def met(self, rows: Ints, least: float) -> tuple[Ints, Ints]:
        """Return from where to where pairs are no better than those of rows, and with them as good as the least."""
        own = self.score[rows]
        return np.searchsorted(-self.score, -own), np.searchsorted(-self.score, own - least)

    def above(self, rows: Ints, least: float, suits: Suits) -> Iterator[Ints]:
        """Yield groups (the two of a row, then those in the slots between them) that may be above ``least``.

        A row is one of the pairs. It is looked at with all that are no better, so that no group is missed if every
        pair is a row that is above half of the least, and every job suits that such a group has between. What suits
        none of a few rows is left out for all of them: the more these are alike, the more that is.
        """
        for begin in range(0, len(rows), _ROWS):
            some = slice(begin, begin + _ROWS)
            starts, stops = self.met(rows[some], least)
            following, last = (np.flatnonzero(np.logical_or.reduce(suit[some], axis=0)) for suit in suits)
            for later, first, second in ((1, following, last), (3, last, following)):
                others = self._place[np.ix_(first, second)].ravel()
                others = others[(others >= starts.min()) & (others < stops.max())]  # those that are no pair have -1
                wide = min(_COLUMNS, len(others))  # written out for all others, rows are compared far faster
                mine = [np.repeat(slot[rows[some]], wide).reshape(-1, wide) for slot in self._slots if wide]
                for at in range(0, len(others), _COLUMNS):
                    self.looked = len(rows[some]) * len(others[at : at + _COLUMNS])
                    yield self._met(rows[some], mine, others[at : at + _COLUMNS], least, later)

    def _met(self, rows: Ints, mine: Sequence[Any], others: Ints, least: float, later: int) -> Ints:
        """Return the groups of rows with others, of which the first begins so much later, that may be above."""
        pays = self.pays[rows] + least - _ROUNDING * (np.abs(self.pays[rows]) + abs(least))
        wide = len(others)
        period: Any = np.maximum(mine[0][:, :wide], self._slots[-later % _SLOTS][others])
        for slot in range(1, _SLOTS):
            period += np.maximum(mine[slot][:, :wide], self._slots[(slot - later) % _SLOTS][others])
        period *= pays.astype(np.float32)[:, None] + self._pays[others]
        added = self._adds[rows, None] + self._adds[others]
        row, other = np.divmod(np.flatnonzero(added > period), len(others))
        return self._groups(rows[row], others[other], later)

    def _groups(self, rows: Ints, others: Ints, later: int) -> Ints:
        """Return the groups of two pairs each, of which no job is in both."""
        between = (self.first[others], self.second[others])
        groups = np.column_stack([self.first[rows], self.second[rows], *(between if later == 1 else between[::-1])])
        apart = (groups[:, :2, None] != groups[:, None, 2:]).all(axis=(1, 2))
        kept: Ints = groups[apart]
        return kept
