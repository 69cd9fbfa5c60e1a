"""A decision in the making: who is placed where, what it is worth, and whether the rules allow it.

The value of a decision (objective of the chapter *placement*) is kept up to date by differences, for the local search.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED
from muri_opt.systems.philly.cluster_state import ClusterState
from muri_opt.systems.philly.job_status import Held, JobStatus
from muri_opt.systems.philly.search.gang_classes import NO_QUOTA, quota_tenant
from muri_opt.systems.philly.tenant_rules import WHOLE


class Placements:
    """The state of the cluster with the value of who is in it.

    ``used[v]`` are the GPUs of a tenant with a quota, the last entry those of all other jobs. Where nothing is
    migrated, a running job on other nodes is preempted and started again.
    """

    def __init__(self, round_: Round, status: JobStatus, places: Mapping[int, Held]) -> None:
        self.state, self.status = ClusterState(round_, status), status
        self.tenant = quota_tenant(round_)
        self.g, self._total = round_.amounts.g, status.total
        self.quota = np.append(np.where(round_.amounts.U < UNLIMITED, round_.amounts.U, 0), self.g.sum())
        self.used = np.zeros_like(self.quota)
        np.add.at(self.used, self.tenant[status.running], self.g[status.running])
        rows = [
            (job, s, units) for job in np.flatnonzero(status.running).tolist() for s, units in status.held[job].items()
        ]
        self.parts = np.array(rows, dtype=np.int64).reshape(len(rows), 3)
        """Job, node and GPUs of every part that was there before the round."""
        self._before = int(self.g[status.running].sum())
        self._worth = int(status.values.kept[status.running].sum())
        self.started = self.moved = self.preempted = 0
        self._restarts = status.rules.migrate == 0
        self.home = status.running.copy()
        """Who is where it was before the round."""
        self.gain = np.where(
            status.running, status.values.kept + status.values.penalty * self.g + status.values.restart, 0
        )
        """What each job in the cluster is worth there, against being absent."""
        self.restore(places)

    def restore(self, places: Mapping[int, Held]) -> None:
        """Put everybody where these places say."""
        for job in [job for job, held in self.at.items() if places.get(job) != held]:
            self.take(job)
        for job, held in places.items():
            if job not in self.at:
                self.put(job, held)

    @property
    def at(self) -> dict[int, Held]:
        """Where everybody is."""
        return self.state.at

    def put(self, job: int, held: Held) -> None:
        """Put a job on nodes."""
        self._count(job, held, 1)
        self.state.put(job, held)

    def take(self, job: int) -> Held:
        """Take a job away and return where it was."""
        held = self.state.take(job)
        self._count(job, held, -1)
        return held

    def _count(self, job: int, held: Held, sign: int) -> None:
        status, gpus = self.status, int(self.g[job])
        self.used[self.tenant[job]] += sign * gpus
        gain = self.worth(job, held) - self.absent(job)
        self._worth += sign * gain
        self.gain[job] = gain if sign > 0 else 0
        self.home[job] = sign > 0 and held == status.held[job] and bool(status.running[job])
        if not status.running[job]:
            self.started += sign * gpus
        else:
            stays = held == status.held[job]
            self.preempted -= sign * gpus * (stays or not self._restarts)
            self.moved += sign * gpus * (not stays and not self._restarts)

    def worth(self, job: int, held: Held) -> int:
        """Return what a job is worth there, beside what its tenant gains."""
        status = self.status
        if status.running[job] and held == status.held[job]:
            return int(status.values.kept[job])
        return int(status.values.placed[job, status.locality.spread(job, np.fromiter(held, dtype=np.int64))])

    def absent(self, job: int) -> int:
        """Return what a job is worth that does not run."""
        status = self.status
        return -int(status.values.penalty * self.g[job] + status.values.restart[job]) if status.running[job] else 0

    @property
    def value(self) -> int:
        """The value of the decision."""
        return self.status.values.premium * int(np.minimum(self.used, self.quota).sum()) + self._worth

    def within(self, job: int) -> int:
        """Return by how many GPUs the quotas would be better filled with the job than without it."""
        tenant = self.tenant[job]
        used = int(self.used[tenant]) - (int(self.g[job]) if job in self.at else 0)
        return max(0, min(int(self.g[job]), int(self.quota[tenant]) - used))

    @property
    def legal(self) -> bool:
        """Whether budget, load and quotas allow what was moved and preempted."""
        rules, status = self.status.rules, self.status
        if rules.migrate is not None and self.moved > rules.migrate:
            return False
        if not self.preempted:
            return True
        gone = np.array(
            [
                job
                for job in np.flatnonzero(status.running & ~self.home).tolist()
                if self._restarts or job not in self.at
            ]
        )
        tenants = np.unique(self.tenant[gone])
        return bool(
            status.may.be_preempted[gone].all()
            and tenants[0] > NO_QUOTA
            and (self.used[tenants] >= self.quota[tenants]).all()
            and rules.preempt_at is not None
            and WHOLE * (self._before + self.started) >= rules.preempt_at * self._total
        )
