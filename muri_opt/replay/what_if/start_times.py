"""When waiting jobs would start if nothing more arrived: the queue of a round, replayed from event to event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil, inf
from typing import Final

import numpy as np
from msgspec.structs import replace

from muri_opt.replay.engine.bad_decisions import BadDecisionError
from muri_opt.replay.engine.rates import Rates
from muri_opt.rounds import Assignment, Decision, Job, Round
from muri_opt.rounds.next_round import after
from muri_opt.solve.decided import decided
from muri_opt.systems import JobHistory, Named, admit, policy_from

MOST_ROUNDS: Final = 200
WHOLE_WITHIN: Final = 1e-6
"""Iterations by which a sum of times may exceed a whole number without counting as begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartTimes:
    """In how many seconds each job would start that waits now, and why the others are not among them.

    ``assumed`` are the assumptions the times rest on, in words; ``stopped`` says why the replay ended where jobs were
    left that had not started.
    """

    seconds: Mapping[str, float] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()
    stopped: str | None = None


def start_times(round_: Round, policy: Named, *, most_rounds: int = MOST_ROUNDS) -> StartTimes:
    """Return when the jobs of a round that wait would start under a policy's own algorithm.

    A job runs for its iterations left, or to its time limit where they are not known; one of which neither is known
    does not end. ``most_rounds`` decisions are made at most.

    >>> node = Node(id="n0", gpus=1)
    >>> a, b = (Job(id=name, gpus=1, iteration_seconds=2.0, remaining_iterations=30, submitted=0.0) for name in "ab")
    >>> start_times(Round(cluster=Cluster(nodes=(node,)), jobs=(a, b)), "fifo").seconds
    {'a': 0.0, 'b': 60.0}
    """
    queue = _Queue(round_)
    chosen = policy_from(policy)
    stopped: str | None = None
    while queue.unstarted():
        if queue.rounds == most_rounds:
            stopped = f"{most_rounds:,} rounds were replayed"
            break
        admit(chosen, queue.round_)
        queue.carry_out(decided(chosen, queue.round_, 0))
        passes = min(queue.next_event(), chosen.wakes(*queue.history())) if queue.unstarted() else 0.0
        if passes == inf:
            stopped = "nothing that runs is known to end"
            break
        queue.wait(passes)
    return StartTimes(seconds=queue.started, assumed=_assumed(round_), stopped=stopped)


class _Queue:
    """The jobs of a round as time passes. ``left`` are iterations, or seconds of jobs that only have a time limit."""

    def __init__(self, round_: Round) -> None:
        self.round_, self.rounds = round_, 0
        self.started: dict[str, float] = {}
        self._began = round_.now
        self._rates = Rates()
        self._left = {job.id: _work_left(job) for job in round_.jobs}
        self._rate: dict[str, float] = {}
        self._lost: dict[str, float] = {}
        """Seconds of a restart that running jobs still have to go through."""
        self._had: set[str] = {job.id for job in round_.jobs if job.state == "running"}

    def unstarted(self) -> bool:
        """Return whether any job has not started that may start in time."""
        return any(job.id not in self._had and job.held is None for job in self.round_.jobs)

    def carry_out(self, decision: Decision) -> None:
        """Let the jobs run as decided, and note which start for the first time."""
        self.rounds += 1
        before = {job.id: job for job in self.round_.jobs}
        self.round_ = after(self.round_, decision)
        self._rate.clear()
        for one in decision.assignments:
            jobs = tuple(before[name] for name in one.jobs)
            for job, rate in zip(jobs, self._rates_of(jobs, one), strict=True):
                self._rate[job.id] = rate
                if job.id not in self._had:
                    self.started[job.id] = self.round_.now - self._began
                elif job.state != "running" or dict(job.placement or {}) != dict(one.gpus):
                    self._lost[job.id] = job.restart_seconds or 0.0
                self._had.add(job.id)

    def _rates_of(self, jobs: tuple[Job, ...], one: Assignment) -> tuple[float, ...]:
        try:
            return self._rates.of(jobs, one)
        except BadDecisionError:  # nothing says how fast it is there: as fast as where it asks to be
            return tuple(1 / (job.iteration_seconds or 1.0) for job in jobs)

    def next_event(self) -> float:
        """Return the seconds until a job ends or may begin."""
        ends = (self._lost.get(job, 0.0) + self._left[job] / rate for job, rate in self._rate.items() if rate > 0)
        begin = (job.not_before - self.round_.now for job in self.round_.jobs if job.not_before is not None)
        return min((*ends, *(seconds for seconds in begin if seconds > 0)), default=inf)

    def history(self) -> tuple[JobHistory, JobHistory]:
        """Return what the jobs that run have had, and those that wait."""
        running = [job for job in self.round_.jobs if job.state == "running"]
        return _history(running), _history([job for job in self.round_.jobs if job.state != "running"])

    def wait(self, seconds: float) -> None:
        """Let time pass: what runs comes nearer to its end, and what has ended is gone."""
        for name, rate in self._rate.items():
            restarting = min(self._lost.get(name, 0.0), seconds)
            self._lost[name] = self._lost.get(name, 0.0) - restarting
            self._left[name] -= rate * (seconds - restarting)
        stay = [job for job in self.round_.jobs if job.state != "running" or self._left[job.id] > WHOLE_WITHIN]
        jobs = tuple(_later(job, seconds, self._left[job.id]) for job in stay)
        self.round_ = replace(self.round_, now=self.round_.now + seconds, jobs=jobs)


def _work_left(job: Job) -> float:
    if job.remaining_iterations is not None and job.iteration_seconds is not None:
        return float(max(job.remaining_iterations, 1))
    if job.time_limit_seconds is not None:
        seconds = max(job.time_limit_seconds - (job.executed_seconds or 0.0), 0.0)
        return max(seconds / (job.iteration_seconds or 1.0), WHOLE_WITHIN * 2)
    return inf


def _later(job: Job, seconds: float, left: float) -> Job:
    """Return a job as it is after some time, with what it says of itself brought up to then."""
    said = {}
    if job.state == "running":
        gpus = sum((job.placement or {}).values())
        passed = {"executed_seconds": seconds, "attained_gpu_seconds": seconds * gpus}
        if job.remaining_iterations is not None and left < inf:
            said["remaining_iterations"] = max(ceil(left - WHOLE_WITHIN), 1)
    else:
        passed = {"waiting_seconds": seconds}
    for name, more in passed.items():
        had = getattr(job, name)
        if had is not None:
            said[name] = had + more
    return replace(job, **said)


def _history(jobs: list[Job]) -> JobHistory:
    return JobHistory(
        gpus=np.array([job.gpus for job in jobs], dtype=np.int64),
        attained=np.array([job.attained_gpu_seconds or 0.0 for job in jobs]),
        executed=np.array([job.executed_seconds or 0.0 for job in jobs]),
        waited=np.array([job.waiting_seconds or 0.0 for job in jobs]),
    )


def _assumed(round_: Round) -> tuple[str, ...]:
    limited = sum(job.remaining_iterations is None and _work_left(job) < inf for job in round_.jobs)
    endless = sum(_work_left(job) == inf for job in round_.jobs)
    words = ["nothing more arrives, and no job or node fails"]
    if limited:
        words.append(f"{limited:,} of {len(round_.jobs):,} jobs run to their time limit")
    if endless:
        words.append(f"{endless:,} of {len(round_.jobs):,} jobs, of which nothing says how long they take, do not end")
    return tuple(words)
