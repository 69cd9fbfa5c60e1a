"""What runs where before anything moves: checked, and in the letters of the chapter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.rounds.eligibility import is_lost
from muri_opt.rounds.error_text import shown
from muri_opt.systems.capacity.node_sets import NodeSets, node_sets

RESOURCES = ("GPUs", "milli-CPUs", "MiB of memory")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Start:
    """Running jobs and what they hold; amounts are triples of GPUs, milli-CPUs and MiB.

    ``size[j]`` is what job j takes in all and ``unit[j]`` what it takes with one GPU; node s has ``room[s]`` beside its
    pinned jobs, and ``free[s]`` beside all; one that is down has none. ``single`` are movable jobs on one node,
    ``of_type`` their types and ``types`` the sizes of these; ``count[t, s]`` of them are on node s. ``spread`` are
    movable jobs on several nodes. A moved GPU costs ``weight``, more than all jobs together, and a moved job 1;
    ``costs[j]`` is both for job j. ``sets`` says where jobs may go, ``None``: anywhere; jobs of one type may go to the
    same nodes. A job that ran on a node that is down is lost, and nowhere.
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
    gpus: Ints
    sets: NodeSets | None

    @classmethod
    def of(cls, round_: Round) -> Start:
        """Return the start of a round; a running job that is not placed as it says is refused."""
        amounts = round_.amounts
        unit = np.column_stack([np.minimum(amounts.g, 1), amounts.c, amounts.m])
        size = np.column_stack([amounts.g, *(each * np.maximum(amounts.g, 1) for each in (amounts.c, amounts.m))])
        running = [j for j, job in enumerate(round_.jobs) if job.state == "running" and not is_lost(round_, j)]
        held = {j: _held(round_, j, round_.jobs[j]) for j in running}
        room = np.column_stack([amounts.G, amounts.C, amounts.M])
        sets = node_sets(round_)
        if sets is not None:
            room[[node.state == "down" for node in round_.cluster.nodes]] = 0
        has = room[:, 0].copy()
        moving = [j for j in held if round_.jobs[j].restart_seconds is not None and not round_.jobs[j].stays_put]
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
        kinds: dict[tuple[tuple[int, ...], bytes], int] = {}
        of_type = tuple(kinds.setdefault((tuple(size[j].tolist()), _nodes_of(sets, j)), len(kinds)) for j in single)
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
            types=np.array([each for each, _ in kinds], dtype=np.int64).reshape(len(kinds), 3),
            count=count,
            gpus=has,
            sets=sets,
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
        return np.maximum(room, 0) * self.may(job)

    def may(self, job: int) -> NDArray[np.bool_]:
        """Return on which nodes a job may be put."""
        found = np.full(len(self.room), self.sets is None)
        for nodes in () if self.sets is None else self.sets.of(job).sets:
            found[nodes] = True
        return found

    def parts(self, job: int) -> list[NDArray[np.bool_]]:
        """Return the sets of nodes of which a job that is put somewhere must be inside one."""
        if self.sets is None:
            return [np.ones(len(self.room), dtype=np.bool_)]
        parts = np.zeros((len(self.sets.of(job).sets), len(self.room)), dtype=np.bool_)
        for part, nodes in zip(parts, self.sets.of(job).sets, strict=True):
            part[nodes] = True
        return list(parts)

    def type_may(self, type_: int) -> NDArray[np.bool_]:
        """Return on which nodes jobs of a type may be put."""
        return self.may(self.single[self.of_type.index(type_)])

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
            look = 0 if self.sets is None else int(self.sets.look[s])
            key = (int(self.gpus[s]), bool(self.pinned[s]), look, *self.room[s].tolist())
            found.setdefault((key, tuple(self.count[:, s].tolist()), tuple(parts[s])), []).append(s)
        return list(found.values())


def _nodes_of(sets: NodeSets | None, job: int) -> bytes:
    """Return the nodes to which a job may go, as a key."""
    return b"" if sets is None else np.sort(np.concatenate([*sets.of(job).sets, np.zeros(0, dtype=np.int64)])).tobytes()


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
