"""Nodes that are alike: the same room beside fixed jobs, and the same jobs in it that may go.

Counting equal nodes takes symmetry out of the decomposition: one pricing problem per class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.philly.job_status import JobStatus
from muri_opt.systems.philly.search.gang_classes import GangClasses, quota_tenant
from muri_opt.systems.philly.search.possible_spreads import free_of_fixed

MOST_RESIDENTS = 10
"""Residents of a node whose every subset is looked at; of more, the largest."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Residents:
    """Parts of running jobs that may go, one entry per job and node.

    Part i has ``units[i]`` GPUs with ``c[i]`` and ``m[i]`` each. That it stays is worth ``worth[i]`` for each GPU, with
    what its restart would lose.
    """

    job: Ints
    node: Ints
    units: Ints
    c: Ints
    m: Ints
    tenant: Ints
    worth: Ints
    kind: Ints

    @classmethod
    def of(cls, round_: Round, status: JobStatus, asks: GangClasses) -> Residents:
        """Return the parts of all running jobs that are not fixed, by node and then as equal nodes show them."""
        amounts, gone = round_.amounts, np.flatnonzero(status.running & ~status.fixed & (round_.amounts.g > 0))
        rows = [(job, node, units) for job in gone.tolist() for node, units in status.held[job].items()]
        job, node, units = np.array(rows, dtype=np.int64).reshape(len(rows), 3).T
        worth = (status.values.kept[job] + status.values.restart[job]) // amounts.g[job]
        found = cls(
            job=job,
            node=node,
            units=units,
            c=amounts.c[job],
            m=amounts.m[job],
            tenant=quota_tenant(round_)[job],
            worth=worth,
            kind=asks.of_job[job],
        )
        order = np.lexsort((job, *found.signature.T, node))
        return found.take(order)

    @property
    def signature(self) -> Ints:
        """What makes two parts alike."""
        return np.column_stack([self.units, self.c, self.m, self.tenant, self.worth, self.kind])

    def take(self, some: Ints) -> Residents:
        """Return some of the parts, in this order."""
        return Residents(
            job=self.job[some],
            node=self.node[some],
            units=self.units[some],
            c=self.c[some],
            m=self.m[some],
            tenant=self.tenant[some],
            worth=self.worth[some],
            kind=self.kind[some],
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rooms:
    """Classes of equal nodes; class i has ``nodes[i]``, on each of which ``room[i]`` is free of fixed jobs.

    The residents of node s are those from ``starts[s]`` to ``starts[s + 1]``; equal nodes have them in one order.
    ``stayers`` are parts beyond the limit, taken to stay; their room is not free.
    """

    nodes: tuple[Ints, ...]
    count: Ints
    room: Ints
    residents: Residents
    starts: Ints
    stayers: Residents

    @classmethod
    def of(cls, round_: Round, status: JobStatus, asks: GangClasses) -> Rooms:
        """Return the classes of a round's nodes."""
        room = free_of_fixed(round_, status)
        every = Residents.of(round_, status, asks)
        beyond = _beyond(every)
        stayers, residents = every.take(np.flatnonzero(beyond)), every.take(np.flatnonzero(~beyond))
        for axis, each in enumerate((np.ones_like(stayers.c), stayers.c, stayers.m)):
            np.subtract.at(room[:, axis], stayers.node, stayers.units * each)
        starts = np.searchsorted(residents.node, np.arange(len(room) + 1))
        signature = residents.signature
        classes: dict[tuple[bytes, bytes], list[int]] = {}
        for node in range(len(room)):
            mine = signature[starts[node] : starts[node + 1]]
            if room[node, 0] > 0:
                classes.setdefault((room[node].tobytes(), mine.tobytes()), []).append(node)
        nodes = tuple(np.array(some, dtype=np.int64) for some in classes.values())
        heads = np.array([some[0] for some in nodes], dtype=np.int64)
        return cls(
            nodes=nodes,
            count=np.array([len(some) for some in nodes], dtype=np.int64),
            room=room[heads],
            residents=residents,
            starts=starts,
            stayers=stayers,
        )

    def of_node(self, node: int) -> range:
        """Return the residents of a node."""
        return range(int(self.starts[node]), int(self.starts[node + 1]))

    def of_class(self, which: int) -> range:
        """Return the residents of the first node of a class."""
        return self.of_node(int(self.nodes[which][0]))

    def __len__(self) -> int:
        return len(self.count)


def _beyond(every: Residents) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which parts are beyond the limit of their nodes: small ones, and of equal size those worth most."""
    order = np.lexsort((every.worth, -every.units, every.node))
    starts = np.searchsorted(every.node[order], every.node[order])
    beyond = np.zeros(len(order), dtype=bool)
    beyond[order] = np.arange(len(order)) - starts >= MOST_RESIDENTS
    return beyond
