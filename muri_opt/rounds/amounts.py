"""The amounts of a round as integer arrays, under the letters of the chapters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds.borrowing import Borrowing
from muri_opt.rounds.cluster import Cluster
from muri_opt.rounds.job import Job
from muri_opt.rounds.memoise import last_recalled
from muri_opt.rounds.quantities import MIB_PER_GIB, MILLI_PER_CPU, mebibytes, milli_cpus
from muri_opt.rounds.tenant_tree import lines_above

Ints = NDArray[np.int64]
UNLIMITED: Final = 1 << 50
"""Stands for a limit that was left out; larger than any amount a round can hold."""
_asked: Final = attrgetter("gpus", "cpus", "memory_gib")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Amounts:
    """What jobs ask and nodes have, in whole GPUs, milli-CPUs and MiB.

    Job j asks for ``g[j]`` GPUs and, with each of them, ``c[j]`` milli-CPUs and ``m[j]`` MiB (its totals divided by its
    GPUs and rounded up). Node s has ``G[s]``, ``C[s]``, ``M[s]``. Job j belongs to tenant ``tenant[j]`` (-1: none
    listed), whose quota is ``U``. Where tenants have parents, ``lines`` has each tenant with all those above it: their
    quotas count what it has, too. Where tenants may borrow, ``U`` is what they may have at most, with what they borrow,
    and ``borrowing`` says of whom.
    """

    g: Ints
    c: Ints
    m: Ints
    G: Ints
    C: Ints
    M: Ints
    tenant: Ints
    U: Ints
    lines: tuple[tuple[int, ...], ...] | None = None
    borrowing: Borrowing | None = None

    @classmethod
    def of(cls, cluster: Cluster, jobs: tuple[Job, ...]) -> Amounts:
        """Return the arrays of a cluster and its jobs."""
        lines = lines_above(cluster.tenants)
        place = {tenant.id: position for position, tenant in enumerate(cluster.tenants)}
        asks = np.array([*map(_asked, jobs)], dtype=np.float64).reshape(-1, 3)  # not a number where it is not said
        g = asks[:, 0].astype(np.int64)
        c, m = (_with_each_gpu(of_all, g) for of_all in (asks[:, 1] * MILLI_PER_CPU, asks[:, 2] * MIB_PER_GIB))
        gpus, cpus, memory = (amount.copy() for amount in _of_nodes(cluster))
        return cls(
            g=g,
            c=c,
            m=m,
            G=gpus,
            C=cpus,
            M=memory,
            tenant=_ints(-1 if job.tenant is None else place.get(job.tenant, -1) for job in jobs),
            U=_ints(
                UNLIMITED if t.quota_gpus is None else t.quota_gpus + (t.borrow_gpus or 0) for t in cluster.tenants
            ),
            lines=lines,
            borrowing=Borrowing.of(cluster, lines),
        )

    def line(self, tenant: int) -> tuple[int, ...]:
        """Return the tenants whose quotas a job of this tenant counts for, its own first; none where it is -1."""
        if tenant < 0:
            return ()
        return (tenant,) if self.lines is None else self.lines[tenant]

    def least_in_line(self, quota: Ints) -> Ints:
        """Return for each tenant the least of a ``quota`` of its own and of all above it, and no limit at last.

        So the number of the tenant of a job, -1 where it has none, is a place in it.
        """
        every = quota.tolist()
        least = [min([every[one] for one in self.line(tenant)]) for tenant in range(len(every))]
        return np.array([*least, UNLIMITED], dtype=np.int64)

    def most_gpus(self, jobs: Sequence[int], free_gpus: Ints, free_cpus: Ints, free_memory: Ints) -> Ints:
        """Return how many GPUs, with the CPUs and memory of all the jobs that share them, fit on each node.

        A node may have room for more than the jobs ask for: how much more is what makes one node tighter than another.
        """
        return gpus_that_fit(self.needs_of(jobs), free_gpus, free_cpus, free_memory)

    def needs_of(self, jobs: Sequence[int]) -> tuple[int, int]:
        """Return the milli-CPUs and MiB that all of some jobs take together with each GPU."""
        return sum(int(self.c[job]) for job in jobs), sum(int(self.m[job]) for job in jobs)


def gpus_that_fit(needs: tuple[int, int], free_gpus: Ints, free_cpus: Ints, free_memory: Ints) -> Ints:
    """Return how many GPUs fit on each node with so many milli-CPUs and MiB each.

    >>> gpus_that_fit((3, 0), np.array([4, 4]), np.array([9, 30]), np.array([8, 8])).tolist()
    [3, 4]
    """
    room: Ints = free_gpus.copy()
    for need, free in zip(needs, (free_cpus, free_memory), strict=True):
        if need:
            room = np.minimum(room, free // need)
    return room


def rooms_that_fit(needs: Ints, free_gpus: Ints, free_cpus: Ints, free_memory: Ints) -> Ints:
    """Return ``[u, s]``, how many GPUs fit on node s with ``needs[u]``, milli-CPUs and MiB with each; all at once.

    >>> rooms_that_fit(np.array([[3, 0], [0, 0]]), np.array([4, 4]), np.array([9, 30]), np.array([8, 8])).tolist()
    [[3, 4], [4, 4]]
    """
    room = np.broadcast_to(free_gpus, (len(needs), len(free_gpus))).astype(np.float64)
    for need, free in zip(needs.T.astype(np.float64), (free_cpus, free_memory), strict=True):
        asking = np.flatnonzero(need)
        if len(asking):  # floats divide several times as fast, and the floor is exact where amounts are below 2**52
            some = slice(None) if len(asking) == len(need) else asking
            room[some] = np.minimum(room[some], free.astype(np.float64) / need[some, np.newaxis])
    return np.floor(room, out=room).astype(np.int64)


def unlike(rows: Ints) -> tuple[Ints, Ints]:
    """Return the rows that differ, such as what jobs need, and which of them each row is like.

    >>> [some.tolist() for some in unlike(np.array([[2, 0], [1, 5], [2, 0]]))]
    [[[1, 5], [2, 0]], [1, 0, 1]]
    """
    code = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        known, at = np.unique(column, return_inverse=True)
        code = code * len(known) + at
    _, first, alike = np.unique(code, return_index=True, return_inverse=True)
    return rows[first], alike


def _with_each_gpu(of_all: NDArray[np.float64], gpus: Ints) -> Ints:
    """Return the milli-CPUs or MiB that go with each GPU of a job, in whole ones: what all of them need, divided."""
    total = np.rint(np.nan_to_num(of_all)).astype(np.int64)
    return np.where(gpus > 0, -(-total // np.maximum(gpus, 1)), total)


@last_recalled
def _of_nodes(cluster: Cluster) -> tuple[Ints, Ints, Ints]:
    """Return the GPUs, milli-CPUs and MiB of each node: a session keeps its cluster from round to round."""
    nodes = cluster.nodes
    return (
        _ints(node.gpus for node in nodes),
        _ints(UNLIMITED if node.cpus is None else milli_cpus(node.cpus) for node in nodes),
        _ints(UNLIMITED if node.memory_gib is None else mebibytes(node.memory_gib) for node in nodes),
    )


def _ints(values: Iterable[int]) -> Ints:
    return np.fromiter(values, dtype=np.int64)
