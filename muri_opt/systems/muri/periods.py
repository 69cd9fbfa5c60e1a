"""Periods of many groups of different sizes, from the stage times of the jobs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from muri_opt.errors import InputError
from muri_opt.rounds import Job
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.quantities import microseconds
from muri_opt.systems.muri.interleaving import group_periods

Group = tuple[int, ...]


def stage_times(jobs: Sequence[Job]) -> Ints:
    """Return stage times in microseconds, a row per job; a job without them, or with another number, is refused."""
    rows = []
    for position, job in enumerate(jobs):
        if job.gpus < 1:
            raise InputError(f"jobs[{position}] ({job.id!r}).gpus", str(job.gpus), "at least 1 to share GPUs")
        if job.stage_seconds is None:
            raise InputError(
                f"jobs[{position}] ({job.id!r}).stage_seconds", "nothing", "a time per stage to interleave"
            )
        rows.append([microseconds(seconds) for seconds in job.stage_seconds])
        if len(rows[-1]) != len(rows[0]):
            found = f"{len(rows[-1])} times"
            raise InputError(f"jobs[{position}] ({job.id!r}).stage_seconds", found, f"{len(rows[0])}, as the first job")
    return np.array(rows, dtype=np.int64).reshape(len(rows), len(rows[0]) if rows else 0)


def periods_of(
    stages: Ints, groups: Sequence[Group], pattern: str, *, worst: bool = False
) -> tuple[list[int], list[tuple[int, ...]]]:
    """Return the period of each group in microseconds and the order that reaches it: the best, or the worst."""
    periods = [0] * len(groups)
    orders: list[tuple[int, ...]] = [()] * len(groups)
    for size in sorted(set(map(len, groups))):
        at = [place for place, group in enumerate(groups) if len(group) == size]
        found = group_periods(stages[np.array([groups[place] for place in at])], pattern, worst=worst)
        for place, period, order in zip(at, found.microseconds.tolist(), found.orders.tolist(), strict=True):
            periods[place], orders[place] = period, tuple(order)
    return periods, orders
