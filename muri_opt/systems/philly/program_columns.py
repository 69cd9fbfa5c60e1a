"""The columns of the chapter *placement*: who may stay, go, or be put where, and which nodes are alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.rounds.memoise import last_recalled
from muri_opt.systems.philly.job_status import Bools, Standing
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
class PlacementColumns:
    """The jobs and nodes that a round leaves to decide.

    Running jobs in ``stayers`` may leave their place (x), those in ``evictable`` by preemption (e); of jobs that
    ``restart`` marks, to be put elsewhere is to be preempted, too. ``spreads`` are the pairs (item, l) of y, ``places``
    the pairs (item, node) of b with their ``room`` u, of which ``split`` marks those with a column n; ``racks`` are the
    pairs (item, rack) of t. Tenants in ``over`` have a column o between ``least`` and ``most``, those in ``preempted``
    a column p. ``fixed`` marks the running jobs that only column f stands for, and ``surplus`` is what tenants without
    a column o have over their quotas; ``above`` marks those that are never below. At least ``load`` GPUs must start
    before anybody is preempted. Nodes in one array of ``alike`` are interchangeable; the program has only the first of
    them, as many as can be used (``seen``).
    """

    standing: Standing
    free: Free
    fixed: Bools
    stayers: Ints
    evictable: Ints
    restart: Bools
    items: list[Item]
    spreads: Pairs
    places: Pairs
    room: Ints
    split: Bools
    racks: Pairs
    over: Ints
    least: Ints
    most: Ints
    surplus: int
    above: Bools
    preempted: Ints
    load: int
    alike: list[Ints]
    seen: Bools

    @classmethod
    def of(cls, round_: Round, rules: TenantRules) -> PlacementColumns:
        """Return the columns of a round, from the last call if it was the same."""
        return _columns(round_, rules)

    @property
    def first(self) -> Ints:
        """The job each item is named after."""
        return np.array([item.first for item in self.items], dtype=np.int64)

    def starting(self, pairs: Pairs) -> Bools:
        """Return which of the pairs are of waiting jobs."""
        return ~self.standing.running[self.first[pairs.item]]

    @property
    def restarting(self) -> Bools:
        """Which of ``spreads`` are of running jobs that would be preempted and start again."""
        return self.restart[self.first[self.spreads.item]]


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
            "x": len(table.stayers),
            "e": len(table.evictable),
            "y": len(table.spreads),
            "b": len(table.places),
            "n": int(np.count_nonzero(table.split)),
            "t": len(table.racks),
            "o": len(table.over),
            "p": len(table.preempted),
        }
        ends = np.cumsum(list(sizes.values())).tolist()
        spans = {name: np.arange(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}
        return cls(**spans, count=ends[-1])


@last_recalled
def _columns(round_: Round, rules: TenantRules) -> PlacementColumns:
    standing = Standing.of(round_, rules)
    amounts, rules = round_.amounts, standing.rules
    load = _missing_load(round_, standing)
    evictable, restart = _evictable(round_, standing, load)
    budget = UNLIMITED if rules.migrate is None else rules.migrate
    movable = restart if rules.migrate == 0 else standing.movable & (amounts.g <= budget)
    fixed = standing.running & ~movable & ~evictable
    free = Free.of(round_, standing, fixed)
    items = items_of(round_, standing, free, movable | standing.candidate)
    stayers = np.flatnonzero(movable | evictable)
    alike = _alike(standing, free, stayers, items)
    seen = np.ones(len(amounts.G), dtype=bool)
    if alike:
        seen[np.concatenate([nodes[sum(item.most_nodes for item in items) :] for nodes in alike])] = False
    rooms = np.array([item.room for item in items], dtype=np.int64).reshape(len(items), len(seen)) * seen
    at, nodes = np.nonzero(rooms)
    limited = np.flatnonzero(amounts.U < UNLIMITED)
    started = _by_tenant(
        amounts.tenant, [j for i in items for j in i.jobs if standing.candidate[j]], amounts.g, limited
    )
    lost = _by_tenant(amounts.tenant, np.flatnonzero(evictable).tolist(), amounts.g, limited)
    above = standing.used[limited] - amounts.U[limited]
    least, most = np.maximum(0, above - lost), np.maximum(0, above + started)
    varies = most > least
    always = np.zeros(len(amounts.U), dtype=bool)
    always[limited[~varies & (above >= lost)]] = True
    return PlacementColumns(
        standing=standing,
        free=free,
        fixed=fixed,
        stayers=stayers,
        evictable=np.flatnonzero(evictable),
        restart=restart,
        items=items,
        spreads=Pairs.listed([(i, spread) for i, item in enumerate(items) for spread in item.caps]),
        places=Pairs(item=at, of=nodes),
        room=rooms[at, nodes],
        split=~np.array([item.whole for item in items], dtype=bool)[at],
        racks=Pairs.listed([(i, rack) for i, item in enumerate(items) for rack in item.racks.tolist()]),
        over=limited[varies],
        least=least[varies],
        most=most[varies],
        surplus=int(least[~varies].sum()),
        above=always,
        preempted=np.unique(amounts.tenant[evictable | restart]),
        load=load,
        alike=alike,
        seen=seen,
    )


def _missing_load(round_: Round, standing: Standing) -> int:
    """Return how many GPUs must start before anybody can be preempted."""
    if standing.rules.preempt_at is None:
        return 0
    needed = -(-standing.rules.preempt_at * round_.cluster.total_gpus // 1000)
    return max(0, needed - int(round_.amounts.g[standing.running].sum()))


def _evictable(round_: Round, standing: Standing, load: int) -> tuple[Bools, Bools]:
    """Return who can be preempted at all, and who can be preempted and start again.

    Enough GPUs can start, and the tenant can be left with its quota; a job that starts again is part of that.
    """
    amounts, waiting = round_.amounts, np.flatnonzero(standing.candidate)
    tenants = np.arange(len(amounts.U))
    reach = standing.used + _by_tenant(amounts.tenant, waiting.tolist(), amounts.g, tenants)
    over = np.append(reach - amounts.U, 0)[amounts.tenant]
    able = standing.evictable & (load <= int(amounts.g[waiting].sum()))
    return able & (over >= amounts.g), able & (over >= 0) & (standing.rules.migrate == 0)


def _by_tenant(tenant: Ints, jobs: list[int], gpus: Ints, tenants: Ints) -> Ints:
    """Return the GPUs that these jobs of each tenant ask for."""
    total = np.zeros(int(tenants.max(initial=-1)) + 2, dtype=np.int64)
    known = [job for job in jobs if 0 <= tenant[job] < len(total) - 1]
    np.add.at(total, tenant[known], gpus[known])
    return total[tenants]


def _alike(standing: Standing, free: Free, stayers: Ints, items: list[Item]) -> list[Ints]:
    """Return the classes of two or more interchangeable nodes.

    They have the same free of everything and nobody on them who may leave; and they are in one rack, where an item is
    spread over several nodes.
    """
    by_rack = any(not item.whole for item in items)
    touched = sorted({node for job in stayers.tolist() for node in standing.held[job]})
    own = np.zeros_like(free.gpus)
    own[touched] = 1 + np.arange(len(touched))
    rack = standing.locality.rack * by_rack
    keys = np.column_stack([own, rack, free.gpus, free.cpus, free.memory, free.taken, free.closed])
    _, kind = np.unique(keys, axis=0, return_inverse=True)
    order = np.argsort(kind.ravel(), kind="stable")
    classes = np.split(order, np.flatnonzero(np.diff(kind.ravel()[order])) + 1)
    return [nodes for nodes in classes if len(nodes) > 1 and free.gpus[nodes[0]] > 0]
