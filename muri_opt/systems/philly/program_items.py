"""What the chapter *placement* decides about: the jobs that can be put somewhere, where, and how far apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.rounds.shape import NodeRange
from muri_opt.systems.capacity import nodes_needed
from muri_opt.systems.philly.job_status import Bools, Held, JobStatus
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
    def of(cls, round_: Round, status: JobStatus, stays: Bools) -> Free:
        """Return what is left of the nodes beside the jobs that ``stays`` marks."""
        amounts, rules = round_.amounts, status.rules
        gpus, cpus, memory = status.gpus.copy(), amounts.C.copy(), amounts.M.copy()
        taken = np.zeros(len(gpus), dtype=bool)
        for job in np.flatnonzero(stays).tolist():
            nodes, held = np.array(list(status.held[job].items()), dtype=np.int64).T
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
    """Jobs that can be put on nodes and cannot be told apart, as a rule one; in one of the ways they may be.

    A job has an item for each part of the cluster that it must be inside of, and for each number of equal parts.
    ``room[s]`` is u_js. ``caps`` has the spreads l that are possible, each with the most nodes it can use; ``least`` is
    the fewest. With ``share`` GPUs on each of its nodes an item is of equal parts; it is *whole* if there is but one
    part, so that it can only be on one node. ``racks`` are those it can be in, where it must keep to one of several.
    """

    jobs: tuple[int, ...]
    room: Ints
    caps: dict[int, int]
    least: int
    share: int | None
    parts: int
    racks: Ints

    @property
    def whole(self) -> bool:
        """Whether it can only be on one node, all of it."""
        return self.caps == {TOGETHER: 1}

    @property
    def first(self) -> int:
        """The job it is named after."""
        return self.jobs[0]

    @property
    def most_nodes(self) -> int:
        """On how many nodes its jobs can be at most."""
        return len(self.jobs) * max(self.caps.values())

    def holds(self, held: Held) -> bool:
        """Return whether a place is one of those that the item is about."""
        parts = self.share is None or len(held) == self.parts
        return parts and all(self.room[node] >= gpus for node, gpus in held.items())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Way:
    """One way to put a job: all that an item has but its jobs."""

    room: Ints
    caps: dict[int, int]
    least: int
    share: int | None
    parts: int
    racks: Ints


def items_of(round_: Round, status: JobStatus, free: Free, placeable: Bools) -> list[Item]:
    """Return the items of the jobs that ``placeable`` marks, as far as there is room for them.

    Waiting jobs that can only be on one node are merged if they ask for the same, for the same tenant, at the same
    worth: then it does not matter which of them runs, and where.
    """
    amounts = round_.amounts
    known: dict[tuple[int, ...], list[_Way]] = {}
    merged: dict[tuple[int, ...], list[int]] = {}
    found: list[tuple[tuple[int, ...], list[int]]] = []
    for job in np.flatnonzero(placeable & status.locality.fits).tolist():  # some run where they could not start
        asks = (
            int(amounts.g[job]),
            int(amounts.c[job]),
            int(amounts.m[job]),
            int(status.widest[job]),
            status.kind(job),
        )
        if asks not in known:
            alone = status.rules.shares_with_nobody(asks[0])
            known[asks] = list(_ways(status, job, asks[0], free.room(round_, job, alone=alone)))
        if not known[asks]:
            continue
        if not status.running[job] and all(way.caps == {TOGETHER: 1} for way in known[asks]):
            worth = status.values.work[job].tolist()
            alike = (*asks, int(amounts.tenant[job]), int(status.rank[job]), *worth)
            if alike in merged:
                merged[alike].append(job)
                continue
            merged[alike] = [job]
            found.append((asks, merged[alike]))
        else:
            found.append((asks, [job]))
    return [
        Item(
            jobs=tuple(jobs),
            room=way.room,
            caps=way.caps,
            least=way.least,
            share=way.share,
            parts=way.parts,
            racks=way.racks,
        )
        for asks, jobs in found
        for way in known[asks]
    ]


def _ways(status: JobStatus, job: int, gpus: int, room: Ints) -> Iterator[_Way]:
    """Yield the ways to put a job on nodes with so much room: one, or one for each thing that it may choose from."""
    level = int(status.widest[job])
    if status.sets is None:
        yield from _anyhow(status.locality, job, room, gpus, level)
        return
    demand = status.sets.of(job)
    for nodes in demand.sets:
        here = np.zeros_like(room)
        here[nodes] = room[nodes]
        if not demand.even:
            for way in _anyhow(status.locality, job, here, gpus, level, demand.most):
                yield replace(way, least=demand.least)
            continue
        for parts in NodeRange(least=demand.least, most=demand.most).counts(gpus, even=True):
            yield from _in_parts(status.locality, job, here, gpus // parts, parts, level)


def _anyhow(
    locality: Locality, job: int, room: Ints, gpus: int, level: int, limit: int | None = None
) -> Iterator[_Way]:
    """Yield the way to put a job on nodes with so much room, on at most ``limit`` of them, if there is one."""
    fewest, caps = int(locality.fewest[job]), dict[int, int]()
    most = gpus if limit is None else min(gpus, limit)
    usable = int(np.count_nonzero(room))
    enough = bool(room.sum() >= gpus)
    racks = np.zeros(0, dtype=np.int64)
    if not locality.in_rack[job]:
        if enough and nodes_needed(room, gpus) <= fewest:
            caps[TOGETHER] = fewest
        if enough and level >= ANYWHERE and min(usable, most) > fewest:
            caps[ANYWHERE] = min(usable, most)
    else:
        members = [np.flatnonzero(locality.rack == rack) for rack in range(len(locality.racks))]
        holding = [rack for rack, nodes in enumerate(members) if room[nodes].sum() >= gpus]
        if any(nodes_needed(room[members[rack]], gpus) <= fewest for rack in holding):
            caps[TOGETHER] = fewest
        widest = max((int(np.count_nonzero(room[members[rack]])) for rack in holding), default=0)
        if level >= IN_RACK and min(widest, most) > fewest:
            caps[IN_RACK] = min(widest, most)
        if level >= ANYWHERE and enough and most > 1 and len(np.unique(locality.rack[room > 0])) > 1:
            caps[ANYWHERE] = min(usable, most)
        else:
            room = np.where(np.isin(locality.rack, holding), room, 0)
        if caps == {TOGETHER: 1}:
            room = np.where(room >= gpus, room, 0)
        else:
            found = np.unique(locality.rack[room > 0])
            racks = found if len(found) > 1 else racks
    if caps:
        share = gpus if caps == {TOGETHER: 1} else None
        yield _Way(room=room, caps=caps, least=1, share=share, parts=1, racks=racks)


def _in_parts(locality: Locality, job: int, room: Ints, share: int, parts: int, level: int) -> Iterator[_Way]:
    """Yield the way to put a job on so many nodes, with ``share`` GPUs on each, if there is one."""
    room = np.where(room >= share, share, 0)
    near, close = bool(locality.in_rack[job]), parts <= int(locality.fewest[job])
    held = np.bincount(locality.rack[room > 0], minlength=len(locality.racks))
    holding, caps = np.flatnonzero(held >= parts), dict[int, int]()
    enough = int(held.sum()) >= parts
    if close and (len(holding) if near else enough):
        caps[TOGETHER] = parts
    if near and not close and level >= IN_RACK and len(holding):
        caps[IN_RACK] = parts
    apart = parts > 1 and np.count_nonzero(held) > 1 if near else not close
    if enough and level >= ANYWHERE and apart:
        caps[ANYWHERE] = parts
    elif near:
        room = np.where(np.isin(locality.rack, holding), room, 0)
    racks = np.unique(locality.rack[room > 0]) if near and parts > 1 else np.zeros(0, dtype=np.int64)
    if caps:
        yield _Way(
            room=room, caps=caps, least=1, share=share, parts=parts, racks=racks if len(racks) > 1 else racks[:0]
        )
