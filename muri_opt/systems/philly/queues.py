"""A queue per tenant and priority: who is tried next, within quotas and above them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.rounds.quantities import microseconds
from muri_opt.systems.philly.cluster_state import ClusterState
from muri_opt.systems.philly.job_status import JobStatus

Bools = NDArray[np.bool_]


class Queue:
    """Jobs of one tenant and priority in their turn, with the demand of each; those that are on nodes do not wait."""

    def __init__(self, jobs: Ints, demands: Ints, node: Ints) -> None:
        self.jobs, self._demands, self._node = jobs, demands[jobs], node
        self._has: Bools = np.zeros(int(demands.max(initial=-1)) + 1, dtype=np.bool_)
        self._has[self._demands] = True

    def next(self, place: int, able: Bools) -> int:
        """Return the first place from this one on of a job that waits and whose demand is ``able``, or -1."""
        if place == len(self.jobs) or not (able & self._has).any():
            return -1
        found = able[self._demands[place:]] & (self._node[self.jobs[place:]] < 0)
        at = int(found.argmax())
        return place + at if found[at] else -1

    @property
    def waiting(self) -> Ints:
        """The jobs that wait, in their turn."""
        return self.jobs[self._node[self.jobs] < 0]


class Queues:
    """The jobs that wait, first submitted first in the queue of their tenant, those of a larger priority before all.

    A job that does not say when it was submitted counts as submitted when it began to wait. Jobs without a tenant are
    in one queue together. ``demands`` has the number of each job's demand.
    """

    def __init__(self, round_: Round, standing: JobStatus, floor: ClusterState, demands: Ints) -> None:
        now = microseconds(round_.now)
        self._quota = round_.amounts.U.tolist()
        self._total = max(1, standing.total)
        self._rank, self._tenant = standing.rank, round_.amounts.tenant
        self._floor, self._demands = floor, demands
        self._submitted = np.array(
            [
                now - microseconds(job.waiting_seconds or 0.0) if job.submitted is None else microseconds(job.submitted)
                for job in round_.jobs
            ],
            dtype=np.int64,
        )
        self._queues: dict[tuple[int, int], Queue] = {}
        waiting = np.flatnonzero(standing.may.start)
        for rank in range(standing.classes):
            for tenant in np.unique(self._tenant[waiting]).tolist():
                some = waiting[(self._rank[waiting] == rank) & (self._tenant[waiting] == tenant)]
                if len(some):
                    in_turn = some[np.argsort(self._submitted[some], kind="stable")]
                    self._queues[rank, tenant] = Queue(in_turn, demands, floor.node)

    def of_priority(self, rank: int) -> dict[int, Queue]:
        """Return the queues of the jobs of one priority, by tenant."""
        return {tenant: queue for (of, tenant), queue in self._queues.items() if of == rank}

    def join(self, job: int) -> None:
        """Let a job wait that was not among those that wait."""
        rank, tenant = int(self._rank[job]), int(self._tenant[job])
        known = self._queues.get((rank, tenant))
        jobs = np.zeros(0, dtype=np.int64) if known is None else known.jobs
        if (jobs == job).any():
            return
        times, time = self._submitted[jobs], self._submitted[job]
        first, last = np.searchsorted(times, time), np.searchsorted(times, time, side="right")
        place = first + np.searchsorted(jobs[first:last], job)
        self._queues[rank, tenant] = Queue(np.insert(jobs, place, job), self._demands, self._floor.node)

    def served(self, tenant: int) -> Fraction:
        """Return the part of its quota that a tenant uses; of a quota of nothing, all and more.

        Without a quota a tenant may have the whole cluster, so that is what its GPUs are a part of. Jobs without a
        tenant are a tenant that has used nothing: they have nobody to share with.
        """
        if tenant < 0:
            return Fraction(0)
        quota = self._quota[tenant]
        used = self._floor.used(tenant)
        if quota == 0:
            return Fraction(self._total + used)
        return Fraction(used, self._total if quota >= UNLIMITED else quota)

    def in_turn(self, rank: int) -> list[tuple[int, Queue]]:
        """Return the tenants with queues of one priority, the least served first, and these queues."""
        queues = self.of_priority(rank)
        return [(tenant, queues[tenant]) for tenant in sorted(queues, key=lambda tenant: (self.served(tenant), tenant))]
