"""The greedy's climb: GPUs one by one to the winner of a scan, each scan resumed where the last one changed.

A scan keeps a candidate and lets every job it meets replace it. After its winner has climbed one stop, nothing before
the winner's place has changed: the candidates before it stand, as a stack, and the scan resumes at the winner's place
with the candidate that it had replaced. A climb takes one candidate off the stack, so all scans together put no more
on it than there are climbs and jobs. What remains is to find the next job that replaces a candidate, which
:class:`Contenders` does for all jobs at once. Shares equal those of the plain scan, comparison by comparison.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from typing import Final

import numpy as np

from muri_opt.elastic.contenders import Contenders, Standing
from muri_opt.elastic.curves import Ints
from muri_opt.elastic.ladder import Steps
from muri_opt.elastic.pair_rule import UNBOUNDED, longer_wins

_FIRST_LEVELS: Final = (40, 32)
_FIRST_STRETCH: Final = 256
"""Winners after which levels are first chosen anew, from what was asked; later after as many as there are jobs."""
_MOST_WRONG: Final = 20_000
"""Jobs found in vain after which levels are chosen anew at once."""


class Climb:
    """One run of the greedy. Jobs go by their place in the scan; ``stop[place]`` is the stop a job has reached."""

    __slots__ = (
        "asked",
        "growth",
        "later",
        "left",
        "levels",
        "row",
        "shared",
        "stack",
        "steps",
        "stop",
        "strength",
        "tie",
        "time",
    )

    def __init__(
        self, steps: Steps, scan: Ints, stop: Ints, left: int, *, tie_to_longer: bool, phi: int | None
    ) -> None:
        self.steps = steps
        self.row: list[int] = scan.tolist()
        self.stop: list[int] = stop[scan].tolist()
        self.left = left
        self.later = list(accumulate(range(len(scan)), lambda mask, _: mask << 1 | 1, initial=0))
        self.tie = tie_to_longer
        self.shared = phi == 1
        self.stack: list[int] = []
        self.levels = _FIRST_LEVELS
        self.asked: list[tuple[float, float, int]] = []
        at = np.minimum(stop[scan], np.maximum(steps.stops[scan] - 1, 0))
        now, more, future = (array[scan, at].astype(np.float64) for array in (steps.now, steps.more, steps.future))
        idle = at == 0
        growth = np.divide(more, now, out=np.full(len(scan), np.nan), where=~idle)
        strength = np.where(future == UNBOUNDED, -np.inf, np.nan)
        np.divide(2 * future - now, 2 * future - more, out=strength, where=2 * future > more)
        self.growth: list[float] = growth.tolist()
        self.strength: list[float] = strength.tolist()
        self.time: list[int] = np.where(idle, steps.alone[scan], steps.time[scan, at]).tolist()

    def replaced(self, candidate: int, scanned: int) -> bool:
        """Return whether ``scanned`` replaces ``candidate``, in whole numbers.

        Of two jobs without a GPU the one that is shorter on one GPU wins, the later scanned if they are equally long.
        Of jobs with equal remaining times the candidate counts as the one that finishes earlier.
        """
        steps, old, new = self.steps, self.row[candidate], self.row[scanned]
        at, there = self.stop[candidate], self.stop[scanned]
        if not at and not there:
            return steps.alone.item(new) <= steps.alone.item(old)
        swapped = steps.time.item(new, there) < steps.time.item(old, at)
        if swapped:
            old, at, new, there = new, there, old, at
        now, more, future = steps.now.item, steps.more.item, steps.future.item
        tie = self.tie
        return swapped != longer_wins(
            now(old, at), more(old, at), now(new, there), more(new, there), future(new, there), tie=tie
        )

    def run(self) -> None:
        """Climb until no job can, or fewer GPUs are left than the largest step takes."""
        candidate, resumes, wins = -1, 0, _FIRST_STRETCH
        enough = int(self.steps.gpus.max(initial=1))
        while self.left >= enough:
            sets = self._contenders()
            if candidate < 0:
                candidate = len(self.row) - sets.grown[0].bit_length()
                resumes = candidate + 1
            if not sets.grown[0]:
                return
            candidate, resumes = self._stretch(sets, candidate, resumes, wins, enough)
            self.levels = sets.better_levels(self.levels)
            wins = max(_FIRST_STRETCH, len(self.row))

    def finish(self) -> None:
        """Climb on by plain scans over the jobs whose next step still fits, until none does."""
        last, costs = self.steps.stops[self.row].tolist(), self.steps.gpus.tolist()
        while self.left > 0:
            best = -1
            for place, at in enumerate(self.stop):
                if at == last[place] or costs[at] > self.left:
                    continue
                if best < 0 or self.replaced(best, place):
                    best = place
            if best < 0:
                return
            self.left -= costs[self.stop[best]]
            self.stop[best] += 1

    def _contenders(self) -> Contenders:
        """Return the sets of the present state, with levels where candidates were asked about of late."""
        stop = np.array(self.stop)
        standing = Standing(
            growth=np.array(self.growth),
            strength=np.array(self.strength),
            time=np.array(self.time),
            idle=stop == 0,
            climbing=stop < self.steps.stops[self.row],
        )
        sets = Contenders.of(standing, self.asked, self.levels, shared=self.shared)
        self.asked.clear()
        return sets

    def _stretch(self, sets: Contenders, candidate: int, resumes: int, wins: int, enough: int) -> tuple[int, int]:
        """Let ``wins`` jobs climb; return the candidate, and the place where the scan resumes.

        Each round of the loop looks for the first job at or after ``resumes`` that replaces the candidate.
        """
        growth, strength, time, stack, n = self.growth, self.strength, self.time, self.stack, len(self.row)
        grown, strong, brief, idle = sets.grown, sets.strong, sets.brief, sets.idle
        asks_grown, asks_strong, asks_brief = sets.asks_grown, sets.asks_strong, sets.asks_brief
        step, replaced, asked = _stepper(self, sets), self.replaced, self.asked
        in_strong, shared, early, late = sets.in_strong, sets.shared, 0, 0
        later = self.later  # later[i]: the last i jobs
        rest = later[n - resumes]
        while True:
            ends, gain, force = time[candidate], growth[candidate], strength[candidate]
            found = grown[asks_grown[candidate]] & rest
            if gain != gain:  # it has no GPU: another without any wins by its time on one
                found = found & ~idle[0] | brief[asks_brief[candidate]] & idle[0] & rest
            elif not shared:
                found = found & brief[asks_brief[candidate]] | strong[asks_strong[candidate]] & rest
            elif found:  # whoever is strong enough has grown enough
                found &= brief[asks_brief[candidate]] | strong[asks_strong[candidate]]
            while found:
                length = found.bit_length()
                place = n - length
                lead = growth[place] - force if time[place] < ends else strength[place] - gain
                if lead > 0 or (not lead < 0 and replaced(candidate, place)):
                    break
                found &= later[length - 1]
                if time[place] < ends or in_strong[place] >= asks_strong[candidate]:
                    early += 1
                else:
                    late += 1
            if found:
                stack.append(candidate)
                candidate = place
                rest = later[length - 1]
                continue
            step(candidate)
            wins -= 1
            resumes = candidate
            if stack:
                candidate = stack.pop()
            else:
                candidate = n - grown[0].bit_length()
                resumes = candidate + 1
            if not wins or self.left < enough or candidate == n or early + late > _MOST_WRONG:
                sets.wrong[:] = early, late
                return candidate, resumes
            rest = later[n - resumes]
            if not wins % 4:
                asked.append((growth[candidate], strength[candidate], time[candidate]))


def _stepper(climb: Climb, sets: Contenders) -> Callable[[int], None]:
    """Return the function that moves a job to its next stop, and into the sets it belongs to there."""
    steps, row, stop = climb.steps, climb.row, climb.stop
    growth, strength, time = climb.growth, climb.strength, climb.time
    now_at, more_at, future_at, time_at = steps.now.data, steps.more.data, steps.future.data, steps.time.data
    costs, last, top = steps.gpus.tolist(), steps.stops[row].tolist(), len(row) - 1
    growth_levels, strength_levels, time_levels = sets.growth_levels, sets.strength_levels, sets.time_levels
    grown, strong, brief, idle, shared = sets.grown, sets.strong, sets.brief, sets.idle, sets.shared
    in_grown, in_strong, in_brief = sets.in_grown, sets.in_strong, sets.in_brief
    asks_grown, asks_strong, asks_brief = sets.asks_grown, sets.asks_strong, sets.asks_brief

    def step(place: int) -> None:
        at = stop[place]
        climb.left -= costs[at]
        stop[place] = at = at + 1
        bit = 1 << (top - place)
        if at == 1:
            idle[0] ^= bit
        if at == last[place]:
            _leave(sets, place, bit)
            return
        job = row[place]
        now, more = now_at[job, at], more_at[job, at]
        growth[place] = gain = more / now
        strength[place] = force = (2 * more - now) / more if shared else _strength(now, more, future_at[job, at])
        time[place] = rest = time_at[job, at]
        was = in_grown[place]
        in_grown[place] = new = bisect_right(growth_levels, gain)
        for level in range(new + 1, was + 1) if new < was else range(was + 1, new + 1):
            grown[level] ^= bit
        was = in_brief[place]
        in_brief[place] = new = bisect_right(time_levels, rest)
        for level in range(new, was) if new < was else range(was, new):
            brief[level] ^= bit
        asks_brief[place] = new - 1 if new and time_levels[new - 1] == rest else new
        asks_grown[place] = bisect_right(growth_levels, force) if force == force else 0
        asks_strong[place] = bisect_right(strength_levels, gain)
        if not shared:
            was = in_strong[place]
            in_strong[place] = new = bisect_right(strength_levels, force)  # not a number: every level
            for level in range(new + 1, was + 1) if new < was else range(was + 1, new + 1):
                strong[level] ^= bit

    return step


def _leave(sets: Contenders, place: int, bit: int) -> None:
    """Take a job that is at its last stop out of all sets."""
    for level in range(sets.in_grown[place] + 1):
        sets.grown[level] ^= bit
    for level in range(sets.in_brief[place], len(sets.brief)):
        sets.brief[level] ^= bit
    if not sets.shared:
        for level in range(sets.in_strong[place] + 1):
            sets.strong[level] ^= bit


def _strength(now: int, more: int, future: int) -> float:
    """Return the growth a shorter job must have to win, not a number where whole numbers have to decide."""
    if future == UNBOUNDED:
        return -math.inf
    below = 2 * future - more
    return (2 * future - now) / below if below > 0 else math.nan
