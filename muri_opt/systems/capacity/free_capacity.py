"""What is still free while gangs are placed one after another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.free_capacity import FreeCapacity
from muri_opt.systems.capacity.node_sets import Demand, node_sets
from muri_opt.systems.capacity.shaped_fit import only_where
from muri_opt.systems.capacity.type_quotas import type_quotas

_FEW = 8
"""Gangs that are taken from the nodes one after another; more are counted together."""
Entries = tuple[Ints, Ints, Ints]
"""Groups, nodes and GPUs: who has how many where."""


class Leftover(FreeCapacity):
    """What gangs leave, one or several on the same GPUs.

    ``asks[j]`` are the GPUs that job j counts for in its tenant's quota: those it asks for, unless its share is
    decided otherwise. ``sets`` says where jobs may start, ``None`` if anywhere; ``types`` has quotas by GPU type.

    >>> Leftover(shipped_round("toy/two-gangs")).room(0)
    array([4, 4])
    """

    def __init__(self, round_: Round, asks: Ints | None = None) -> None:
        super().__init__(round_.amounts)
        self.asks: Ints = self.amounts.g if asks is None else asks
        self.sets, self.types = node_sets(round_), type_quotas(round_)

    @classmethod
    def beside(cls, round_: Round, shares: Mapping[int, Ints], of: Entries | None = None) -> Leftover:
        """Return what is left where each job alone has its share; ``of`` are the :func:`entries`, if they are known."""
        left, groups = cls(round_), [((job,), share) for job, share in shares.items()]
        if of is None:
            left.take_all(groups)
        elif groups:
            left.take_entries(groups, of)
        return left

    def take_all(self, groups: Sequence[tuple[Sequence[int], Ints]]) -> None:
        """Give groups of jobs a share each, as :meth:`take` does: many have few GPUs each of very many nodes."""
        if len(groups) < _FEW:
            for jobs, share in groups:
                self.take(share, *jobs)
            return
        self.take_entries(groups, entries([share for _, share in groups]))

    def take_entries(self, groups: Sequence[tuple[Sequence[int], Ints]], of: Entries) -> None:
        """Give groups of jobs a share each, of which the :func:`entries` are known."""
        occupy_entries(self, [jobs for jobs, _ in groups], of)
        if self.types is None and self.borrowed is None and self.amounts.lines is None:
            members = np.array([job for jobs, _ in groups for job in jobs], dtype=np.int64)
            listed = members[self.amounts.tenant[members] >= 0]
            np.subtract.at(self.quota, self.amounts.tenant[listed], self.asks[listed])
            return
        for jobs, share in groups:
            for job in jobs:
                self.count_quota(job, share)

    def within_quota(self, *jobs: int) -> bool:
        """Return whether the tenants of the jobs, and those above them, may hold their GPUs, too."""
        if len(jobs) == 1 and self.amounts.lines is None:
            gpus = int(self.asks[jobs[0]])
            return not gpus or self.has_quota(int(self.amounts.tenant[jobs[0]]), gpus)
        asked: dict[int, int] = {}
        for job in jobs:
            tenant = int(self.amounts.tenant[job])
            for one in (tenant,) if self.amounts.lines is None else self.amounts.line(tenant):
                asked[one] = asked.get(one, 0) + int(self.asks[job])
        return all(self.has_quota(tenant, gpus) for tenant, gpus in asked.items() if gpus)

    def line(self, job: int) -> tuple[int, ...]:
        """Return the tenants whose quotas a job counts for."""
        return self.amounts.line(int(self.amounts.tenant[job]))

    def within_types(self, job: int, share: Ints) -> bool:
        """Return whether the quotas by GPU type allow a job these GPUs per node, too."""
        return self.types is None or self.types.allow(self.line(job), share)

    def demand(self, job: int) -> Demand | None:
        """Return what a job asks of nodes, less the sets of a GPU type of which its tenants have too few left."""
        return None if self.sets is None else self.within_type_quotas(job, self.sets.of(job))

    def within_type_quotas(self, job: int, asked: Demand) -> Demand:
        """Return a demand of a job, less the sets of a GPU type of which its tenants have too few left."""
        if self.types is None:
            return asked
        types = self.types.types
        enough = self.types.spare(self.line(job)) >= self.asks[job]
        sets, near = (tuple(nodes for nodes in some if enough[types[nodes[0]]]) for some in (asked.sets, asked.near))
        return replace(asked, sets=sets, near=near)

    def room(self, *jobs: int) -> Ints:
        """Return how many GPUs, with the CPUs and memory of all the jobs that share them, fit on each node now."""
        return self.most_gpus(*jobs)

    def start_room(self, job: int) -> Ints:
        """Return how many GPUs of a job fit now on each node on which it may start."""
        room = self.room(job)
        return room if self.sets is None else only_where(room, self.sets.of(job))

    def holds_share(self, job: int, share: Ints) -> bool:
        """Return whether GPUs per node, with the CPUs and memory of a job, are free; only its nodes are looked at."""
        used, amounts = share.nonzero()[0], self.amounts
        if len(used) == 1:  # of one node they are numbers
            node = used[0]
            part = share[node]
            fits = part <= self.gpus[node] and part * amounts.c[job] <= self.cpus[node]
            return bool(fits and part * amounts.m[job] <= self.memory[node])
        parts = share[used]
        needs = ((self.gpus, parts), (self.cpus, parts * amounts.c[job]), (self.memory, parts * amounts.m[job]))
        return all((need <= has[used]).all() for has, need in needs)

    def take(self, share: Ints, *jobs: int) -> None:
        """Give jobs that share GPUs ``share[s]`` of each node s, with the CPUs and memory they need together."""
        self._count(share, jobs, 1)

    def give_back(self, share: Ints, *jobs: int) -> None:
        """Undo what :meth:`take` did."""
        self._count(share, jobs, -1)

    def _count(self, share: Ints, jobs: tuple[int, ...], times: int) -> None:
        used, amounts = share.nonzero()[0], self.amounts
        if len(jobs) == 1:
            cpus, memory = amounts.c[jobs[0]], amounts.m[jobs[0]]
        else:
            cpus, memory = sum(int(amounts.c[job]) for job in jobs), sum(int(amounts.m[job]) for job in jobs)
        if len(used) == 1:  # of one node it is a number, which is far quicker to count than an array
            node = used[0]
            part = times * share[node]
            self.occupy(node, part, part * cpus, part * memory)
        else:
            parts = times * share[used]
            self.occupy(used, parts, parts * cpus, parts * memory)
        for job in jobs:
            self.count_quota(job, share, times)

    def count_quota(self, job: int, share: Ints, times: int = 1) -> None:
        """Count the GPUs of a job, so many times, against the quotas of its tenants."""
        self.charge(int(self.amounts.tenant[job]), times * int(self.asks[job]))
        if self.types is not None:
            self.types.charge(self.line(job), times * share)


def entries(shares: Sequence[Ints]) -> Entries:
    """Return who has GPUs where: the places of shares of all nodes, of nodes, and how many GPUs that share has there.

    >>> entries([np.array([0, 2]), np.array([1, 1])])
    (array([0, 1, 1]), array([1, 0, 1]), array([2, 1, 1]))
    """
    none = np.zeros(0, dtype=np.int64)
    nodes = [share.nonzero()[0] for share in shares]
    group = np.repeat(np.arange(len(shares)), [len(some) for some in nodes])
    gpus = [share[some] for share, some in zip(shares, nodes, strict=True)]
    return group.astype(np.int64), np.concatenate([none, *nodes]), np.concatenate([none, *gpus])


def occupy_entries(free: FreeCapacity, groups: Sequence[Sequence[int]], of: Entries) -> None:
    """Take the GPUs of nodes that groups of jobs have, with the CPUs and memory of all their members."""
    group, node, gpus = of
    cpus, memory = (need[group] for need in summed_each((free.amounts.c, free.amounts.m), groups))
    for has, taken in ((free.gpus, gpus), (free.cpus, gpus * cpus), (free.memory, gpus * memory)):
        np.subtract.at(has, node, taken)


def summed(needs: Ints, groups: Sequence[Sequence[int]]) -> Ints:
    """Return what the jobs of each group need together."""
    return summed_each((needs,), groups)[0]


def summed_each(needs: Sequence[Ints], groups: Sequence[Sequence[int]]) -> list[Ints]:
    """Return the same of several things that jobs need."""
    if not groups:
        return [np.zeros(0, dtype=np.int64) for _ in needs]
    jobs = np.fromiter(chain.from_iterable(groups), dtype=np.int64)
    if len(jobs) == len(groups):
        return [need[jobs] for need in needs]
    sizes = np.fromiter(map(len, groups), dtype=np.int64, count=len(groups))
    return [np.add.reduceat(need[jobs], np.cumsum(sizes) - sizes) for need in needs]
