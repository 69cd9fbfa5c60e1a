"""The verifier's own arithmetic of deadlines: who is in time with which share, and what that is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.afs.curve import Curve
from muri_opt.verify.amounts import micro
from muri_opt.verify.demands import is_lost

Home = Mapping[str, int]
"""GPUs by the name of the node."""
Values = Mapping[str, Mapping[tuple[int, bool], int]]
"""By job, and then by the number of its GPUs and whether it stays as it is: what that is worth."""


def home_of(round_: Round, job: Job) -> Home | None:
    """Return the GPUs that a job has now and may keep; one on a node that is down has none."""
    held = job.placement or {}
    if job.state != "running" or is_lost(round_, job) or sum(held.values()) not in sizes_of(round_, job):
        return None
    return held


def sizes_of(round_: Round, job: Job) -> list[int]:
    """Return the numbers of GPUs that a job may have: those of its table as far as the cluster goes, or all it asks."""
    if job.gpus < 1:
        raise InputError(f"job {job.id!r}.gpus", "0", "at least 1: what goes with a GPU is counted by them")
    if job.scaling is None:
        return [job.gpus]
    total = round_.cluster.total_gpus
    return [gpus for gpus in Curve.of(job).speeds if gpus <= total]


def period_of(job: Job, gpus: int) -> float | None:
    """Return how long one iteration takes."""
    return job.iteration_seconds if job.scaling is None else Curve.of(job).period_seconds(gpus)


@recalled
def values_of(round_: Round, interval: int) -> Values:
    """Return what every way to run is worth, for a round that is decided again after so many microseconds.

    Of every priority there are four numbers, from the most weighty on: jobs in time that could not be if they waited
    until then; jobs in time; the places of those in time in the queue of all with a deadline, counted from its end; and
    the speed of all that run. A number outweighs all that come after it, and a higher priority all lower ones: each has
    a weight above what all numbers of less weight can reach together.
    """
    found: dict[str, dict[tuple[int, bool], int]] = {}
    unit = 1
    for priority in sorted({job.priority for job in round_.jobs}):
        jobs = [_Ahead.of(round_, job, interval) for job in round_.jobs if job.priority == priority]
        dated = [(place, one.job) for place, one in enumerate(jobs) if one.job.deadline is not None]
        line = sorted((job.deadline or 0.0, job.submitted or 0.0, place) for place, job in dated)
        places = {place: len(line) - rank for rank, (_, _, place) in enumerate(line)}
        earliest = unit * (1 + sum(max(one.speeds.values(), default=0) for one in jobs))
        number = earliest * (1 + sum(places.values()))
        saved = number * (1 + len(line))
        for place, one in enumerate(jobs):
            in_time = earliest * places.get(place, 0) + number + (0 if one.can_wait else saved)
            found[one.job.id] = {
                (gpus, stays): unit * one.speed(gpus, stays) + (in_time if one.keeps(gpus, stays) else 0)
                for stays in ((False, True) if one.job.state == "running" else (False,))
                for gpus in one.speeds
            }
        unit = saved * (1 + len(line))
    return found


@dataclass(frozen=True, slots=True)
class _Ahead:
    """A job with what is ahead of it: until its deadline, and with each number of GPUs until it is done."""

    job: Job
    speeds: Mapping[int, int]
    ends: Mapping[int, int]
    left: int
    restart: int
    interval: int

    @classmethod
    def of(cls, round_: Round, job: Job, interval: int) -> _Ahead:
        sizes = sizes_of(round_, job)
        left = -1 if job.deadline is None else micro(job.deadline) - micro(round_.now)
        restart = micro(job.restart_seconds or 0.0) if job.state == "running" else 0
        if job.scaling is None:
            speeds = {job.gpus: 1000 * job.gpus}
            ends = {job.gpus: _length(job)} if left >= 0 else {}
        else:
            curve = Curve.of(job)
            speeds = {gpus: 1000 * curve.speeds[gpus] // curve.speeds[1] for gpus in sizes}
            work = _iterations(job) * curve.unit if left >= 0 else 0
            ends = {gpus: work // curve.speeds[gpus] for gpus in sizes} if left >= 0 else {}
        return cls(job, speeds, ends, left, restart, interval)

    def keeps(self, gpus: int, stays: bool) -> bool:
        """Return whether the job is done in time with so many GPUs from now on."""
        return self.left >= 0 and self.ends[gpus] + (0 if stays else self.restart) <= self.left

    def speed(self, gpus: int, stays: bool) -> int:
        """Return the speed until the round is decided again; while a job restarts it does nothing."""
        idle = 0 if stays else min(self.restart, self.interval)
        return self.speeds[gpus] * (self.interval - idle) // self.interval

    @property
    def can_wait(self) -> bool:
        """Whether it could be in time if it started, with the best of its shares, when the round is decided again."""
        soonest = min(self.ends.values(), default=0)
        return self.left >= 0 and self.interval + self.restart + soonest <= self.left


def _iterations(job: Job) -> int:
    if job.remaining_iterations is None:
        raise InputError(f"job {job.id!r}.remaining_iterations", "nothing", "a number: its deadline is to come")
    return job.remaining_iterations


def _length(job: Job) -> int:
    """Return how long a job of one size takes, in microseconds: as said, or no longer than it may."""
    if job.remaining_iterations is not None and job.iteration_seconds is not None:
        return job.remaining_iterations * micro(job.iteration_seconds)
    if job.time_limit_seconds is None:
        allowed = "iterations and the time of one, or a time limit: its deadline is to come"
        raise InputError(f"job {job.id!r}.remaining_iterations", "no length", allowed)
    ran = micro(job.executed_seconds or 0.0) if job.state == "running" else 0
    return max(0, micro(job.time_limit_seconds) - ran)
