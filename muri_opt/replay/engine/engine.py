"""The clock of this package: from event to event, charging restarts to the jobs that really moved.

Events are arrivals, ends of runs, and the moments the scheduler asked for; a round follows each of them, or comes at
multiples of an interval only. Moments closer than a nanosecond are one.
"""

from __future__ import annotations

import time
from math import ceil, inf
from typing import Final

import numpy as np

from muri_opt.replay.engine.bad_decisions import ReplayError
from muri_opt.replay.engine.cluster_state import ClusterState
from muri_opt.replay.engine.failures import FailingRuns, Failures
from muri_opt.replay.engine.job_state import REASONS, positions
from muri_opt.replay.engine.schedulers import Scheduler
from muri_opt.replay.engine.thinned_timeline import Full, ThinNotes
from muri_opt.replay.outcome import JobOutcomes, Timeline
from muri_opt.replay.workload import Workload
from muri_opt.rounds import Cluster

SAME_SECONDS: Final = 1e-9
SAME_PART: Final = 1e-15
"""A float of many seconds cannot tell nanoseconds apart: this part of it more is the same moment."""
PATIENCE: Final = 5000
"""Rounds in which nothing arrives or ends after which it is asked how much work is left; twice the same is for ever."""


class Engine:
    """One replay. ``interval`` ``None`` is a round at every event."""

    def __init__(
        self,
        workload: Workload,
        cluster: Cluster,
        scheduler: Scheduler,
        *,
        interval: float | None = None,
        launch_seconds: float = 0.0,
        failures: Failures | None = None,
    ) -> None:
        self.workload, self.scheduler, self.interval = workload, scheduler, interval
        self.state = ClusterState(workload, cluster, launch_seconds)
        self.failing = FailingRuns(workload, failures)
        self._stages = _stages(workload)
        self.notes = ThinNotes(resources=self._stages.shape[1], nodes=len(cluster.nodes))
        self.rounds = 0
        self.decision_seconds = 0.0
        self.busy_seconds = 0.0
        self._arrived = 0
        self._wakes = inf
        self._tick = 0
        self._quiet = 0
        self._work_left = inf

    def run(self) -> None:
        """Go from event to event until all jobs have ended; :class:`ReplayError` where that cannot be."""
        live, count = self.state.live, len(self.workload.jobs)
        while self._arrived < count or live.placements or live.waiting:
            now = self._next()
            self.busy_seconds += self.state.busy * (now - live.now)
            live.now = now
            happened = self._ends(now) + self._arrivals(now)
            self._quiet = 0 if happened else self._quiet + 1
            self._work_left = inf if happened else self._work_left
            if self._round_is_due(now):
                self._round(now)
            self._note(now, last=self._arrived == count and not live.placements and not live.waiting)

    def _next(self) -> float:
        """Return the next moment at which anything happens."""
        live, jobs = self.state.live, self.workload.jobs
        arrives = (jobs[self._arrived].submitted or 0.0) if self._arrived < len(jobs) else inf
        asks = self._wakes
        if self.interval is not None:
            asks = self._tick * self.interval if live.placements or live.waiting else inf
        now = min(arrives, asks, self.state.next_end())
        if now == inf:
            raise ReplayError(f"{self._since()} nothing runs or arrives, and {self._who_waits()} for ever")
        if self._quiet >= PATIENCE:
            self._check_progress()
        return arrives if arrives <= _as_late_as(now) else now

    def _ends(self, now: float) -> int:
        """Let the runs go that end by now, and return how many did."""
        known = self.state.accounts
        ending = self.state.ending(_as_late_as(now))
        for job in ending:
            fails = known.fails_in[job] < inf and self._fails_first(job)
            gpus = int(known.gpus[job])
            if not fails:
                self.state.end(job, now)
                self.state.live.gone.append(job)
                self.failing.passed(job)
                continue
            self.state.fail(job, now)
            if self.failing.retries(job, gpus=gpus):
                known.fails_in[job] = self.failing.fails_in(job)
                self.state.arrive(job)
            else:
                known.ended[job] = now
                self.state.live.gone.append(job)
        return len(ending)

    def _fails_first(self, job: int) -> bool:
        known = self.state.accounts
        return bool(known.fails_in[job] < known.remaining[job] / known.rate[job])

    def _arrivals(self, now: float) -> int:
        """Let the jobs in that are submitted by now, and return how many were."""
        jobs, before = self.workload.jobs, self._arrived
        while self._arrived < len(jobs) and (jobs[self._arrived].submitted or 0.0) <= now:
            self.state.accounts.fails_in[self._arrived] = self.failing.fails_in(self._arrived)
            self.state.arrive(self._arrived)
            self._arrived += 1
        return self._arrived - before

    def _round_is_due(self, now: float) -> bool:
        if not self.state.live.placements and not self.state.live.waiting:
            return False
        if self.interval is None:
            return True
        if self._tick * self.interval < now - SAME_SECONDS:  # nobody was there meanwhile
            self._tick = ceil((now - SAME_SECONDS) / self.interval)
        return self._tick * self.interval <= _as_late_as(now)

    def _round(self, now: float) -> None:
        live = self.state.live
        began = time.perf_counter()
        allocation = self.scheduler.decide(live)
        self.decision_seconds += time.perf_counter() - began
        self.rounds += 1
        self._tick += 1
        self.state.apply(allocation, now)
        live.queued.clear()
        live.gone.clear()
        if self.interval is None:
            self._wakes = self.scheduler.wakes(live)
            if self._wakes <= now:
                raise ReplayError(f"at {now:g} s: the scheduler asks to be woken at {self._wakes:g} s, which is over")

    def _check_progress(self) -> None:
        """Stop where many rounds have passed and no job has come nearer to its end."""
        live = self.state.live
        left = float(live.remaining(positions(live.jobs)).sum())
        if left >= self._work_left:
            who = f"{len(live.placements)} jobs run and {self._who_waits()}"
            raise ReplayError(f"{self._since()} {self._quiet:,} rounds have changed nothing: {who}")
        self._quiet, self._work_left = 1, left

    def _since(self) -> str:
        return f"after {self.state.live.now:g} s:"

    def _who_waits(self) -> str:
        waiting = sorted(self.state.live.waiting)
        names = ", ".join(repr(self.workload.jobs[job].id) for job in waiting[:3])
        return f"{len(waiting)} wait ({names}{', ...' * (len(waiting) > 3)})"

    def _note(self, now: float, *, last: bool) -> None:
        live = self.state.live
        counts = {"busy": self.state.busy, "queue": len(live.waiting), "running": len(live.placements)}
        self.notes.note(now, **counts, last=last, full=self._full)

    def _full(self) -> Full:
        """Return how much of each resource is at work, restarts left out of account, and the GPUs in use per node."""
        known, nodes = self.state.accounts, (self.state.whole - self.state.live.free).tolist()
        if not self._stages.shape[1]:
            return [], nodes
        running = positions(self.state.live.placements)
        work = known.gpus[running] * known.rate[running]
        return (work @ self._stages[running]).tolist(), nodes

    def timeline(self) -> Timeline:
        """Return the cluster over time."""
        return self.notes.timeline()

    def outcomes(self) -> JobOutcomes:
        """Return what became of every job."""
        known, jobs = self.state.accounts, self.workload.jobs
        fairness, fragmentation, capacity = (known.waits[place] for place in range(len(REASONS)))
        return JobOutcomes(
            ids=tuple(job.id for job in jobs),
            tenants=tuple(job.tenant for job in jobs),
            gpus=known.asked,
            submitted=known.submitted,
            started=known.started,
            ended=known.ended,
            ideal=known.total * known.solo,
            held=known.held,
            gpu_seconds=known.gpu_seconds,
            fairness=fairness,
            fragmentation=fragmentation,
            capacity=capacity,
            lost=known.lost,
            failed=known.failed,
            restarts=known.restarts,
            preemptions=known.preemptions,
            migrations=known.migrations,
        )


def _as_late_as(now: float) -> float:
    """Return the latest moment that is the same as now."""
    return now + SAME_SECONDS + SAME_PART * now


def _stages(workload: Workload) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return the stage times of every job, or no columns where one has none."""
    if any(job.stage_seconds is None for job in workload.jobs) or not workload.jobs:
        return np.zeros((len(workload.jobs), 0))
    return np.array([job.stage_seconds for job in workload.jobs], dtype=np.float64)
