"""A queue per tenant and priority: who is tried next, within quotas and above them."""

from __future__ import annotations

from math import lcm

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.rounds.quantities import microseconds
from muri_opt.systems.philly.cluster_state import ClusterState
from muri_opt.systems.philly.job_status import JobStatus
from muri_opt.systems.philly.tenant_rules import COMPLETION

Bools = NDArray[np.bool_]


class Queue:
    """Jobs of one tenant and priority in their turn, with the demand of each; those that are on nodes do not wait."""

    def __init__(self, jobs: Ints, demands: Ints, runs: Bools) -> None:
        self.jobs, self._demands, self._runs = jobs, demands[jobs], runs
        self._every = np.unique(self._demands)

    def next(self, place: int, able: Bools) -> int:
        """Return the first place from this one on of a job that waits and whose demand is ``able``, or -1."""
        if place == len(self.jobs) or not able[self._every].any():
            return -1
        found = able[self._demands[place:]] & ~self._runs[self.jobs[place:]]
        at = int(found.argmax())
        return place + at if found[at] else -1

    @property
    def waiting(self) -> Ints:
        """The jobs that wait, in their turn."""
        return self.jobs[~self._runs[self.jobs]]


class Queues:
    """The jobs that wait, first submitted first in the queue of their tenant, those of a larger priority before all.

    By the objective *completion*, whose GPUs are worth most is first, and of equal ones the first submitted.

    A job that does not say when it was submitted counts as submitted when it began to wait. Jobs without a tenant are
    in one queue together. Where nothing is migrated, running jobs that may be put elsewhere are in their queues, too:
    they wait once they are preempted. ``demands`` has the number of each job's demand.
    """

    def __init__(self, round_: Round, status: JobStatus, state: ClusterState, demands: Ints) -> None:
        now = microseconds(round_.now)
        self._state, self._parts = state, _parts_of_quotas(round_.amounts.U.tolist(), max(1, status.total))
        submitted = np.array(
            [
                now - microseconds(job.waiting_seconds or 0.0) if job.submitted is None else microseconds(job.submitted)
                for job in round_.jobs
            ],
            dtype=np.int64,
        )
        by_worth = status.rules.objective == COMPLETION
        later = -status.values.most // round_.amounts.g if by_worth else np.zeros(len(submitted), dtype=np.int64)
        self._queues: dict[int, dict[int, Queue]] = {}
        may = status.may.start | status.may.move if status.rules.migrate == 0 else status.may.start
        queued = np.flatnonzero(may)
        rank, tenant = status.rank[queued], round_.amounts.tenant[queued]
        line = np.lexsort((submitted[queued], later[queued], tenant, rank))
        ends = np.flatnonzero((np.diff(rank[line]) != 0) | (np.diff(tenant[line]) != 0)) + 1
        for some in np.split(queued[line], ends) if len(queued) else ():
            of_rank = self._queues.setdefault(int(status.rank[some[0]]), {})
            of_rank[int(round_.amounts.tenant[some[0]])] = Queue(some, demands, state.runs)

    def has(self, able: Bools) -> bool:
        """Return whether any job waits whose demand is ``able``."""
        return any(queue.next(0, able) >= 0 for queues in self._queues.values() for queue in queues.values())

    def of_priority(self, rank: int) -> dict[int, Queue]:
        """Return the queues of the jobs of one priority, by tenant."""
        return self._queues.get(rank, {})

    def served(self, tenant: int) -> int:
        """Return the part of its quota that a tenant uses, as a whole number; of a quota of nothing, all and more.

        Without a quota a tenant may have the whole cluster, so that is what its GPUs are a part of. Jobs without a
        tenant are a tenant that has used nothing: they have nobody to share with.
        """
        if tenant < 0:
            return 0
        part, before = self._parts[tenant]
        return part * (before + self._state.used(tenant))

    def in_turn(self, rank: int) -> list[tuple[int, Queue]]:
        """Return the tenants with queues of one priority, the least served first, and these queues."""
        queues = self.of_priority(rank)
        return [(tenant, queues[tenant]) for tenant in sorted(queues, key=lambda tenant: (self.served(tenant), tenant))]


def _parts_of_quotas(quotas: list[int], total: int) -> list[tuple[int, int]]:
    """Return for each quota what one GPU of it counts, all in the same unit, and GPUs that count beside those used."""
    wholes = [total if quota >= UNLIMITED else quota for quota in quotas]
    unit = lcm(*(whole for whole in wholes if whole))
    return [(unit // whole, 0) if whole else (unit, total) for whole in wholes]
