"""How far the jobs have climbed while the greedy hands out GPUs, and the pair rule between two of them."""

from __future__ import annotations

from math import inf, nan

import numpy as np

from muri_opt.systems.afs.bitset_candidates import Numbers
from muri_opt.systems.afs.pair_rule import UNBOUNDED, longer_wins
from muri_opt.systems.afs.share_steps import Steps
from muri_opt.systems.curves import Ints


class GreedyState:
    """The jobs by place, the number of jobs scanned after them, and the GPUs ``left``.

    The job at a place is ``row[place]`` of ``steps``; it has reached ``stop[place]`` of its stops and ends its climb at
    ``last[place]``. ``numbers`` are what the pair rule compares there. Growth and strength are correctly rounded
    quotients of whole numbers, and rounding keeps order: where two of them differ, the exact ones do so likewise.
    """

    __slots__ = (
        "_costs",
        "_first",
        "_future_is_more",
        "_tables",
        "_tie",
        "last",
        "left",
        "numbers",
        "row",
        "steps",
        "stop",
    )

    def __init__(self, steps: Steps, scan: Ints, stop: Ints, left: int, *, tie_to_longer: bool) -> None:
        row = scan[::-1]
        self.steps = steps
        self.row: list[int] = row.tolist()
        self.stop: list[int] = stop[row].tolist()
        self.last: list[int] = steps.stops[row].tolist()
        self.left = left
        self._costs: list[int] = steps.gpus.tolist()
        self._first = len(row) - 1
        self._tie = tie_to_longer
        self._future_is_more = steps.future is steps.more
        self._tables = steps.now.data, steps.more.data, steps.future.data, steps.time.data
        at = np.minimum(stop[row], np.maximum(steps.stops[row] - 1, 0))
        now, more, future = (array[row, at].astype(np.float64) for array in (steps.now, steps.more, steps.future))
        growth = np.divide(more, now, out=np.full(len(row), np.nan), where=at > 0)
        strength = np.where(future == UNBOUNDED, -np.inf, np.nan)
        np.divide(2 * future - now, 2 * future - more, out=strength, where=2 * future > more)
        time = np.where(at == 0, steps.alone[row], steps.time[row, at])
        self.numbers = Numbers(growth=growth.tolist(), strength=strength.tolist(), brevity=(-time).tolist())

    def first(self) -> int:
        """Return the place of the first job scanned that still climbs, -1 if there is none."""
        while self._first >= 0 and self.stop[self._first] == self.last[self._first]:
            self._first -= 1  # for good: no job climbs again
        return self._first

    def replaces(self, scanned: int, candidate: int) -> bool:
        """Return whether the job at place ``scanned`` replaces the candidate, in whole numbers.

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
        return swapped != longer_wins(
            now(old, at), more(old, at), now(new, there), more(new, there), future(new, there), tie=self._tie
        )

    def advance(self, place: int) -> bool:
        """Give a job the GPUs of its next stop; return whether it can climb on from there."""
        at = self.stop[place]
        self.left -= self._costs[at]
        self.stop[place] = at = at + 1
        if at == self.last[place]:
            return False
        job, numbers = self.row[place], self.numbers
        now_at, more_at, future_at, time_at = self._tables
        now, more = now_at[job, at], more_at[job, at]
        future = more if self._future_is_more else future_at[job, at]
        below = 2 * future - more
        numbers.growth[place] = more / now
        numbers.strength[place] = (2 * future - now) / below if below > 0 else nan if future != UNBOUNDED else -inf
        numbers.brevity[place] = -time_at[job, at]
        return True

    def finish(self) -> None:
        """Climb on by plain scans over the jobs whose next step still fits, until none does."""
        while self.left > 0:
            best = -1
            for place in reversed(range(len(self.row))):
                at = self.stop[place]
                if at == self.last[place] or self._costs[at] > self.left:
                    continue
                if best < 0 or self.replaces(place, best):
                    best = place
            if best < 0:
                return
            self.advance(best)
