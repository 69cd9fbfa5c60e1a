"""Two pairs of jobs, each half a cycle apart, that are worth more together than they pay.

In a cycle of four slots that add up, the period of two pairs is the sum over slots of the longer of the two times that
they take there. A pair meets all that are no better than itself and whose jobs suit it, by a dozen operations on long
arrays of 32-bit floats: picking out for each pair just those that suit it takes longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds.amounts import Ints

Floats = NDArray[np.floating[Any]]
STEPS: Final = 0.08
"""Steps of work for two pairs that meet."""
_ROWS: Final = 16
_COLUMNS: Final = 4096
_ROUNDING: Final = 2e-6


class Met(NamedTuple):
    """Places of pairs that were asked for, and the two jobs in the slots between theirs."""

    row: Ints
    third: Ints
    fourth: Ints


class Suits(NamedTuple):
    """Which jobs could make a group pay in slots 1 and 3, with the pair of each row."""

    third: NDArray[np.bool_]
    fourth: NDArray[np.bool_]


class PairMeetings:
    """All pairs that could be a half of a group, jobs in slots 1 and 3, by a number for each two jobs.

    ``score[u, v]`` is what two jobs are above their prices at their own period, ``fixed`` what a group pays besides,
    and ``last`` how often two pairs met in the last call.
    """

    def __init__(self, times: Sequence[Floats], adds: Floats, pays: Floats, score: Floats, fixed: float) -> None:
        self.times, self.adds, self.pays, self.fixed, self.last = times, adds, pays, fixed, 0
        self.score = score.ravel()
        third, fourth = (jobs.ravel() for jobs in np.indices(score.shape))
        self._slots = _longest(times, third, fourth, later=1)
        self._adds = (adds[third] + adds[fourth]).astype(np.float32)
        self._pays = ((1 - _ROUNDING) * (pays[third] + pays[fourth])).astype(np.float32)

    def of(self, first: Ints, second: Ints, both: Floats, suits: Suits) -> Met:
        """Return the pairs that may make a group pay with jobs in slots 0 and 2, whose score is ``both``."""
        found, self.last = [Met(*np.zeros((3, 0), dtype=np.int64))], 0
        for rows, others in self._others(both, suits):
            mine = _longest(self.times, first[rows], second[rows], later=0)
            wide = min(_COLUMNS, len(others))
            mine = [np.repeat(slot, wide).reshape(len(rows), wide) for slot in mine]
            self.last += len(rows) * len(others)
            for at in range(0, len(others), _COLUMNS):
                row, other = self._paying(first[rows], second[rows], mine, others[at : at + _COLUMNS])
                no_better = self.score[other] <= both[rows[row]]
                row, other = rows[row[no_better]], other[no_better]
                found.append(Met(row, *np.divmod(other, len(self.adds))))
        return Met(*(np.concatenate(part) for part in zip(*found, strict=True)))

    def count(self, both: Floats, suits: Suits) -> int:
        """Return how often two pairs meet for that."""
        return sum(len(rows) * len(others) for rows, others in self._others(both, suits))

    def _others(self, both: Floats, suits: Suits) -> Iterator[tuple[Ints, Ints]]:
        """Yield a few rows at a time, and the pairs that they meet.

        Turning the cycle makes the better pair the first one: others that are better are left out. So are those with a
        job that suits none of the rows, which is the more the more these are alike.
        """
        for begin in range(0, len(both), _ROWS):
            rows = np.arange(begin, min(begin + _ROWS, len(both)))
            third, fourth = (np.flatnonzero(np.logical_or.reduce(every[rows], axis=0)) for every in suits)
            others = (len(self.adds) * third[:, None] + fourth).ravel()
            score, most = self.score[others], float(both[rows].max())
            yield rows, others[(score <= most) & (score > self.fixed - most)]

    def _paying(self, first: Ints, second: Ints, mine: Sequence[Any], others: Ints) -> tuple[Ints, Ints]:
        """Return which pairs, by their place, pay with which of the others.

        How long ``mine`` take in each slot is written out for every other one: so numpy takes a fourth of the time.
        """
        wide = len(others)
        period: Any = np.maximum(mine[0][:, :wide], self._slots[0][others])
        for own, other in zip(mine[1:], self._slots[1:], strict=True):
            period += np.maximum(own[:, :wide], other[others])
        pays = (1 - _ROUNDING) * (self.pays[first] + self.pays[second] + self.fixed)
        period *= pays.astype(np.float32)[:, None] + self._pays[others]
        adds = (self.adds[first] + self.adds[second]).astype(np.float32)
        found = np.flatnonzero(adds[:, None] + self._adds[others] > period)
        row, place = np.divmod(found, wide)
        return row, others[place]


def _longest(times: Sequence[Floats], first: Ints, second: Ints, *, later: int) -> list[NDArray[np.float32]]:
    """Return how long pairs take in each slot, if the first job begins so much later than slot 0."""
    count = len(times)
    return [
        np.maximum(times[(slot - later) % count][first], times[(slot - later - 2) % count][second]).astype(np.float32)
        for slot in range(count)
    ]
