"""How long jobs take with every number of GPUs, how fast they are, and which deadlines they can keep."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.kept_by_object import KeptByObject
from muri_opt.rounds.memoise import last_recalled, recalled
from muri_opt.rounds.quantities import microseconds
from muri_opt.systems.curves import Table, iteration_unit, scaling_table

THOUSANDTHS = 1000
MOST_ROUNDS = 4
"""Times of so many rounds of one moment are remembered: those that a decision leads to have most jobs in common."""
MOST_TABLES = 10 << 10
"""Tables that are remembered from round to round: the jobs of a large round, at about a kilobyte each."""


class JobTimes(NamedTuple):
    """One job with each number of GPUs that it may have: ``rate[i]`` is how fast it works off what is left of it.

    ``work`` are the microseconds that it takes at a rate of 1; 0 where no deadline lies ahead: nobody asks then.
    ``unit`` are those of one iteration, ``None`` for a gang of fixed size. ``speed`` is in thousandths of that on one
    GPU, and of a gang a thousand for each of its GPUs. ``spare`` are the microseconds until the deadline, ``None`` for
    a job without one; below 0 it has passed. ``restart`` is lost when a running job does not stay as it is.
    """

    sizes: Sequence[int]
    rate: Ints
    speed: Ints
    work: int
    unit: int | None
    spare: int | None
    restart: int

    def in_time(self, size: int, *, stays: bool) -> bool:
        """Return whether the job is done by its deadline if it has its ``size``-th number of GPUs from now on."""
        if self.spare is None or self.spare < 0:
            return False
        return self.work // int(self.rate[size]) + (0 if stays else self.restart) <= self.spare

    def can_wait(self, interval: int) -> bool:
        """Return whether the job could start so many microseconds later, alone, and still be done by its deadline."""
        if self.spare is None or self.spare < 0:
            return False
        return interval + self.restart + self.work // int(self.rate.max(initial=1)) <= self.spare


_TABLES: Final = KeptByObject[tuple[Table, Sequence[int], Ints, Ints]]()
"""The tables of jobs, which keep them from round to round."""


@recalled
def job_times(round_: Round) -> tuple[JobTimes, ...]:
    """Return the times of all jobs of a round; refuse one whose deadline lies ahead and whose length nobody knows."""
    total, now = round_.cluster.total_gpus, microseconds(round_.now)
    known, found = _known(now, total), []
    _TABLES.expect(len(round_.jobs))
    if len(known) > MOST_ROUNDS * len(round_.jobs):
        known.clear()
    for position, job in enumerate(round_.jobs):
        mine = known.get(id(job))
        if mine is None:
            try:
                mine = known[id(job)] = job, _times(job, now, total)
            except InputError as error:
                raise error.inside(f"jobs[{position}] ({job.id!r})") from None
        found.append(mine[1])
    return tuple(found)


def check_times(round_: Round) -> None:
    """Refuse the first job whose times nobody knows; what is remembered of other rounds stays as it is."""
    for position, job in enumerate(round_.jobs):
        try:
            _times(job, microseconds(round_.now), round_.cluster.total_gpus)
        except InputError as error:
            raise error.inside(f"jobs[{position}] ({job.id!r})") from None


@last_recalled
def _known(now: int, total: int) -> dict[int, tuple[Job, JobTimes]]:  # noqa: ARG001 - one for each moment
    """Return the times that are known at a moment, with their jobs, which must not go: their ids would be others'."""
    return {}


def _times(job: Job, now: int, total: int) -> JobTimes:
    if job.gpus < 1:
        raise InputError("gpus", "0", "at least 1: CPUs and memory are counted per GPU")
    spare = None if job.deadline is None else microseconds(job.deadline) - now
    restart = microseconds(job.restart_seconds or 0.0) if job.state == "running" else 0
    asked = spare is not None and spare >= 0
    if job.scaling is None:
        sizes, rate, speed = _gang(job.gpus)
        return JobTimes(sizes, rate, speed, _gang_time(job) if asked else 0, None, spare, restart)
    known = _TABLES.get(job.scaling, total)
    if known is None:
        known = _table(tuple(job.scaling.items()), total)
        _TABLES.put(job.scaling, total, known)
    table, sizes, rate, speed = known
    unit = iteration_unit(job.gpus, job.iteration_seconds, table)
    return JobTimes(sizes, rate, speed, _work(job) * unit if asked else 0, unit, spare, restart)


def period_of(job: Job, times: JobTimes, gpus: int) -> float | None:
    """Return the seconds of an iteration of a job with so many GPUs, ``None`` where nobody knows."""
    if times.unit is None:
        return job.iteration_seconds
    return times.unit / (int(times.rate[gpus - 1]) * 1_000_000)


@lru_cache(maxsize=MOST_TABLES)
def _gang(gpus: int) -> tuple[Sequence[int], Ints, Ints]:
    """Return the one number of GPUs of a gang, its rate and its speed."""
    return (gpus,), _fixed([1]), _fixed([THOUSANDTHS * gpus])


@lru_cache(maxsize=MOST_TABLES)
def _table(entries: tuple[tuple[int, float], ...], total: int) -> tuple[Table, Sequence[int], Ints, Ints]:
    """Return a table with the numbers of GPUs that a cluster has for it, their rates, and these in thousandths."""
    table = scaling_table(dict(entries))
    most = min(len(table.speeds) - 1, total)
    rates = table.speeds[1 : most + 1]
    return table, range(1, most + 1), _fixed(rates), _fixed([THOUSANDTHS * rate // table.speeds[1] for rate in rates])


def _fixed(numbers: Sequence[int]) -> Ints:
    array = np.array(numbers, dtype=np.int64)
    array.setflags(write=False)
    return array


def _work(job: Job) -> int:
    if job.remaining_iterations is None:
        raise InputError("remaining_iterations", "nothing", "a number: the deadline of the job lies ahead")
    return job.remaining_iterations


def _gang_time(job: Job) -> int:
    """Return how long a gang of fixed size still takes: by its iterations, or else at most, by its time limit."""
    if job.remaining_iterations is not None and job.iteration_seconds is not None:
        return job.remaining_iterations * microseconds(job.iteration_seconds)
    if job.time_limit_seconds is None:
        allowed = "remaining_iterations with iteration_seconds, or a time_limit_seconds: the deadline lies ahead"
        raise InputError("remaining_iterations", "no length of the job", allowed)
    ran = microseconds(job.executed_seconds or 0.0) if job.state == "running" else 0
    return max(0, microseconds(job.time_limit_seconds) - ran)
