"""The columns of the chapter *placement*: who may stay, go, or be put where, and which nodes are alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.rounds.memoise import last_recalled
from muri_opt.systems.philly.job_status import Bools, JobStatus
from muri_opt.systems.philly.program_items import Free, Item, items_of
from muri_opt.systems.philly.tenant_rules import TenantRules


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pairs:
    """One column per pair of an item and something: ``item[i]`` is the position of the item, ``of[i]`` the other."""

    item: Ints
    of: Ints

    def __len__(self) -> int:
        return len(self.item)

    @classmethod
    def listed(cls, pairs: list[tuple[int, int]]) -> Pairs:
        """Return pairs from a list."""
        both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return cls(item=both[:, 0].copy(), of=both[:, 1].copy())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunningColumns:
    """Running jobs: columns f, x and e.

    * ``fixed``: those that stay whatever is decided; the one column f stands for all of them.
    * ``leavers``: those that may leave their nodes; x is 1 for one that stays.
    * ``movable``: the leavers that may be put on other nodes.
    * ``evictable``: the leavers that may be preempted and not run; e is 1 then.
    * ``restartable``: the jobs for which to be put elsewhere is to be preempted, too, and to start again.
    """

    fixed: Bools
    leavers: Ints
    movable: Bools
    evictable: Ints
    restartable: Bools

    @classmethod
    def of(cls, round_: Round, standing: JobStatus, load: int) -> RunningColumns:
        """Return who may leave; ``load`` GPUs have to start before anybody is preempted."""
        evictable, restartable = _evictable(round_, standing, load)
        budget = UNLIMITED if standing.rules.migrate is None else standing.rules.migrate
        movable = restartable if standing.rules.migrate == 0 else standing.may.move & (round_.amounts.g <= budget)
        return cls(
            fixed=standing.running & ~movable & ~evictable,
            leavers=np.flatnonzero(movable | evictable),
            movable=movable,
            evictable=np.flatnonzero(evictable),
            restartable=restartable,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlacementChoices:
    """Jobs that may be put on nodes, alike ones as one item: columns y, b, n and t.

    * ``spreads``: the pairs (item, l) of y, how far apart its GPUs may be.
    * ``places``: the pairs (item, node) of b, each with ``room`` for so many GPUs (u).
    * ``split``: the places of items that may be on several nodes; n counts their GPUs there.
    * ``racks``: the pairs (item, rack) of t.
    """

    items: list[Item]
    spreads: Pairs
    places: Pairs
    room: Ints
    split: Bools
    racks: Pairs

    @classmethod
    def of(cls, items: list[Item], seen: Bools) -> PlacementChoices:
        """Return where the items may be put on nodes that the program has."""
        rooms = np.array([item.room for item in items], dtype=np.int64).reshape(len(items), len(seen)) * seen
        at, nodes = np.nonzero(rooms)
        return cls(
            items=items,
            spreads=Pairs.listed([(i, spread) for i, item in enumerate(items) for spread in item.caps]),
            places=Pairs(item=at, of=nodes),
            room=rooms[at, nodes],
            split=~np.array([item.whole for item in items], dtype=bool)[at],
            racks=Pairs.listed([(i, rack) for i, item in enumerate(items) for rack in item.racks.tolist()]),
        )

    @property
    def first(self) -> Ints:
        """The job each item is named after."""
        return np.array([item.first for item in self.items], dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TenantColumns:
    """Tenants with a quota: columns o and p.

    * ``over``: those that may end on either side of their quota; o, the GPUs above it, is from ``least`` to ``most``.
    * ``surplus``: what all others together are above their quotas; ``always_above`` marks those that never are below.
    * ``losing``: those of whom jobs may be preempted; p is 1 then.
    * ``load``: how many GPUs must start before anybody is preempted.
    """

    over: Ints
    least: Ints
    most: Ints
    surplus: int
    always_above: Bools
    losing: Ints
    load: int

    @classmethod
    def of(
        cls, round_: Round, standing: JobStatus, running: RunningColumns, items: list[Item], load: int
    ) -> TenantColumns:
        """Return which tenants may lose jobs, or end above their quotas, and by how much."""
        amounts = round_.amounts
        limited = np.flatnonzero(amounts.U < UNLIMITED)
        waiting = [job for item in items for job in item.jobs if standing.may.start[job]]
        started = _by_tenant(amounts.tenant, waiting, amounts.g, limited)
        lost = _by_tenant(amounts.tenant, running.evictable.tolist(), amounts.g, limited)
        above = standing.used[limited] - amounts.U[limited]
        least, most = np.maximum(0, above - lost), np.maximum(0, above + started)
        varies = most > least
        always_above = np.zeros(len(amounts.U), dtype=bool)
        always_above[limited[~varies & (above >= lost)]] = True
        preemptible = np.append(running.evictable, np.flatnonzero(running.restartable))
        return cls(
            over=limited[varies],
            least=least[varies],
            most=most[varies],
            surplus=int(least[~varies].sum()),
            always_above=always_above,
            losing=np.unique(amounts.tenant[preemptible]),
            load=load,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeClasses:
    """Interchangeable nodes: those in one array of ``alike`` are.

    The program has only the first of them, as many as can be used (``seen``), so that it does not try each in turn.
    """

    alike: list[Ints]
    seen: Bools

    @classmethod
    def of(cls, standing: JobStatus, free: Free, leavers: Ints, items: list[Item]) -> NodeClasses:
        """Return the classes of the nodes, and those that the items can use."""
        alike = _alike(standing, free, leavers, items)
        seen = np.ones(len(free.gpus), dtype=bool)
        if alike:
            seen[np.concatenate([nodes[sum(item.most_nodes for item in items) :] for nodes in alike])] = False
        return cls(alike=alike, seen=seen)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlacementColumns:
    """What a round leaves to decide, by what the columns are about; ``free`` is what fixed jobs leave of the nodes."""

    standing: JobStatus
    free: Free
    running: RunningColumns
    placements: PlacementChoices
    tenants: TenantColumns
    nodes: NodeClasses

    @classmethod
    def of(cls, round_: Round, rules: TenantRules) -> PlacementColumns:
        """Return the columns of a round, from the last call if it was the same."""
        return _columns(round_, rules)

    def starting(self, pairs: Pairs) -> Bools:
        """Return which of the pairs are of waiting jobs."""
        return ~self.standing.running[self.placements.first[pairs.item]]

    @property
    def restarting(self) -> Bools:
        """Which of the spreads are of running jobs that would be preempted and start again."""
        return self.running.restartable[self.placements.first[self.placements.spreads.item]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Letters:
    """Where the columns of each letter are in the model; n has one per split place, all others one per member."""

    f: Ints
    x: Ints
    e: Ints
    y: Ints
    b: Ints
    n: Ints
    t: Ints
    o: Ints
    p: Ints
    count: int

    @classmethod
    def of(cls, table: PlacementColumns) -> Letters:
        """Return where the columns of a table are."""
        sizes = {
            "f": 1,
            "x": len(table.running.leavers),
            "e": len(table.running.evictable),
            "y": len(table.placements.spreads),
            "b": len(table.placements.places),
            "n": int(np.count_nonzero(table.placements.split)),
            "t": len(table.placements.racks),
            "o": len(table.tenants.over),
            "p": len(table.tenants.losing),
        }
        ends = np.cumsum(list(sizes.values())).tolist()
        spans = {name: np.arange(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}
        return cls(**spans, count=ends[-1])


@last_recalled
def _columns(round_: Round, rules: TenantRules) -> PlacementColumns:
    standing = JobStatus.of(round_, rules)
    load = _missing_load(round_, standing)
    running = RunningColumns.of(round_, standing, load)
    free = Free.of(round_, standing, running.fixed)
    items = items_of(round_, standing, free, standing.may.start | running.movable)
    nodes = NodeClasses.of(standing, free, running.leavers, items)
    return PlacementColumns(
        standing=standing,
        free=free,
        running=running,
        placements=PlacementChoices.of(items, nodes.seen),
        tenants=TenantColumns.of(round_, standing, running, items, load),
        nodes=nodes,
    )


def _missing_load(round_: Round, standing: JobStatus) -> int:
    """Return how many GPUs must start before anybody can be preempted."""
    if standing.rules.preempt_at is None:
        return 0
    needed = -(-standing.rules.preempt_at * round_.cluster.total_gpus // 1000)
    return max(0, needed - int(round_.amounts.g[standing.running].sum()))


def _evictable(round_: Round, standing: JobStatus, load: int) -> tuple[Bools, Bools]:
    """Return who can be preempted at all, and who can be preempted and start again.

    Enough GPUs can start, and the tenant can be left with its quota; a job that starts again is part of that.
    """
    amounts, waiting = round_.amounts, np.flatnonzero(standing.may.start)
    tenants = np.arange(len(amounts.U))
    reach = standing.used + _by_tenant(amounts.tenant, waiting.tolist(), amounts.g, tenants)
    over = np.append(reach - amounts.U, 0)[amounts.tenant]
    able = standing.may.be_preempted & (load <= int(amounts.g[waiting].sum()))
    return able & (over >= amounts.g), able & (over >= 0) & (standing.rules.migrate == 0)


def _by_tenant(tenant: Ints, jobs: list[int], gpus: Ints, tenants: Ints) -> Ints:
    """Return the GPUs that these jobs of each tenant ask for."""
    total = np.zeros(int(tenants.max(initial=-1)) + 2, dtype=np.int64)
    known = [job for job in jobs if 0 <= tenant[job] < len(total) - 1]
    np.add.at(total, tenant[known], gpus[known])
    return total[tenants]


def _alike(standing: JobStatus, free: Free, leavers: Ints, items: list[Item]) -> list[Ints]:
    """Return the classes of two or more interchangeable nodes.

    They have the same free of everything and nobody on them who may leave; and they are in one rack, where an item is
    spread over several nodes.
    """
    by_rack = any(not item.whole for item in items)
    touched = sorted({node for job in leavers.tolist() for node in standing.held[job]})
    own = np.zeros_like(free.gpus)
    own[touched] = 1 + np.arange(len(touched))
    rack = standing.locality.rack * by_rack
    keys = np.column_stack([own, rack, free.gpus, free.cpus, free.memory, free.taken, free.closed])
    _, kind = np.unique(keys, axis=0, return_inverse=True)
    order = np.argsort(kind.ravel(), kind="stable")
    classes = np.split(order, np.flatnonzero(np.diff(kind.ravel()[order])) + 1)
    return [nodes for nodes in classes if len(nodes) > 1 and free.gpus[nodes[0]] > 0]
