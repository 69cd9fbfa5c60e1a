"""What runs where before anything moves: checked, and in the letters of the chapter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.rounds.error_text import shown

RESOURCES = ("GPUs", "milli-CPUs", "MiB of memory")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Start:
    """Running jobs and what they hold; amounts are triples of GPUs, milli-CPUs and MiB.

    ``size[j]`` is what job j takes in all and ``unit[j]`` what it takes with one GPU; node s has ``room[s]`` beside its
    pinned jobs, and ``free[s]`` beside all. ``single`` are movable jobs on one node, ``of_type`` their types and
    ``types`` the sizes of these; ``count[t, s]`` of them are on node s. ``spread`` are movable jobs on several nodes.
    A moved GPU costs ``weight``, more than all jobs together, and a moved job 1; ``costs[j]`` is both for job j.
    """

    round_: Round
    size: Ints
    unit: Ints
    held: Mapping[int, Mapping[int, int]]
    room: Ints
    free: Ints
    pinned: NDArray[np.bool_]
    single: tuple[int, ...]
    spread: tuple[int, ...]
    of_type: tuple[int, ...]
    weight: int
    costs: tuple[int, ...]
    types: Ints
    count: Ints

    @classmethod
    def of(cls, round_: Round) -> Start:
        """Return the start of a round; a running job that is not placed as it says is refused."""
        amounts = round_.amounts
        unit = np.column_stack([np.minimum(amounts.g, 1), amounts.c, amounts.m])
        size = np.column_stack([amounts.g, *(each * np.maximum(amounts.g, 1) for each in (amounts.c, amounts.m))])
        held = {j: _held(round_, j, job) for j, job in enumerate(round_.jobs) if job.state == "running"}
        room = np.column_stack([amounts.G, amounts.C, amounts.M])
        moving = [j for j in held if round_.jobs[j].restart_seconds is not None]
        parts = [(j, s, max(gpus, 1)) for j, share in held.items() for s, gpus in share.items()]
        job, node, gpus = np.array(parts, dtype=np.int64).reshape(len(parts), 3).T
        stays = ~np.isin(job, moving)
        pinned = np.zeros(len(room), dtype=np.bool_)
        pinned[node[stays]] = True
        np.subtract.at(room, node[stays], unit[job[stays]] * gpus[stays, None])
        free = room.copy()
        np.subtract.at(free, node[~stays], unit[job[~stays]] * gpus[~stays, None])
        _check_rooms(round_, free)
        single = tuple(j for j in moving if len(held[j]) == 1)
        weight = len(moving) + 1
        kinds: dict[tuple[int, ...], int] = {}
        of_type = tuple(kinds.setdefault(tuple(size[j].tolist()), len(kinds)) for j in single)
        count = np.zeros((len(kinds), len(room)), dtype=np.int64)
        for j, t in zip(single, of_type, strict=True):
            count[t, next(iter(held[j]))] += 1
        return cls(
            round_=round_,
            size=size,
            unit=unit,
            held=held,
            room=room,
            free=free,
            pinned=pinned,
            single=single,
            spread=tuple(j for j in moving if len(held[j]) > 1),
            of_type=of_type,
            weight=weight,
            costs=tuple((amounts.g * weight + 1).tolist()),
            types=np.array(list(kinds), dtype=np.int64).reshape(len(kinds), 3),
            count=count,
        )

    @property
    def most(self) -> int:
        """The cost of moving every job that can move."""
        return sum(self.costs[j] for j in (*self.single, *self.spread))

    def cost(self, job: int) -> int:
        """Return what moving a job costs: its GPUs first, then one for the job."""
        return self.costs[job]

    def fits(self, job: int, free: Ints) -> Ints:
        """Return how many GPUs of a job each node has room for."""
        unit = self.unit[job]
        room: Ints = np.full(len(free), self.size[job, 0], dtype=np.int64)
        for resource in np.flatnonzero(unit).tolist():
            room = np.minimum(room, free[:, resource] // unit[resource])
        return np.maximum(room, 0)

    def may_bind(self, node: int, resource: int, waiting: int | None) -> bool:
        """Return whether GPUs alone do not keep the jobs of a node within a resource."""
        if self.room[node, resource] >= UNLIMITED // 2:
            return False
        jobs = [*self.single, *self.spread, *([] if waiting is None else [waiting])]
        with_gpus, without = (self.unit[jobs][self.size[jobs, 0] > 0], self.size[jobs][self.size[jobs, 0] == 0])
        most = int(self.room[node, 0]) * int(with_gpus[:, resource].max(initial=0))
        return bool(most + without[:, resource].sum() > self.room[node, resource])

    def kinds(self) -> list[list[int]]:
        """Return the nodes in classes that cannot be told apart: equal room, movable jobs and parts of spread jobs."""
        parts: list[list[tuple[int, int, bool]]] = [[] for _ in self.room]
        for j in self.spread:
            for place, (s, gpus) in enumerate(self.held[j].items()):
                parts[s].append((j, gpus, place == 0))
        found: dict[object, list[int]] = {}
        for s in range(len(self.room)):
            key = (self.round_.cluster.nodes[s].gpus, bool(self.pinned[s]), *self.room[s].tolist())
            found.setdefault((key, tuple(self.count[:, s].tolist()), tuple(parts[s])), []).append(s)
        return list(found.values())


def _held(round_: Round, position: int, job: Job) -> dict[int, int]:
    """Return the GPUs per node of a running job."""
    field = f"jobs[{position}] ({shown(job.id)}).placement"
    if not job.placement:
        raise InputError(field, "no placement", "the nodes of a running job")
    total = sum(job.placement.values())
    if total != job.gpus:
        raise InputError(field, f"{total} GPUs", f"the {job.gpus} GPUs of the job")
    if job.gpus == 0 and len(job.placement) > 1:
        raise InputError(field, f"{len(job.placement)} nodes", "one node for a job without GPUs")
    return {round_.cluster.node_index[node]: gpus for node, gpus in job.placement.items()}


def _check_rooms(round_: Round, free: Ints) -> None:
    limits = np.column_stack([round_.amounts.G, round_.amounts.C, round_.amounts.M])
    over = (free < 0) & (limits < UNLIMITED)
    for s, resource in np.argwhere(over).tolist():
        node = round_.cluster.nodes[s]
        used = int(limits[s, resource] - free[s, resource])
        raise InputError(
            f"cluster.nodes[{s}] ({shown(node.id)})",
            f"{used:,} {RESOURCES[resource]} held by running jobs",
            f"at most its {int(limits[s, resource]):,}",
        )
