"""Every way in which jobs may run, and what each is worth: the table that the heuristic and the program share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.memoise import recalled
from muri_opt.rounds.quantities import microseconds
from muri_opt.systems.capacity import Leftover, held_gpus
from muri_opt.systems.capacity.node_sets import NodeSets, node_sets
from muri_opt.systems.deadline.job_times import JobTimes, job_times

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Choices:
    """Row i: job ``job[i]`` with ``gpus[i]`` GPUs, where it is now if ``home[i]``, else on nodes where it may start.

    Rows are in the order of jobs and GPUs, the one at home last. ``in_time[i]`` says whether the job keeps its deadline
    that way, ``speed[i]`` how fast it is. ``held`` are the GPUs per node of jobs that have a row at home, ``must`` the
    jobs that nobody may stop. ``least[j]`` are the fewest GPUs with which job j starts. ``sets`` says where jobs may
    start, ``None``: anywhere. The rows of job j begin at ``first[j]``.

    >>> round_ = shipped_round("toy/four-deadlines")
    >>> choices = Choices.of(round_, 300.0)
    >>> choices.gpus[choices.in_time]
    array([3, 4, 2, 3, 2])
    """

    job: Ints
    gpus: Ints
    home: Bools
    in_time: Bools
    speed: Ints
    held: dict[int, Ints]
    must: Ints
    least: Ints
    sets: NodeSets | None
    first: Ints

    @classmethod
    def of(cls, round_: Round, interval: float) -> Choices:
        """Return the ways in which the jobs of a round may run, if it is decided again after so many seconds.

        The same round is not gone through again.
        """
        return _choices(round_, interval)

    def of_job(self, job: int) -> range:
        """Return the rows of a job."""
        return range(int(self.first[job]), int(self.first[job + 1]))

    def row_of(self, job: int, share: Ints) -> int:
        """Return the row by which a job has these GPUs per node."""
        rows = self.of_job(job)
        if self.is_home(job, share):
            return rows[-1]
        away = self.gpus[rows.start : rows.stop - (job in self.held)]
        return rows.start + int(np.searchsorted(away, share.sum()))

    def is_home(self, job: int, share: Ints) -> bool:
        """Return whether a job that has these GPUs per node stays as it is."""
        held = self.held.get(job)
        return held is not None and bool((share == held).all())


@recalled
def _choices(round_: Round, interval: float) -> Choices:
    times, sets, span = job_times(round_), node_sets(round_), microseconds(interval)
    rows: list[tuple[int, int, bool, bool, int]] = []
    held: dict[int, Ints] = {}
    for place, (job, mine) in enumerate(zip(round_.jobs, times, strict=True)):
        now = held_gpus(round_, place)
        size = None if now is None else int(now.sum())
        starts = sets is None or bool(sets.of(place).sets)
        for at, gpus in enumerate(mine.sizes) if starts else ():
            if not job.stays or gpus == size:
                rows.append(_row(place, mine, at, span, home=False))
        if now is not None and size in mine.sizes:
            held[place] = now
            rows.append(_row(place, mine, mine.sizes.index(size), span, home=True))
    table = np.array(rows, dtype=np.int64).reshape(-1, 5)
    return Choices(
        job=table[:, 0],
        gpus=table[:, 1],
        home=table[:, 2].astype(np.bool_),
        in_time=table[:, 3].astype(np.bool_),
        speed=table[:, 4],
        held=held,
        must=np.array([place for place, job in enumerate(round_.jobs) if job.stays], dtype=np.int64),
        least=np.array([mine.sizes[0] if mine.sizes else 1 for mine in times], dtype=np.int64),
        sets=sets,
        first=np.searchsorted(table[:, 0], np.arange(len(times) + 1)),
    )


def _row(place: int, mine: JobTimes, at: int, interval: int, *, home: bool) -> tuple[int, int, bool, bool, int]:
    in_time, speed = mine.in_time(at, stays=home), mine.worth(at, interval, stays=home)
    return place, mine.sizes[at], home, in_time, speed


def check_stays(round_: Round, choices: Choices, policy: str) -> None:
    """Refuse a job that nobody may stop and that cannot go on alone with the GPUs it has."""
    left = Leftover(round_)
    for job in choices.must.tolist():
        where = f"jobs[{job}] ({round_.jobs[job].id!r}).preemptible"
        if job not in choices.held:
            has = sum((round_.jobs[job].placement or {}).values())
            found = f"false, for a job that runs with {has} GPUs, which it cannot have"
            raise InputError(
                where, found, f"a job that may be stopped, or that the policy {policy!r} could give as many"
            )
        if (choices.held[job] > left.room(job)).any():
            found = "false, for a job that shares its GPUs with another that may not be stopped"
            raise InputError(where, found, f"a job that may be stopped: under the policy {policy!r} no jobs share GPUs")
        left.take(choices.held[job], job)
