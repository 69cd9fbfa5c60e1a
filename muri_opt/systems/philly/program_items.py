"""What the chapter *placement* decides about: the jobs that can be put somewhere, where, and how far apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.systems.capacity import nodes_needed
from muri_opt.systems.philly.job_status import Bools, JobStatus
from muri_opt.systems.philly.locality import ANYWHERE, IN_RACK, TOGETHER, Locality


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Free:
    """What the nodes have besides the jobs that stay whatever is decided.

    ``taken`` and ``closed`` are only about gangs with nodes of their own: where such a job is, and where one cannot go.
    A limit of CPUs or memory that cannot bind is ``UNLIMITED``.
    """

    gpus: Ints
    cpus: Ints
    memory: Ints
    taken: Bools
    closed: Bools

    @classmethod
    def of(cls, round_: Round, standing: JobStatus, stays: Bools) -> Free:
        """Return what is left of the nodes beside the jobs that ``stays`` marks."""
        amounts, rules = round_.amounts, standing.rules
        gpus, cpus, memory = amounts.G.copy(), amounts.C.copy(), amounts.M.copy()
        taken = np.zeros(len(gpus), dtype=bool)
        for job in np.flatnonzero(stays).tolist():
            nodes, held = np.array(list(standing.held[job].items()), dtype=np.int64).T
            gpus[nodes] -= held
            cpus[nodes] -= held * amounts.c[job]
            memory[nodes] -= held * amounts.m[job]
            taken[nodes] |= rules.shares_with_nobody(int(amounts.g[job]))
        others = ~stays
        cpus = np.where(gpus * amounts.c[others].max(initial=0) <= cpus, UNLIMITED, cpus)
        memory = np.where(gpus * amounts.m[others].max(initial=0) <= memory, UNLIMITED, memory)
        closed = (gpus < amounts.G) & (rules.dedicated is not None)
        return cls(gpus=gpus, cpus=cpus, memory=memory, taken=taken, closed=closed)

    def room(self, round_: Round, job: int, *, alone: bool) -> Ints:
        """Return u_js, how many GPUs of a job fit on each node."""
        amounts = round_.amounts
        room = np.minimum(amounts.most_gpus([job], self.gpus, self.cpus, self.memory), amounts.g[job])
        return np.where(self.taken | (self.closed & alone), 0, room)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Item:
    """Jobs that can be put on nodes and cannot be told apart, as a rule one.

    ``room[s]`` is u_js. ``caps`` has the spreads l that are possible, each with the most nodes it can use. A *whole*
    item can only be on one node, all of it. ``racks`` are those it can be in, where it must keep to one of several.
    """

    jobs: tuple[int, ...]
    room: Ints
    caps: dict[int, int]
    whole: bool
    racks: Ints

    @property
    def first(self) -> int:
        """The job it is named after."""
        return self.jobs[0]

    @property
    def most_nodes(self) -> int:
        """On how many nodes its jobs can be at most."""
        return len(self.jobs) if self.whole else max(self.caps.values())


def items_of(round_: Round, standing: JobStatus, free: Free, placeable: Bools) -> list[Item]:
    """Return the items of the jobs that ``placeable`` marks, as far as there is room for them.

    Waiting jobs that can only be on one node are merged if they ask for the same, for the same tenant, at the same
    worth: then it does not matter which of them runs, and where.
    """
    amounts, locality = round_.amounts, standing.locality
    ways: dict[tuple[int, ...], tuple[Ints, dict[int, int], Ints]] = {}
    merged: dict[tuple[int, ...], list[int]] = {}
    found: list[tuple[tuple[int, ...], list[int]]] = []
    for job in np.flatnonzero(placeable).tolist():
        way = (int(amounts.g[job]), int(amounts.c[job]), int(amounts.m[job]), int(standing.widest[job]))
        if way not in ways:
            alone = standing.rules.shares_with_nobody(way[0])
            ways[way] = _ways(locality, job, free.room(round_, job, alone=alone), way[0], way[3])
        caps = ways[way][1]
        if caps == {TOGETHER: 1} and not standing.running[job]:
            alike = (*way, int(amounts.tenant[job]), *standing.values.placed[job].tolist())
            if alike in merged:
                merged[alike].append(job)
                continue
            merged[alike] = [job]
            found.append((way, merged[alike]))
        elif caps:
            found.append((way, [job]))
    return [
        Item(jobs=tuple(jobs), room=ways[way][0], caps=ways[way][1], whole=ways[way][1] == {TOGETHER: 1}, racks=racks)
        for way, jobs in found
        for racks in (ways[way][2],)
    ]


def _ways(locality: Locality, job: int, room: Ints, gpus: int, level: int) -> tuple[Ints, dict[int, int], Ints]:
    """Return the room of a job on the nodes it can use, the spreads it can have there, and its racks."""
    fewest, caps = int(locality.fewest[job]), dict[int, int]()
    usable = int(np.count_nonzero(room))
    enough = bool(room.sum() >= gpus)
    if not locality.in_rack[job]:
        if enough and nodes_needed(room, gpus) <= fewest:
            caps[TOGETHER] = fewest
        if enough and level >= ANYWHERE and min(usable, gpus) > fewest:
            caps[ANYWHERE] = min(usable, gpus)
        return room, caps, np.zeros(0, dtype=np.int64)
    members = [np.flatnonzero(locality.rack == rack) for rack in range(len(locality.racks))]
    holding = [rack for rack, nodes in enumerate(members) if room[nodes].sum() >= gpus]
    if any(nodes_needed(room[members[rack]], gpus) <= fewest for rack in holding):
        caps[TOGETHER] = fewest
    widest = max((int(np.count_nonzero(room[members[rack]])) for rack in holding), default=0)
    if level >= IN_RACK and min(widest, gpus) > fewest:
        caps[IN_RACK] = min(widest, gpus)
    if level >= ANYWHERE and enough and gpus > 1 and len(np.unique(locality.rack[room > 0])) > 1:
        caps[ANYWHERE] = min(usable, gpus)
    else:
        room = np.where(np.isin(locality.rack, holding), room, 0)
    if caps == {TOGETHER: 1}:
        room = np.where(room >= gpus, room, 0)
        return room, caps, np.zeros(0, dtype=np.int64)
    racks = np.unique(locality.rack[room > 0])
    return room, caps, racks if len(racks) > 1 else np.zeros(0, dtype=np.int64)
