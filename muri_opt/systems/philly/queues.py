"""A queue per tenant: who is tried next, within quotas and above them."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED
from muri_opt.rounds.quantities import microseconds
from muri_opt.systems.philly.cluster_state import ClusterState
from muri_opt.systems.philly.job_status import JobStatus


class Queues:
    """The jobs that wait, first submitted first in the queue of their tenant, those of a larger priority before all.

    A job that does not say when it was submitted counts as submitted when it began to wait. Jobs without a tenant are
    in one queue together.
    """

    def __init__(self, round_: Round, standing: JobStatus) -> None:
        tenants, now = round_.amounts.tenant, microseconds(round_.now)
        self._quota = round_.amounts.U.tolist()
        self._total = max(1, standing.total)
        self._rank = standing.rank.tolist()
        self.waiting: dict[int, list[int]] = {}
        self._tenants = tenants.tolist()
        self._submitted = [
            now - microseconds(job.waiting_seconds or 0.0) if job.submitted is None else microseconds(job.submitted)
            for job in round_.jobs
        ]
        for job in sorted(np.flatnonzero(standing.may.start).tolist(), key=self._turn):
            self.waiting.setdefault(self._tenants[job], []).append(job)
        self._ranked = {0: self.waiting}
        if standing.classes > 1:
            self._ranked = {}
            for tenant, jobs in self.waiting.items():
                for job in jobs:
                    self._ranked.setdefault(self._rank[job], {}).setdefault(tenant, []).append(job)

    def _turn(self, job: int) -> tuple[int, int, int]:
        return -self._rank[job], self._submitted[job], job

    def of_priority(self, rank: int) -> dict[int, list[int]]:
        """Return the queues of the jobs of one priority, by tenant."""
        return self._ranked.get(rank, {})

    def join(self, job: int) -> None:
        """Let a job wait that was not among those that wait."""
        tenant = self._tenants[job]
        ranked = self._ranked.setdefault(self._rank[job], {})
        for queues in (self.waiting,) if ranked is self.waiting else (self.waiting, ranked):
            queue = queues.setdefault(tenant, [])
            if job not in queue:
                insort(queue, job, key=self._turn)

    def served(self, floor: ClusterState, tenant: int) -> Fraction:
        """Return the part of its quota that a tenant uses; of a quota of nothing, all and more.

        Without a quota a tenant may have the whole cluster, so that is what its GPUs are a part of. Jobs without a
        tenant are a tenant that has used nothing: they have nobody to share with.
        """
        if tenant < 0:
            return Fraction(0)
        quota = self._quota[tenant]
        used = floor.used(tenant)
        if quota == 0:
            return Fraction(self._total + used)
        return Fraction(used, self._total if quota >= UNLIMITED else quota)

    def __iter__(self) -> Iterator[int]:
        return iter(self.waiting)
