"""Which jobs can win against a given one, found without asking all of them.

A job is one bit of a Python integer, the first scanned the highest bit: one operation handles all jobs, and the first
of a set is its bit length. Sets are kept of the jobs whose growth, strength and remaining time lie on one side of a
few levels; a few intersections hold every job that can win, and some that cannot, which the exact rule then turns
away. Levels decide about speed only, never about the answer.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_ROUNDING: Final = 1e-12
"""More than the rounding of strength levels that are worked out from growth levels."""
_LEAST_LEVELS: Final = 16
_MOST_LEVELS: Final = 256
_LITTLE: Final = 300
"""Moves and jobs turned away that say little about how many levels are best."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Standing:
    """What is compared of every job, by its place: how many jobs are scanned after it.

    The longer of two jobs wins iff the shorter one's ``growth`` p'/p is below its ``strength`` (2f - p) / (2f - p').
    Growth is not a number for a job without a GPU, strength where that quotient is no threshold: whole numbers decide
    then. ``time`` is the remaining time, on one GPU for a job without any.
    """

    growth: Floats
    strength: Floats
    time: Ints
    idle: Bools
    climbing: Bools


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contenders:
    """Sets of the jobs still climbing, by level; the lists are changed in place as jobs climb.

    ``grown[i]``: the jobs whose growth reaches the i-th level; ``strong[i]``: those whose strength does (the same list,
    if ``shared``: strength rises with growth then); ``brief[i]``: those whose time is below the i-th level. The first
    two begin with, and the third ends with, the set of all. ``idle[0]``: the jobs without a GPU. ``in_grown`` and its
    like hold, per job, how many levels it reaches; ``asks_grown`` and its like, if ``shared``, the sets that a job with
    a GPU asks for others to beat it, which :meth:`rivals` works out for all other jobs.
    """

    growth_levels: list[float]
    strength_levels: list[float]
    time_levels: list[int]
    grown: list[int]
    strong: list[int]
    brief: list[int]
    idle: list[int]
    shared: bool
    in_grown: list[int]
    in_strong: list[int]
    in_brief: list[int]
    asks_grown: list[int]
    asks_strong: list[int]
    asks_brief: list[int]
    wrong: list[int]
    first: tuple[Ints, Ints]

    @classmethod
    def of(
        cls, standing: Standing, asked: Sequence[tuple[float, float, int]], levels: tuple[int, int], *, shared: bool
    ) -> Contenders:
        """Return the sets of ``standing``, with levels at the growth, strength and time of jobs and of the ``asked``.

        A candidate looks for jobs whose growth reaches its strength, or whose strength reaches its growth.
        """
        climbing, count = standing.climbing, levels[0]
        sample = np.flatnonzero(climbing)[::4]
        recent = np.array(asked, dtype=np.float64).reshape(-1, 3)
        grow, force = [standing.growth[sample], recent[:, 0]], [standing.strength[sample], recent[:, 1]]
        if shared:  # strength is 2 - 1 / growth
            growth = _levels([np.concatenate([a, _reach(b)]) for a, b in zip(force, grow, strict=True)], count)
            strength = 2 - 1 / growth + _ROUNDING
        else:
            growth, strength = _levels(force, count), _levels(grow, count)
        time = _levels([standing.time[sample], np.array([time for _, _, time in asked], dtype=np.int64)], levels[1])
        in_grown = np.searchsorted(growth, standing.growth, side="right")
        in_strong = in_grown if shared else np.searchsorted(strength, standing.strength, side="right")
        in_brief = np.searchsorted(time, standing.time, side="right")
        grown = _sets(np.where(climbing, in_grown, -1), len(growth) + 1)
        strong = grown if shared else _sets(np.where(climbing, in_strong, -1), len(strength) + 1)
        reached = in_grown.tolist()
        return cls(
            growth_levels=growth.tolist(),
            strength_levels=strength.tolist(),
            time_levels=time.tolist(),
            grown=grown,
            strong=strong,
            brief=_sets(np.where(climbing, len(time) - in_brief, -1), len(time) + 1)[::-1],
            idle=_sets(np.where(standing.idle & climbing, 0, -1), 1),
            shared=shared,
            in_grown=reached,
            in_strong=reached if shared else in_strong.tolist(),
            in_brief=in_brief.tolist(),
            asks_grown=np.searchsorted(growth, standing.strength, side="right").tolist() if shared else [],
            asks_strong=np.searchsorted(strength, standing.growth, side="right").tolist() if shared else [],
            asks_brief=np.searchsorted(time, standing.time).tolist() if shared else [],
            wrong=[0, 0],
            first=(in_grown, in_brief),
        )

    def rivals(self, growth: float, strength: float, time: int) -> tuple[int, int]:
        """Return jobs among which are all that win against a given one, and the set of strong ones among them.

        For a job without a GPU, whose growth is not a number, another without any is a rival by its time on one.
        """
        grown = self.grown[0 if math.isnan(strength) else bisect_right(self.growth_levels, strength)]
        if math.isnan(growth):
            brief = self.brief[bisect_right(self.time_levels, time)]
            return grown & ~self.idle[0] | brief & self.idle[0], 0
        reach = bisect_right(self.strength_levels, growth)
        return grown & self.brief[bisect_left(self.time_levels, time)] | self.strong[reach], reach

    def better_levels(self, levels: tuple[int, int]) -> tuple[int, int]:
        """Return how many levels would have balanced the jobs found in vain against the moves between levels.

        Both are seen at the present number of levels; the former fall with it, the latter grow. To turn a job away
        costs about four times as much as a move.
        """
        moves = [
            np.abs(now - first).sum() for now, first in zip((self.in_grown, self.in_brief), self.first, strict=True)
        ]
        growth, time = (
            round(min(_MOST_LEVELS, max(_LEAST_LEVELS, count * math.sqrt((4 * wrong + _LITTLE) / (moved + _LITTLE)))))
            for count, wrong, moved in zip(levels, self.wrong, moves, strict=True)
        )
        return growth, time


def _levels(choices: Sequence[NDArray[Any]], count: int) -> NDArray[Any]:
    """Return about ``count`` rising levels above 0, equally many from each of the ``choices``."""
    known = [_distinct(values[np.isfinite(values) & (values > 0)]) for values in choices]
    chosen = [values[np.linspace(0, len(values) - 1, count // 2).astype(np.int64)] for values in known if len(values)]
    return _distinct(np.concatenate(chosen)) if chosen else np.ones(1)


def _distinct(values: NDArray[Any]) -> NDArray[Any]:
    """Return the different values, rising; ``np.unique`` would load more of numpy than all of this takes."""
    rising: NDArray[Any] = np.sort(values)
    new = np.ones(len(rising), dtype=np.bool_)
    new[1:] = rising[1:] != rising[:-1]
    distinct: NDArray[Any] = rising[new]
    return distinct


def _reach(growth: Floats) -> Floats:
    """Return the growth from which a longer job wins against one that has ``growth``, where there is one."""
    below = 2 - growth + 10 * _ROUNDING
    reach = np.full(below.shape, np.nan)
    np.divide(1, below, out=reach, where=below > 0)
    return reach


def _sets(reached: Ints, count: int) -> list[int]:
    """Return the sets of the jobs that have reached 0, 1, ... ``count`` - 1; a job's bit is its place."""
    members = reached.astype(np.int16) >= np.arange(count, dtype=np.int16)[:, None]
    rows = np.packbits(members, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in rows]
