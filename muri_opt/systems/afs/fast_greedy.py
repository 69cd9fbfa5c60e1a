"""The greedy's climb: GPUs one by one to the winner of a scan, each scan resumed where the last one changed.

A scan keeps a candidate and lets every job it meets replace it. After its winner has climbed one stop, nothing before
the winner's place has changed: the candidates before it stand, as a stack, and the scan resumes at the winner's place
with the candidate that it had replaced. A climb takes one candidate off the stack, so all scans together put no more
on it than there are climbs and jobs. What remains is to find the next job that replaces a candidate.

Most scans resume near their end. :class:`Contenders` finds the next job among those of this tail, all at once; the few
scans that resume before the tail walk to it job by job. Shares equal those of the plain scan, comparison by comparison.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from typing import Final

import numpy as np

from muri_opt.systems.afs.bitset_candidates import Contenders, Standing
from muri_opt.systems.afs.curves import Ints
from muri_opt.systems.afs.pair_rule import UNBOUNDED, longer_wins
from muri_opt.systems.afs.share_steps import Steps

_FIRST_LEVELS: Final = (40, 32)
_FIRST_STRETCH: Final = 256
"""Winners after which levels are first chosen anew, from what was asked; later stretches are longer."""
_LONG_STRETCH: Final = 2048
_MOST_WRONG: Final = 10_000
"""Jobs found in vain after which levels are chosen anew at once."""
_LEAST_TAIL: Final = 512
"""A shorter tail would hardly be faster: most of what an operation on so few bits takes is its call."""
_MOST_WALKED: Final = 2
"""How often as many jobs as there are may be walked past before the tail is made longer."""
_RECENT: Final = 256
"""How many of the last questions count when levels and tail are chosen; every fourth is noted."""


class Climb:
    """One run of the greedy.

    A job goes by its place, how many jobs are scanned after it: the tail is the lowest places. ``stop[place]`` is the
    stop that a job has reached, ``last[place]`` where its climb ends.
    """

    __slots__ = (
        "asked",
        "first",
        "growth",
        "last",
        "later",
        "left",
        "levels",
        "resumed",
        "row",
        "shared",
        "stack",
        "steps",
        "stop",
        "strength",
        "tail",
        "tie",
        "time",
        "walked",
    )

    def __init__(
        self, steps: Steps, scan: Ints, stop: Ints, left: int, *, tie_to_longer: bool, phi: int | None
    ) -> None:
        row = scan[::-1]
        self.steps = steps
        self.row: list[int] = row.tolist()
        self.stop: list[int] = stop[row].tolist()
        self.last: list[int] = steps.stops[row].tolist()
        self.first = len(row) - 1
        self.left = left
        self.tie = tie_to_longer
        self.shared = phi == 1
        self.stack: list[int] = []
        self.levels = _FIRST_LEVELS
        self.tail = min(len(row), _LEAST_TAIL)
        self.later = [0]  # later[i]: the last i jobs
        self.walked = 0
        self.asked: deque[tuple[float, float, int]] = deque(maxlen=_RECENT)
        self.resumed: deque[int] = deque(maxlen=_RECENT)
        at = np.minimum(stop[row], np.maximum(steps.stops[row] - 1, 0))
        now, more, future = (array[row, at].astype(np.float64) for array in (steps.now, steps.more, steps.future))
        idle = at == 0
        growth = np.divide(more, now, out=np.full(len(row), np.nan), where=~idle)
        strength = np.where(future == UNBOUNDED, -np.inf, np.nan)
        np.divide(2 * future - now, 2 * future - more, out=strength, where=2 * future > more)
        self.growth: list[float] = growth.tolist()
        self.strength: list[float] = strength.tolist()
        self.time: list[int] = np.where(idle, steps.alone[row], steps.time[row, at]).tolist()

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
        wins, enough = _FIRST_STRETCH, int(self.steps.gpus.max(initial=1))
        candidate = ahead = self._first()
        while self.left >= enough and candidate >= 0:
            if ahead > self.tail:
                candidate, ahead = self._walk(candidate, ahead), self.tail
            self.walked = 0
            sets = self._contenders()
            candidate, ahead = self._stretch(sets, candidate, ahead, wins, enough)
            self.levels = sets.better_levels(self.levels)
            self.tail = self._better_tail(ahead)
            wins = max(min(2 * wins, _LONG_STRETCH), self.tail)

    def finish(self) -> None:
        """Climb on by plain scans over the jobs whose next step still fits, until none does."""
        costs = self.steps.gpus.tolist()
        while self.left > 0:
            best = -1
            for place in reversed(range(len(self.row))):
                at = self.stop[place]
                if at == self.last[place] or costs[at] > self.left:
                    continue
                if best < 0 or self.replaced(best, place):
                    best = place
            if best < 0:
                return
            self.left -= costs[self.stop[best]]
            self.stop[best] += 1

    def _first(self) -> int:
        """Return the place of the first job scanned that still climbs, -1 if there is none."""
        while self.first >= 0 and self.stop[self.first] == self.last[self.first]:
            self.first -= 1  # for good: no job climbs again
        return self.first

    def _walk(self, candidate: int, ahead: int) -> int:
        """Scan on job by job, from the place below ``ahead`` to the tail; return the candidate there."""
        self.walked += ahead - self.tail
        growth, strength, time, stop, last = self.growth, self.strength, self.time, self.stop, self.last
        ends, gain, force = time[candidate], growth[candidate], strength[candidate]
        for place in range(ahead - 1, self.tail - 1, -1):
            lead = growth[place] - force if time[place] < ends else strength[place] - gain
            if lead < 0 or stop[place] == last[place]:
                continue
            if lead > 0 or self.replaced(candidate, place):
                self.stack.append(candidate)
                candidate = place
                ends, gain, force = time[candidate], growth[candidate], strength[candidate]
        return candidate

    def _better_tail(self, ahead: int) -> int:
        """Return the length of a tail twice as long as what nine in ten scans had ahead, so that few have to walk."""
        resumed = sorted((ahead, *self.resumed))
        least = 2 * self.tail if self.walked > _MOST_WALKED * len(self.row) else _LEAST_TAIL
        return min(len(self.row), max(least, 2 * resumed[len(resumed) * 9 // 10]))

    def _contenders(self) -> Contenders:
        """Return the sets of the present state, with levels where candidates were asked about of late."""
        tail = slice(self.tail)
        stop = np.array(self.stop[tail])
        standing = Standing(
            growth=np.array(self.growth[tail]),
            strength=np.array(self.strength[tail]),
            time=np.array(self.time[tail]),
            idle=stop == 0,
            climbing=stop < np.array(self.last[tail]),
        )
        self.later += [(1 << i) - 1 for i in range(len(self.later), self.tail + 1)]
        return Contenders.of(standing, self.asked, self.levels, shared=self.shared)

    def _stretch(self, sets: Contenders, candidate: int, ahead: int, wins: int, enough: int) -> tuple[int, int]:
        """Let ``wins`` jobs climb; return the candidate, and how many jobs the scan has ahead of it.

        Each round of the loop looks for the first job of those ``ahead`` that replaces the candidate.
        """
        growth, strength, time, stack, tail = self.growth, self.strength, self.time, self.stack, self.tail
        grown, strong, brief, in_strong = sets.grown, sets.strong, sets.brief, sets.in_strong
        asks_grown, asks_strong, asks_brief = sets.asks_grown, sets.asks_strong, sets.asks_brief
        step, replaced, later = _stepper(self, sets), self.replaced, self.later
        common, most_walked, wrong, late = tail if sets.shared else 0, _MOST_WALKED * len(self.row), 0, 0
        while True:
            ends, gain, force = time[candidate], growth[candidate], strength[candidate]
            if candidate < common and gain == gain:
                found = grown[asks_grown[candidate]] & later[ahead]
                if found:  # whoever is strong enough has grown enough
                    reach = asks_strong[candidate]
                    found &= brief[asks_brief[candidate]] | strong[reach]
            else:
                found, reach = sets.rivals(gain, force, ends)
                found &= later[ahead]
            while found:
                place = found.bit_length() - 1
                lead = growth[place] - force if time[place] < ends else strength[place] - gain
                if lead > 0 or (not lead < 0 and replaced(candidate, place)):
                    break
                found &= later[place]
                wrong += 1
                if time[place] >= ends and in_strong[place] < reach:
                    late += 1
            if found:
                stack.append(candidate)
                candidate = ahead = place
                continue
            step(candidate)
            wins -= 1
            if stack:
                ahead = candidate + 1
                candidate = stack.pop()
            else:
                candidate = ahead = self._first()
            if not wins or self.left < enough or wrong > _MOST_WRONG or candidate < 0 or self.walked > most_walked:
                sets.wrong[:] = wrong - late, late
                return candidate, ahead
            if ahead > tail:
                candidate, ahead = self._walk(candidate, ahead), tail
            if not wins % 4:
                self.asked.append((growth[candidate], strength[candidate], time[candidate]))
                self.resumed.append(ahead)


def _stepper(climb: Climb, sets: Contenders) -> Callable[[int], None]:
    """Return the function that moves a job to its next stop, and into the sets it belongs to there."""
    steps, row, stop = climb.steps, climb.row, climb.stop
    growth, strength, time = climb.growth, climb.strength, climb.time
    now_at, more_at, future_at, time_at = steps.now.data, steps.more.data, steps.future.data, steps.time.data
    costs, last, tail = steps.gpus.tolist(), climb.last, climb.tail
    growth_levels, strength_levels, time_levels = sets.growth_levels, sets.strength_levels, sets.time_levels
    grown, strong, brief, idle, shared = sets.grown, sets.strong, sets.brief, sets.idle, sets.shared
    asks_grown, asks_strong, asks_brief = sets.asks_grown, sets.asks_strong, sets.asks_brief
    in_grown, in_strong, in_brief = sets.in_grown, sets.in_strong, sets.in_brief

    def step(place: int) -> None:
        at = stop[place]
        climb.left -= costs[at]
        stop[place] = at = at + 1
        bit = 1 << place
        if at == 1 and place < tail:
            idle[0] ^= bit
        if at == last[place]:
            if place < tail:
                _leave(sets, place, bit)
            return
        job = row[place]
        now, more = now_at[job, at], more_at[job, at]
        growth[place] = gain = more / now
        strength[place] = force = (2 * more - now) / more if shared else _strength(now, more, future_at[job, at])
        time[place] = rest = time_at[job, at]
        if place >= tail:
            return
        was = in_grown[place]
        in_grown[place] = new = bisect_right(growth_levels, gain)
        for level in range(new + 1, was + 1) if new < was else range(was + 1, new + 1):
            grown[level] ^= bit
        was = in_brief[place]
        in_brief[place] = new = bisect_right(time_levels, rest)
        for level in range(new, was) if new < was else range(was, new):
            brief[level] ^= bit
        if shared:
            asks_brief[place] = new - 1 if new and time_levels[new - 1] == rest else new
            asks_grown[place] = bisect_right(growth_levels, force)
            asks_strong[place] = bisect_right(strength_levels, gain)
        else:
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
