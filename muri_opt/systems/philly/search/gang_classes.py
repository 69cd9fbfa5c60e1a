"""Gangs that may be given places: candidates, and running jobs that may go elsewhere; equal ones counted together.

Counting equal gangs takes symmetry out of the master problem: one row ``once`` per class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.systems.philly.job_status import JobStatus
from muri_opt.systems.philly.locality import ANYWHERE, IN_RACK, TOGETHER
from muri_opt.systems.philly.search.possible_spreads import Reach, free_of_fixed

NO_QUOTA = -1
"""The tenant of a job whose GPUs all count as within a quota."""
_NEVER = -1
"""What a GPU is worth to a gang that may not sit so."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GangClasses:
    """Kinds of gangs: how many there are, what each takes, and what each of its GPUs is worth.

    A gang of kind i takes ``g[i]`` GPUs, with each of them ``c[i]`` milli-CPUs and ``m[i]`` MiB. A GPU is worth
    ``near[i]`` where the gang has ``least[i]`` GPUs or more on a node, as if it sat together, and ``apart[i]`` where it
    has fewer and must be spread further; less than nothing where it may not. A GPU of a running job is worth what its
    restart would lose besides; if it ``moves[i]`` it is not preempted, if it ``restarts[i]`` it is.
    """

    members: tuple[Ints, ...]
    of_job: Ints
    count: Ints
    g: Ints
    c: Ints
    m: Ints
    tenant: Ints
    least: Ints
    near: Ints
    apart: Ints
    moves: NDArray[np.bool_]
    restarts: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.count)

    @classmethod
    def of(cls, round_: Round, status: JobStatus) -> GangClasses:
        """Return the kinds of a round's candidates and movable jobs, in the order of their first jobs."""
        amounts, tenant = round_.amounts, quota_tenant(round_)
        reach = Reach(round_, status, free_of_fixed(round_, status))
        kinds: dict[tuple[int, ...], list[int]] = {}
        for job in np.flatnonzero((status.may.start | status.may.move) & (amounts.g > 0)).tolist():
            gpus, runs = int(amounts.g[job]), bool(status.running[job])
            restarts = runs and status.rules.migrate == 0
            worth = status.values.placed[job] // gpus  # whole numbers: a gang is worth the same for each of its GPUs
            worth = worth + status.values.restart[job] // gpus + status.values.penalty * restarts
            spreads = reach.spreads(job)
            if not spreads:
                continue
            further = [spread for spread in (IN_RACK, ANYWHERE) if spread in spreads]
            row = (
                gpus,
                int(amounts.c[job]),
                int(amounts.m[job]),
                int(tenant[job]),
                reach.least(job),
                int(worth[TOGETHER]) if TOGETHER in spreads else _NEVER,
                int(worth[further[0]]) if further else _NEVER,
                int(runs and not restarts),
                int(restarts),
            )
            kinds.setdefault(row, []).append(job)
        members = tuple(np.array(jobs, dtype=np.int64) for jobs in kinds.values())
        of_job = np.full(len(round_.jobs), -1, dtype=np.int64)
        for kind, jobs in enumerate(members):
            of_job[jobs] = kind
        rows = np.array(list(kinds), dtype=np.int64).reshape(len(kinds), 9)
        g, c, m, owner, least, near, apart, moving, again = rows.T
        return cls(
            members=members,
            of_job=of_job,
            count=np.array([len(jobs) for jobs in members], dtype=np.int64),
            g=g,
            c=c,
            m=m,
            tenant=owner,
            least=least,
            near=near,
            apart=apart,
            moves=moving.astype(np.bool_),
            restarts=again.astype(np.bool_),
        )

    def worth(self, kind: int, units: int) -> int:
        """Return what each of so many GPUs of a gang on one node is worth; less than nothing if it cannot sit so."""
        together = self.near[kind] >= 0 and units >= self.least[kind]
        return int(self.near[kind] if together else self.apart[kind])


def quota_tenant(round_: Round) -> Ints:
    """Return the tenant of each job if it has a quota, else ``NO_QUOTA``."""
    amounts = round_.amounts
    limited = np.append(amounts.U < UNLIMITED, False)
    return np.where(limited[amounts.tenant], amounts.tenant, NO_QUOTA)
