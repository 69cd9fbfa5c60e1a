"""A cluster of GPUs that serves gangs first come, first served, with jobs that fail, are retried and run ahead.

Times are whole milliseconds. A run that fails is lost from its beginning; a job that is retried goes to the end of the
queue. The pool is a part of the cluster set aside; only the first run of a job goes through it.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from muri_opt.replay.failures.attempts import MAX_MILLISECONDS, JobFailures, PastTrial
from muri_opt.replay.failures.rules import FailureRules
from muri_opt.rounds.field_checks import text
from muri_opt.rounds.quantities import MAX_GPUS, MILLISECONDS_PER_SECOND, whole

Ending = Literal["passed", "given up", "withdrawn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterJob:
    """A job: when it is submitted, how many GPUs it needs at once, and how long the run takes that passes."""

    id: str
    submitted: int
    gpus: int
    milliseconds: int

    def __post_init__(self) -> None:
        text("id", self.id, empty=False)
        whole("submitted", self.submitted, MAX_MILLISECONDS)
        whole("gpus", self.gpus, MAX_GPUS, 1)
        whole("milliseconds", self.milliseconds, MAX_MILLISECONDS, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnd:
    """How a job ended: passed, given up by the rule, or withdrawn by its user; when, and when it first failed."""

    ending: Ending
    at: int
    first_failure: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRun:
    """What one set of rules did to all jobs; GPU times in GPU-milliseconds.

    ``used`` is the integral of busy GPUs over time, counted apart from ``useful`` (runs that passed), ``lost`` (runs
    that failed on their gang) and ``pre_run`` (everything in the pool), which add up to it.
    """

    ends: tuple[JobEnd, ...]
    used: int
    useful: int
    lost: int
    pre_run: int
    failed_trials: int
    caught: int
    makespan: int


@dataclass(slots=True, kw_only=True)
class Gpus:
    """GPUs that are taken and given back; never more than there are."""

    size: int
    busy: int = 0
    area: int = 0
    _since: int = 0

    def take(self, count: int, now: int) -> None:
        """Take GPUs at a moment; more than are free is a fault of the simulation."""
        self._pass(now)
        self.busy += count
        self._check()

    def give(self, count: int, now: int) -> None:
        """Give GPUs back."""
        self._pass(now)
        self.busy -= count
        self._check()

    def _pass(self, now: int) -> None:
        self.area += self.busy * (now - self._since)
        self._since = now

    def _check(self) -> None:
        if not 0 <= self.busy <= self.size:
            raise RuntimeError(f"{self.busy} GPUs busy of {self.size}")


_ARRIVAL: Final = 1
_END: Final = 0
"""At one moment runs end before jobs arrive, and both before jobs start."""


@dataclass(slots=True, kw_only=True)
class _State:
    """The cluster at one moment. ``pooled`` says whether a job's present or next run is the one in the pool."""

    jobs: Sequence[ClusterJob]
    failures: Sequence[JobFailures]
    rules: FailureRules
    main: Gpus
    pool: Gpus
    now: int = 0
    useful: int = 0
    lost: int = 0
    pre_run: int = 0
    caught: int = 0
    queue: deque[int] = field(default_factory=deque)
    pool_queue: deque[int] = field(default_factory=deque)
    events: list[tuple[int, int, int]] = field(default_factory=list)
    past: list[list[PastTrial]] = field(default_factory=list)
    pooled: list[bool] = field(default_factory=list)
    ends: dict[int, JobEnd] = field(default_factory=dict)
    first: dict[int, int] = field(default_factory=dict)

    def run(self) -> None:
        """Play all events; ends in the order of the jobs where they fall together."""
        self.past = [[] for _ in self.jobs]
        self.pooled = [self._length(job) > 0 for job in range(len(self.jobs))]
        self.events = [(job.submitted, _ARRIVAL, at) for at, job in enumerate(self.jobs)]
        heapq.heapify(self.events)
        while self.events:
            self.now, kind, job = heapq.heappop(self.events)
            if kind == _ARRIVAL:
                (self.pool_queue if self.pooled[job] else self.queue).append(job)
            else:
                self._ended(job)
            if not self.events or self.events[0][0] > self.now:
                self._start()

    def _length(self, job: int) -> int:
        return 0 if self.rules.pre_run is None else self.rules.pre_run.length(self.jobs[job].gpus)

    def _fails_after(self, job: int) -> int | None:
        """Return when the next run of the job fails, or None if it passes."""
        trials = self.failures[job].trials
        at = len(self.past[job])
        return trials[at].milliseconds if at < len(trials) else None

    def _pool_time(self, job: int) -> int:
        fails, length = self._fails_after(job), self._length(job)
        return length if fails is None else min(fails, length)

    def _gang_time(self, job: int) -> int:
        fails = self._fails_after(job)
        return self.jobs[job].milliseconds if fails is None else fails

    def _start(self) -> None:
        """Start jobs from the heads of both queues as long as they fit."""
        while self.pool_queue and self.pool.busy < self.pool.size:
            job = self.pool_queue.popleft()
            self.pool.take(1, self.now)
            heapq.heappush(self.events, (self.now + self._pool_time(job), _END, job))
        while self.queue and self.main.busy + self.jobs[self.queue[0]].gpus <= self.main.size:
            job = self.queue.popleft()
            self.main.take(self.jobs[job].gpus, self.now)
            heapq.heappush(self.events, (self.now + self._gang_time(job), _END, job))

    def _ended(self, job: int) -> None:
        fails = self._fails_after(job)
        if self.pooled[job]:
            self.pooled[job] = False
            self.pool.give(1, self.now)
            self.pre_run += self._pool_time(job)
            if fails is None or fails > self._length(job):
                self.queue.append(job)
            else:
                self.caught += 1
                self._failed(job, gpus=1)
            return
        gpus = self.jobs[job].gpus
        self.main.give(gpus, self.now)
        if fails is None:
            self.useful += gpus * self.jobs[job].milliseconds
            self._learn(job, passed=True)
            self._finish(job, "passed")
        else:
            self.lost += gpus * fails
            self._failed(job, gpus=gpus)

    def _failed(self, job: int, *, gpus: int) -> None:
        """Note the failure, learn from it, and ask the rule whether the job goes on."""
        failures, past = self.failures[job], self.past[job]
        trial = failures.trials[len(past)]
        self.first.setdefault(job, self.now)
        self._learn(job, passed=False)
        seconds = trial.milliseconds / MILLISECONDS_PER_SECOND
        past.append(PastTrial(failure=trial.failure, seconds=seconds, gpus=gpus))
        self.rules = _knowing(self.rules, past[-1])
        if len(past) == len(failures.trials) and not failures.passes:
            self._finish(job, "withdrawn")
            return
        verdict = self.rules.retry.decide(past, gpus=self.jobs[job].gpus, value=None, experience=self.rules.experience)
        if verdict.retry:
            self.queue.append(job)
        else:
            self._finish(job, "given up")

    def _learn(self, job: int, *, passed: bool) -> None:
        """Count the run that has just ended as the retry of the failure before it, if there was one."""
        if self.past[job]:
            known = self.rules.experience.retried(self.past[job][-1].failure, passed=passed)
            self.rules = FailureRules(retry=self.rules.retry, pre_run=self.rules.pre_run, experience=known)

    def _finish(self, job: int, ending: Ending) -> None:
        self.ends[job] = JobEnd(ending=ending, at=self.now, first_failure=self.first.get(job))


def _knowing(rules: FailureRules, trial: PastTrial) -> FailureRules:
    return FailureRules(retry=rules.retry, pre_run=rules.pre_run, experience=rules.experience.failed(trial))


def run_cluster(
    jobs: Sequence[ClusterJob], failures: Sequence[JobFailures], rules: FailureRules, *, gpus: int, pool_gpus: int
) -> ClusterRun:
    """Return what the rules do to the jobs; the pool is part of ``gpus`` and left out where there is no pre-run."""
    pool = 0 if rules.pre_run is None else pool_gpus
    state = _State(jobs=jobs, failures=failures, rules=rules, main=Gpus(size=gpus - pool), pool=Gpus(size=pool))
    state.run()
    return ClusterRun(
        ends=tuple(state.ends[job] for job in range(len(jobs))),
        used=state.main.area + state.pool.area,
        useful=state.useful,
        lost=state.lost,
        pre_run=state.pre_run,
        failed_trials=sum(map(len, state.past)),
        caught=state.caught,
        makespan=max((end.at for end in state.ends.values()), default=0),
    )
