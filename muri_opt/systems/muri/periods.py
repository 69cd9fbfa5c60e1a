"""Periods of many groups of different sizes, from the stage times of the jobs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.memoise import recalled
from muri_opt.rounds.quantities import MICROSECONDS_PER_SECOND
from muri_opt.systems.muri.interleaving import group_periods

Group = tuple[int, ...]


def stage_times(jobs: Sequence[Job]) -> Ints:
    """Return stage times in microseconds, a row per job; a job without them, or with another number, is refused."""
    rows = [job.stage_seconds for job in jobs]
    if None in rows or len({len(row or ()) for row in rows}) > 1 or any(job.gpus < 1 for job in jobs):
        _refuse(jobs)
    seconds = np.array(rows, dtype=np.float64).reshape(len(rows), len(rows[0] or ()) if rows else 0)
    return np.rint(seconds * MICROSECONDS_PER_SECOND).astype(np.int64)  # halves to even, as round() does


@recalled
def stages_in(round_: Round) -> Ints:
    """Return the stage times of all jobs of a round."""
    return stage_times(round_.jobs)


def _refuse(jobs: Sequence[Job]) -> None:
    """Refuse the first job that cannot be interleaved with those before it, and name the field."""
    for position, job in enumerate(jobs):
        where = f"jobs[{position}] ({job.id!r})"
        if job.gpus < 1:
            raise InputError(f"{where}.gpus", str(job.gpus), "at least 1 to share GPUs")
        if job.stage_seconds is None:
            raise InputError(f"{where}.stage_seconds", "nothing", "a time per stage to interleave")
        stages, first = len(job.stage_seconds), len(jobs[0].stage_seconds or ())
        if stages != first:
            raise InputError(f"{where}.stage_seconds", f"{stages} times", f"{first}, as the first job")


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
