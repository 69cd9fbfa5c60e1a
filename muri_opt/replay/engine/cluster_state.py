"""The cluster during a replay: who runs where, and what a change of placements costs."""

from __future__ import annotations

import heapq
from math import inf, isfinite

import numpy as np

from muri_opt.replay.engine.bad_decisions import ReplayError
from muri_opt.replay.engine.job_state import CAPACITY, REASONS, Accounts, Live, Placement
from muri_opt.replay.engine.schedulers import Allocation
from muri_opt.replay.workload import Workload
from muri_opt.rounds import Cluster


class ClusterState:
    """Carries out allocations, and refuses what cannot be: more GPUs of a node than it has, a job in two places.

    A job that starts for the first time, or anew after a failure, first pays ``launch_seconds``. One that is moved,
    changes its plan, or resumes after it was stopped, pays what a restart of it takes. Who pays holds GPUs and makes no
    progress; if it is moved meanwhile, it pays again from the start.
    """

    def __init__(self, workload: Workload, cluster: Cluster, launch_seconds: float) -> None:
        self.accounts = Accounts(workload)
        self.whole = np.array([node.gpus for node in cluster.nodes], dtype=np.int64)
        self.live = Live(accounts=self.accounts, free=self.whole.copy())
        self.launch_seconds = launch_seconds
        self.busy = 0
        self._ids = [job.id for job in workload.jobs]
        self._nodes = [node.id for node in cluster.nodes]
        self._begun: set[int] = set()
        self._excused: set[int] = set()
        self._ends = np.full(len(workload.jobs), inf)
        self._queue: list[tuple[float, int]] = []

    def arrive(self, job: int) -> None:
        """Let a job wait for its first placement."""
        self.live.waiting.add(job)
        self.live.queued.append(job)

    def next_end(self) -> float:
        """Return when the next run ends, well or not, if placements stay as they are; infinity if none does."""
        while self._queue and self._ends[self._queue[0][1]] != self._queue[0][0]:
            heapq.heappop(self._queue)
        return self._queue[0][0] if self._queue else inf

    def ending(self, until: float) -> list[int]:
        """Return the jobs whose runs end by then, in the order of the workload."""
        found = []
        while self.next_end() <= until:
            _, job = heapq.heappop(self._queue)
            self._ends[job] = inf  # there may be another note of the same end
            found.append(job)
        return sorted(found)

    def end(self, job: int, now: float) -> None:
        """Let a job go for good."""
        self._rise(job, now)
        self.accounts.ended[job] = now

    def fail(self, job: int, now: float) -> None:
        """Take back all progress of a job whose run failed; it waits, or is let go."""
        self._rise(job, now)
        self.accounts.failed[job] = self.accounts.gpu_seconds[job]
        self.accounts.remaining[job] = self.accounts.total[job]
        self._begun.discard(job)

    def apply(self, allocation: Allocation, now: float) -> None:
        """Carry out what a scheduler decided."""
        live = self.live
        placed = [job for placement in allocation.placements for job in placement.jobs]
        if len({*placed, *allocation.stops}) < len(placed) + len(allocation.stops):
            raise ReplayError(f"at {now:g} s: a job is given two placements, or one and none")
        former = {job: live.placements[job] for job in placed if job in live.placements}
        for job in (*former, *allocation.stops):
            if job not in live.placements:
                raise ReplayError(f"at {now:g} s: job {self._name(job)} is stopped, and does not run")
            self._rise(job, now)
        for placement in allocation.placements:
            self._place(placement, former, now)
        for job in allocation.stops:
            live.waiting.add(job)
            self.accounts.preemptions[job] += 1
        self._excuse(allocation, now)

    def _place(self, placement: Placement, former: dict[int, Placement], now: float) -> None:
        self._check(placement, former, now)
        for node, gpus in placement.gpus.items():
            left = int(self.live.free[node]) - gpus
            if gpus < 0 or left < 0:
                name, has = self._nodes[node], int(self.whole[node])
                raise ReplayError(f"at {now:g} s: node {name!r} has {has} GPUs, and {has - left} are given")
            self.live.free[node] = left
        count = placement.count
        self.busy += count
        known = self.accounts
        for job, rate in zip(placement.jobs, placement.rates, strict=True):
            known.settle(job, now)
            self._charge(job, placement, former.get(job), now)
            known.placed[job], known.rate[job] = True, rate
            known.gpus[job], known.mates[job] = count, len(placement.jobs)
            self.live.waiting.discard(job)
            self.live.placements[job] = placement
            if placement.plan is not None:
                self.live.plans[job] = placement.plan
            work = min(float(known.remaining[job]) / rate, float(known.fails_in[job]))
            self._ends[job] = max(now, float(known.ready[job])) + work
            heapq.heappush(self._queue, (float(self._ends[job]), job))

    def _check(self, placement: Placement, former: dict[int, Placement], now: float) -> None:
        for job, rate in zip(placement.jobs, placement.rates, strict=True):
            if job not in self.live.waiting and job not in former:
                raise ReplayError(f"at {now:g} s: job {self._name(job)} is given GPUs, and is not there")
            if placement.count == 0 and placement.plan is None:
                raise ReplayError(f"at {now:g} s: job {self._name(job)} is to make progress without GPUs")
            if not (isfinite(rate) and rate > 0):
                raise ReplayError(f"at {now:g} s: job {self._name(job)} has a placement and a rate of {rate}")

    def _charge(self, job: int, placement: Placement, before: Placement | None, now: float) -> None:
        known = self.accounts
        if before is not None and before.gpus == placement.gpus and before.plan == placement.plan:
            return
        if job not in self._begun:
            self._begun.add(job)
            known.started[job] = min(known.started[job], now)
            known.ready[job] = now + self.launch_seconds
            return
        known.restarts[job] += 1
        known.migrations[job] += before is not None and _moved(before, placement)
        known.ready[job] = now + known.restart[job]

    def _rise(self, job: int, now: float) -> None:
        """Take a job from its placement; those who shared its GPUs stay."""
        placement, known = self.live.placements.pop(job), self.accounts
        for member in placement.jobs:
            known.settle(member, now)
        known.placed[job], known.rate[job], known.gpus[job], known.mates[job] = False, 0.0, 0, 1
        known.reason[job] = CAPACITY
        self._ends[job] = inf
        if len(placement.jobs) > 1:
            left = placement.without(job)
            for member in left.jobs:
                self.live.placements[member] = left
                known.mates[member] -= 1
            return
        for node, gpus in placement.gpus.items():
            self.live.free[node] += gpus
        self.busy -= placement.count

    def _excuse(self, allocation: Allocation, now: float) -> None:
        """Note why jobs wait from now on; only those that wait for anything but capacity are looked at."""
        known, others = self.accounts, {job for job, reason in allocation.waiting.items() if reason != "capacity"}
        for job in sorted(others | self._excused):
            if job in self.live.waiting:
                reason = REASONS.index(allocation.waiting.get(job, "capacity"))
                if reason != known.reason[job]:
                    known.settle(job, now)
                    known.reason[job] = reason
        self._excused = others

    def _name(self, job: int) -> str:
        return repr(self._ids[job]) if 0 <= job < len(self._ids) else f"at place {job}"


def _moved(before: Placement, after: Placement) -> bool:
    """Return whether GPUs were given up on one node and taken on another."""
    change = [after.gpus.get(node, 0) - before.gpus.get(node, 0) for node in {*before.gpus, *after.gpus}]
    return min(change, default=0) < 0 < max(change, default=0)
