"""The jobs of the elastic optimum in exact numbers: speeds, work, arrivals, and which jobs may be alive together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Any

import numpy as np

from muri_opt.errors import InputError

Alive = tuple[int, int]
"""A period and the jobs alive in it, as bits: who has arrived and not finished."""
ARRIVAL = -1
"""The event 'the next jobs arrive'; other events are the job that finishes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ElasticJobs:
    """Jobs scaled to whole numbers: time is work over speed, so a job's speeds and work may grow by one factor."""

    gpus: int
    speed: tuple[tuple[int, ...], ...]
    """Without a common divisor, from 0 GPUs to the cap: jobs that scale alike have equal rows."""
    work: tuple[Fraction, ...]
    scale: tuple[Fraction, ...]
    """Factor by which speeds and work of each job were multiplied."""
    arrival: tuple[int, ...]
    """Period in which each job arrives."""
    times: tuple[Fraction, ...]
    """When each period begins: the different moments at which jobs arrive. The last one never ends."""

    @staticmethod
    def of(speed: Any, cap: Any, work: Any, gpus: int, arrivals: Any = None) -> ElasticJobs:
        """Return the jobs of the arrays, every number taken at its exact value."""
        rows = [_exact(row, f"speed[{j}]") for j, row in enumerate(speed)]
        caps, left = [int(most) for most in cap], _exact(work, "work")
        begun = [Fraction(0)] * len(rows) if arrivals is None else _exact(arrivals, "arrivals")
        if not len(rows) == len(caps) == len(left) == len(begun) or not rows:
            found = f"{len(rows)} speeds, {len(caps)} caps, {len(left)} works, {len(begun)} arrivals"
            raise InputError("speed, cap, work, arrivals", found, "one or more jobs, the same number everywhere")
        if gpus < 1:
            raise InputError("gpus", str(gpus), "at least 1")
        kept = []
        for j, (row, most) in enumerate(zip(rows, caps, strict=True)):
            usable = row[: min(most, gpus) + 1]
            if not 1 <= most < len(row) or usable[0] != 0 or max(usable) <= 0:
                found = f"cap {most} and {len(row)} speeds"
                raise InputError(f"speed[{j}]", found, "speed 0 without GPUs, and more than 0 within the cap")
            kept.append(usable)
        scale = [_scale(row) for row in kept]
        times = tuple(sorted(set(begun)))
        return ElasticJobs(
            gpus=gpus,
            speed=tuple(tuple(int(p * by) for p in row) for row, by in zip(kept, scale, strict=True)),
            work=tuple(w * by for w, by in zip(left, scale, strict=True)),
            scale=tuple(scale),
            arrival=tuple(times.index(moment) for moment in begun),
            times=times,
        )

    @property
    def count(self) -> int:
        """Return the number of jobs."""
        return len(self.work)

    @property
    def lengths(self) -> tuple[Fraction, ...]:
        """Return the length of every period but the last."""
        return tuple(b - a for a, b in zip(self.times, self.times[1:], strict=False))

    def arrived(self, period: int) -> int:
        """Return the jobs that have arrived in a period, as bits."""
        return sum(1 << j for j, began in enumerate(self.arrival) if began <= period)

    def later(self) -> tuple[int, ...]:
        """Return for every job those that finish after it in some optimum, as bits.

        Of two jobs that scale alike, the one with no more work that arrives no later may finish first: at the moment
        their remaining work is equal, they can exchange all they get from then on. Equal jobs go by position.
        """
        masks = []
        for i in range(self.count):
            mine = (self.work[i], self.arrival[i])
            mask = 0
            for j in range(self.count):
                theirs = (self.work[j], self.arrival[j])
                alike = self.speed[i] == self.speed[j] and mine[0] <= theirs[0] and mine[1] <= theirs[1]
                if i != j and alike and (mine != theirs or i < j):
                    mask |= 1 << j
            masks.append(mask)
        return tuple(masks)


def alive_sets(jobs: ElasticJobs, later: Sequence[int], events: Sequence[int]) -> list[Alive]:
    """Return the periods and alive jobs a schedule can pass through that begins with the events.

    First those it must pass through, one after another, then any that may follow.
    """
    period, finished = 0, 0
    path = [(0, jobs.arrived(0))]
    for event in events:
        period, finished = (period + 1, finished) if event == ARRIVAL else (period, finished | 1 << event)
        path.append((period, jobs.arrived(period) & ~finished))
    known = set(path)
    for ahead in range(period, len(jobs.times)):
        there = jobs.arrived(ahead)
        rest = there & ~finished
        subset = rest
        while True:
            idle_for_ever = subset == 0 and ahead == len(jobs.times) - 1
            if not idle_for_ever and (ahead, subset) not in known and _keeps_order(subset, there, later):
                path.append((ahead, subset))
            if subset == 0:
                break
            subset = (subset - 1) & rest
    return path


def next_events(jobs: ElasticJobs, later: Sequence[int], events: Sequence[int]) -> list[int]:
    """Return what may happen next after the events: the next arrival, or the end of an alive job."""
    period = events.count(ARRIVAL)
    alive = jobs.arrived(period) & ~sum(1 << event for event in events if event != ARRIVAL)
    follow = [
        j
        for j in range(jobs.count)
        if alive >> j & 1 and not any(alive >> i & 1 and later[i] >> j & 1 for i in range(jobs.count))
    ]
    return follow if period == len(jobs.times) - 1 else [ARRIVAL, *follow]


def _keeps_order(subset: int, arrived: int, later: Sequence[int]) -> bool:
    return all(later[i] & arrived & ~subset == 0 for i in range(len(later)) if subset >> i & 1)


def _exact(values: Any, name: str) -> list[Fraction]:
    numbers = [value.item() if isinstance(value, np.generic) else value for value in values]
    try:
        exact = [Fraction(number) for number in numbers]
    except (TypeError, ValueError, OverflowError):
        raise InputError(name, repr(numbers), "finite numbers of at least 0") from None
    if min(exact, default=Fraction(0)) < 0:
        raise InputError(name, repr(numbers), "finite numbers of at least 0")
    return exact


def _scale(row: Sequence[Fraction]) -> Fraction:
    """Return the factor that makes the numbers whole without a common divisor."""
    common = lcm(*(p.denominator for p in row))
    return Fraction(common, gcd(*(int(p * common) for p in row)))
