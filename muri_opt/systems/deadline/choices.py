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
from muri_opt.systems.deadline.job_times import job_times

Bools = NDArray[np.bool_]
_LONGEST = 1 << 61
"""Longer than any time until a deadline; a time in which a job is never done is no longer."""


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
    job, gpus, speed, seconds, home = list[int](), list[int](), list[int](), list[int](), list[bool]()
    held: dict[int, Ints] = {}
    for place, (one, mine) in enumerate(zip(round_.jobs, times, strict=True)):
        now = held_gpus(round_, place)
        size = None if now is None else int(now.sum())
        starts = sets is None or bool(sets.of(place).sets)
        at = [*range(len(mine.sizes))] if starts else []
        if one.stays:
            at = [i for i in at if mine.sizes[i] == size]
        away = len(at)
        if now is not None and size in mine.sizes:
            held[place] = now
            at.append(mine.sizes.index(size))
        job += [place] * len(at)
        home += [False] * away + [True] * (len(at) - away)
        gpus += [mine.sizes[i] for i in at]
        speed += [mine.speed[i] for i in at]
        seconds += [min(mine.seconds[i], _LONGEST) for i in at] if mine.seconds else [_LONGEST] * len(at)
    rows, at_home = np.array(job, dtype=np.int64), np.array(home, dtype=np.bool_)
    restart = np.where(at_home, 0, np.array([mine.restart for mine in times], dtype=np.int64)[rows])
    spare = np.array([-1 if mine.spare is None else mine.spare for mine in times], dtype=np.int64)
    return Choices(
        job=rows,
        gpus=np.array(gpus, dtype=np.int64),
        home=at_home,
        in_time=np.array(seconds, dtype=np.int64) + restart <= spare[rows],
        speed=_worth(speed, np.maximum(0, span - restart), span),
        held=held,
        must=np.array([place for place, one in enumerate(round_.jobs) if one.stays], dtype=np.int64),
        least=np.array([mine.sizes[0] if mine.sizes else 1 for mine in times], dtype=np.int64),
        sets=sets,
        first=np.searchsorted(rows, np.arange(len(times) + 1)),
    )


def _worth(speed: list[int], works: Ints, interval: int) -> Ints:
    """Return speeds over an interval of which some jobs work a part only, in whole numbers of any size on the way."""
    word = np.int64 if max(speed, default=0) * interval < _LONGEST else object
    return np.array(np.array(speed, dtype=word) * works.astype(word) // interval, dtype=np.int64)


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
