"""Which jobs may replace a candidate, found without asking all of them: bit sets by level.

A job is one bit of a Python integer. Its bit is its place, the number of jobs that are scanned after it, so that one
``&`` handles all jobs and the first one scanned of a set is its highest bit.

:class:`LevelSets` is an index over one number per job: for each of a few dozen rising levels, the set of the jobs that
reach it. "All jobs whose number is at least v" is answered by the set of the highest level that is not above v: it
holds all these jobs, and perhaps some between the level and v. :class:`RivalSets` has three of them, over the numbers
in which the pair rule can be written. With growth r = p'/p and strength s = (2f - p) / (2f - p'), a scanned job m
replaces the candidate c only if

* m would finish before c, and r_m >= s_c, or
* m would not finish before c, and s_m >= r_c.

So every job that replaces c is in the set

    (growth at least s_c, and time at most that of c), or strength at least r_c,

and whoever is in it and does not replace c is turned away by the rule itself. Where the levels are says how many that
are; it decides about speed, never about the answer.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isnan, sqrt
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_ROUNDING: Final = 1e-12
"""More than the rounding error of any growth or strength."""
_LEAST_LEVELS: Final = 16
_MOST_LEVELS: Final = 256
_LITTLE: Final = 600
"""Moves and jobs turned away that say little about how many levels are best."""

Bools = NDArray[np.bool_]


@dataclass(slots=True, kw_only=True, eq=False)
class Numbers:
    """What the pair rule compares of the jobs, by place; the lists are changed in place as jobs climb.

    ``growth`` is not a number for a job without a GPU. ``strength`` is not a number where 2f <= p': no growth is a
    threshold then, and the rule has to be asked in whole numbers. ``brevity`` is the remaining time (that on one GPU
    for a job without any) with its sign changed, so that a shorter job has the higher number.
    """

    growth: list[float]
    strength: list[float]
    brevity: list[int]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LevelSets:
    """Jobs by how many of the rising ``levels`` their number reaches: ``reached[place]``, ``at_first`` when built.

    ``sets[0]`` are all jobs, ``sets[i]`` those whose number is at least the i-th level. What is not a number reaches
    every level.
    """

    levels: list[float]
    sets: list[int]
    reached: list[int]
    at_first: NDArray[np.int64]

    @classmethod
    def of(cls, levels: NDArray[Any], numbers: NDArray[Any], members: Bools) -> LevelSets:
        """Return the sets of the ``members`` among jobs with these numbers, by place."""
        reached = np.searchsorted(levels, numbers, side="right")
        sets = _sets(np.where(members, reached, -1), len(levels) + 1)
        return cls(levels=levels.tolist(), sets=sets, reached=reached.tolist(), at_first=reached)


class RivalSets:
    """The jobs still climbing among the ``size`` scanned last, by growth, by strength and by brevity.

    With AFS' own future share, f = p', strength is 2 - 1/r and rises with growth (``one_order``): the sets by strength
    are those by growth then, and s_m >= r_c is asked as r_m >= 1 / (2 - r_c). ``asks[place]`` remembers what
    :meth:`ask` found.
    """

    __slots__ = (
        "_idle",
        "_indexes",
        "_numbers",
        "_size",
        "asks",
        "by_brevity",
        "by_growth",
        "by_strength",
        "one_order",
    )

    def __init__(
        self,
        numbers: Numbers,
        *,
        idle: Bools,
        climbing: Bools,
        asked: Sequence[tuple[float, float, int]],
        levels: int,
        one_order: bool,
    ) -> None:
        """Build the sets of the first places, as many as ``idle`` (no GPU) and ``climbing`` (below its cap) tell of.

        Each index gets about so many ``levels``, where jobs will be asked about: half of them for the jobs themselves,
        half for the growth, strength and brevity of those ``asked`` about of late.
        """
        self._numbers = numbers
        self._size = size = len(idle)
        self._idle = _sets(np.where(idle & climbing, 0, -1), 1)[0]
        self.one_order = one_order
        self.asks: list[tuple[int, int, int] | None] = [None] * len(numbers.brevity)
        growth, strength = np.array(numbers.growth[:size]), np.array(numbers.strength[:size])
        brevity = np.array(numbers.brevity[:size])
        some = np.flatnonzero(climbing)[::4]
        growths = growth[some], np.array([number for number, _, _ in asked])
        strengths = strength[some], np.array([number for _, number, _ in asked])
        brevities = brevity[some], np.array([number for _, _, number in asked], dtype=np.int64)
        self.by_brevity = LevelSets.of(_levels(brevities, levels), brevity, climbing)
        self._indexes: list[tuple[LevelSets, Sequence[float]]] = [(self.by_brevity, numbers.brevity)]
        if one_order:
            asks = [np.concatenate([low, _growth_to_beat(high)]) for low, high in zip(strengths, growths, strict=True)]
            self.by_growth = self.by_strength = LevelSets.of(_levels(asks, levels), growth, climbing)
        else:
            self.by_growth = LevelSets.of(_levels(strengths, levels), growth, climbing)
            self.by_strength = LevelSets.of(_levels(growths, levels), strength, climbing)
            self._indexes.append((self.by_strength, numbers.strength))
        self._indexes.append((self.by_growth, numbers.growth))

    def rivals_of_idle(self, candidate: int) -> int:
        """Return the rivals of a job without a GPU: it is the longer one, but another such job is one by its time."""
        growth = bisect_right(self.by_growth.levels, self._numbers.strength[candidate])
        no_longer = bisect_right(self.by_brevity.levels, self._numbers.brevity[candidate])
        return self.by_growth.sets[growth] & ~self._idle | self.by_brevity.sets[no_longer] & self._idle

    def ask(self, candidate: int) -> tuple[int, int, int]:
        """Return in which sets the rivals of a job with a GPU are: by growth, brevity and strength.

        By brevity it is the set the job is in itself: jobs as long as it are in it too, and turned away by the rule.
        """
        growth, strength = self._numbers.growth[candidate], self._numbers.strength[candidate]
        threshold = growth
        if self.one_order:
            threshold = 1 / (2 - growth + _ROUNDING) if growth < 2 else inf
        if candidate < self._size:
            briefer = self.by_brevity.reached[candidate]
        else:
            briefer = bisect_right(self.by_brevity.levels, self._numbers.brevity[candidate])
        found = (
            0 if isnan(strength) else bisect_right(self.by_growth.levels, strength),
            briefer,
            bisect_right(self.by_strength.levels, threshold),
        )
        self.asks[candidate] = found
        return found

    def move(self, place: int) -> None:
        """Put a job that has climbed into the sets of its new numbers."""
        self.asks[place] = None
        if place >= self._size:
            return
        bit = 1 << place
        if self._idle & bit:
            self._idle ^= bit
        for index, numbers in self._indexes:
            old, new = index.reached[place], bisect_right(index.levels, numbers[place])
            if old == new:
                continue
            index.reached[place] = new
            sets = index.sets
            for level in range(old + 1, new + 1) if old < new else range(new + 1, old + 1):
                sets[level] ^= bit

    def remove(self, place: int) -> None:
        """Take a job that climbs no further out of all sets."""
        if place >= self._size:
            return
        bit = 1 << place
        if self._idle & bit:
            self._idle ^= bit
        for index, _ in self._indexes:
            for level in range(index.reached[place] + 1):
                index.sets[level] ^= bit

    def better_count(self, levels: int, turned_away: int) -> int:
        """Return how many levels would have balanced the jobs found in vain against the moves between levels.

        The former fall with the number of levels, the latter grow. To turn a job away costs about three times a move.
        """
        moved = sum(int(np.abs(index.at_first - index.reached).sum()) for index, _ in self._indexes)
        better = levels * sqrt((3 * turned_away + _LITTLE) / (moved + _LITTLE))
        return round(min(_MOST_LEVELS, max(_LEAST_LEVELS, better)))


def _levels(samples: Sequence[NDArray[Any]], count: int) -> NDArray[Any]:
    """Return about ``count`` rising levels, equally many from each of the samples."""
    known = [_distinct(values[np.isfinite(values)]) for values in samples]
    chosen = [values[np.linspace(0, len(values) - 1, count // 2).astype(np.int64)] for values in known if len(values)]
    return _distinct(np.concatenate(chosen)) if chosen else np.ones(1)


def _distinct(values: NDArray[Any]) -> NDArray[Any]:
    """Return the different values, rising; ``np.unique`` would load more of numpy than all of this takes."""
    rising: NDArray[Any] = np.sort(values)
    new = np.ones(len(rising), dtype=np.bool_)
    new[1:] = rising[1:] != rising[:-1]
    distinct: NDArray[Any] = rising[new]
    return distinct


def _growth_to_beat(growth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the growth from which a longer job wins against one that has ``growth``, where there is one."""
    below = 2 - growth + _ROUNDING
    reach = np.full(below.shape, np.nan)
    np.divide(1, below, out=reach, where=below > 0)
    return reach


def _sets(reached: NDArray[np.int64], count: int) -> list[int]:
    """Return the sets of the jobs that have reached 0, 1, ... ``count`` - 1; a job's bit is its place."""
    members = reached.astype(np.int16) >= np.arange(count, dtype=np.int16)[:, None]
    rows = np.packbits(members, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in rows]
