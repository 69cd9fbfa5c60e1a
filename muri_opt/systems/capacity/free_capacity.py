"""What is still free while gangs are placed one after another."""

from __future__ import annotations

from collections.abc import Mapping

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.free_capacity import FreeCapacity
from muri_opt.systems.capacity.node_sets import node_sets
from muri_opt.systems.capacity.shaped_fit import only_where

_EVERYWHERE = slice(None)


class Leftover(FreeCapacity):
    """What gangs leave, one or several on the same GPUs.

    ``asks[j]`` are the GPUs that job j counts for in its tenant's quota: those it asks for, unless its share is
    decided otherwise. ``sets`` says where jobs may start, ``None`` if anywhere.

    >>> Leftover(shipped_round("toy/two-gangs")).room(0)
    array([4, 4])
    """

    def __init__(self, round_: Round, asks: Ints | None = None) -> None:
        super().__init__(round_.amounts)
        self.asks: Ints = self.amounts.g if asks is None else asks
        self.sets = node_sets(round_)

    @classmethod
    def beside(cls, round_: Round, shares: Mapping[int, Ints]) -> Leftover:
        """Return what is left where each job alone has its share."""
        left = cls(round_)
        for job, share in shares.items():
            left.take(share, job)
        return left

    def within_quota(self, *jobs: int) -> bool:
        """Return whether the tenants of the jobs, and those above them, may hold their GPUs, too."""
        asked: dict[int, int] = {}
        for job in jobs:
            tenant = int(self.amounts.tenant[job])
            for one in (tenant,) if self.amounts.lines is None else self.amounts.line(tenant):
                asked[one] = asked.get(one, 0) + int(self.asks[job])
        return all(self.has_quota(tenant, gpus) for tenant, gpus in asked.items() if gpus)

    def room(self, *jobs: int) -> Ints:
        """Return how many GPUs, with the CPUs and memory of all the jobs that share them, fit on each node now."""
        return self.most_gpus(*jobs)

    def start_room(self, job: int) -> Ints:
        """Return how many GPUs of a job fit now on each node on which it may start."""
        room = self.room(job)
        return room if self.sets is None else only_where(room, self.sets.of(job))

    def take(self, share: Ints, *jobs: int) -> None:
        """Give jobs that share GPUs ``share[s]`` of each node s, with the CPUs and memory they need together."""
        taken = list(jobs)
        self.occupy(_EVERYWHERE, share, share * self.amounts.c[taken].sum(), share * self.amounts.m[taken].sum())
        for job in jobs:
            self.charge(int(self.amounts.tenant[job]), int(self.asks[job]))
