"""The verifier's own arithmetic of deadlines: who is in time with which share, and what that is worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.afs.curve import Curve
from muri_opt.verify.amounts import micro
from muri_opt.verify.deadline.shares import shares_of


class Values(Mapping[str, Mapping[tuple[int, bool], int]]):
    """By job, and then by the number of its GPUs and whether it stays as it is: what that is worth.

    Of every priority there are four numbers, from the most weighty on: jobs in time that could not be if they waited
    until the round is decided again; jobs in time; the places of those in time in the queue of all with a deadline,
    counted from its end; and the speed of all that run. A number outweighs all that come after it, and a higher
    priority all lower ones: each has a weight above what all numbers of less weight can reach together. What a job is
    worth is worked out when it is asked for.
    """

    def __init__(self, round_: Round, interval: int) -> None:
        self._round, self.interval = round_, interval
        self._weights: dict[str, tuple[int, int, int]] = {}
        self._known: dict[str, dict[tuple[int, bool], int]] = {}
        self._jobs = {job.id: job for job in round_.jobs}
        self._total = round_.cluster.total_gpus
        self._shares, unit = shares_of(round_), 1
        classes: dict[int, list[Job]] = {}
        for job in round_.jobs:
            classes.setdefault(job.priority, []).append(job)
        for _, jobs in sorted(classes.items()):
            line = sorted(
                (job.deadline, job.submitted or 0.0, place)
                for place, job in enumerate(jobs)
                if job.deadline is not None
            )
            places = {place: len(line) - rank for rank, (_, _, place) in enumerate(line)}
            earliest = unit * (1 + sum(self._fastest(job) for job in jobs))
            number = earliest * (1 + sum(places.values()))
            saved = number * (1 + len(line))
            for place, job in enumerate(jobs):
                self._weights[job.id] = unit, earliest * places.get(place, 0) + number, saved
            unit = saved * (1 + len(line))

    def _fastest(self, job: Job) -> int:
        """Return the largest speed of a job, in thousandths of that on one GPU."""
        if job.scaling is None:
            return 1000 * job.gpus if self._shares.sizes(job) else 0
        curve = self._shares.curve(job)
        return 1000 * curve.most_speed(self._total) // curve.speeds[1] if self._total else 0

    def weights(self, name: str) -> tuple[int, int, int]:
        """Return what the speed of a job weighs, that it is in time, and that it would not be if it waited."""
        return self._weights[name]

    def ahead(self, name: str) -> tuple[Ahead, int, int]:
        """Return what is ahead of a job, what its speed weighs, and what it is worth that it is in time."""
        unit, in_time, saved = self._weights[name]
        one = Ahead.of(self._round, self._jobs[name], self.interval)
        return one, unit, in_time + (0 if one.can_wait else saved)

    def worth(self, name: str, gpus: int, *, stays: bool) -> int:
        """Return what one way to run of a job is worth; nothing if it has no such way."""
        job = self._jobs[name]
        if gpus not in self._shares.sizes(job) or (stays and job.state != "running"):
            return 0
        curve = None if job.scaling is None else self._shares.curve(job)
        unit, in_time, saved = self._weights[name]
        rate, speed, fastest = 1, 1000 * job.gpus, 1
        if curve is not None:
            rate, fastest = curve.speeds[gpus], curve.most_speed(self._total)
            speed = 1000 * rate // curve.speeds[1]
        restart = micro(job.restart_seconds or 0.0) if job.state == "running" else 0
        lost = 0 if stays else restart
        worth = unit * (speed * (self.interval - min(lost, self.interval)) // self.interval)
        left = -1 if job.deadline is None else micro(job.deadline) - micro(self._round.now)
        if left < 0:
            return worth
        work = work_of(job, curve)
        can_wait = self.interval + restart + work // fastest <= left
        return worth + (in_time + (0 if can_wait else saved) if work // rate + lost <= left else 0)

    def __getitem__(self, name: str) -> Mapping[tuple[int, bool], int]:
        """Return what every way to run of a job is worth."""
        if name not in self._known:
            one, unit, in_time = self.ahead(name)
            self._known[name] = {
                (gpus, stays): unit * one.speed(gpus, stays) + (in_time if one.keeps(gpus, stays) else 0)
                for stays in ((False, True) if one.job.state == "running" else (False,))
                for gpus in one.speeds
            }
        return self._known[name]

    def __contains__(self, name: object) -> bool:
        """Return whether there is such a job."""
        return name in self._jobs

    def __iter__(self) -> Iterator[str]:
        """Go through the jobs."""
        return iter(self._jobs)

    def __len__(self) -> int:
        """Return the number of jobs."""
        return len(self._jobs)


@recalled
def values_of(round_: Round, interval: int) -> Values:
    """Return what every way to run is worth, for a round that is decided again after so many microseconds."""
    return Values(round_, interval)


@lru_cache(maxsize=10 << 10)  # the jobs of a large round; more would only keep those that have ended
def _relative(speeds: tuple[int, ...], most: int) -> tuple[int, ...]:
    """Return speeds with 1, 2, ... GPUs in thousandths of the first, as many as are asked for."""
    return tuple(1000 * speed // speeds[0] for speed in speeds[:most])


@dataclass(frozen=True, slots=True)
class Ahead:
    """A job with what is ahead of it: until its deadline, and with each number of GPUs until it is done."""

    job: Job
    speeds: Mapping[int, int]
    ends: Mapping[int, int]
    left: int
    restart: int
    interval: int

    @classmethod
    def of(cls, round_: Round, job: Job, interval: int) -> Ahead:
        """Return what is ahead of a job in a round that is decided again after so many microseconds."""
        shares = shares_of(round_)
        sizes = shares.sizes(job)
        left = -1 if job.deadline is None else micro(job.deadline) - micro(round_.now)
        restart = micro(job.restart_seconds or 0.0) if job.state == "running" else 0
        if job.scaling is None:
            speeds = {job.gpus: 1000 * job.gpus}
            ends = {job.gpus: _length(job)} if left >= 0 else {}
        else:
            curve = shares.curve(job)
            speeds = dict(zip(sizes, _relative(tuple(curve.speeds.values()), len(sizes)), strict=True))
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


def work_of(job: Job, curve: Curve | None) -> int:
    """Return how long a job with a deadline still takes at a speed of 1, in microseconds; a gang has no other."""
    return _length(job) if curve is None else _iterations(job) * curve.unit


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
