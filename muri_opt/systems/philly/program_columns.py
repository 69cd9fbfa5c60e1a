"""The columns of the chapter *placement*: who may stay, go, or be put where, and which nodes are alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.rounds.memoise import last_recalled
from muri_opt.systems.philly.job_status import Bools, JobStatus
from muri_opt.systems.philly.program_items import Free, Item, items_of
from muri_opt.systems.philly.quota_tree import QuotaTree
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
    def of(cls, round_: Round, status: JobStatus, load: int) -> RunningColumns:
        """Return who may leave; ``load`` GPUs have to start before anybody is preempted."""
        evictable, restartable = _evictable(round_, status, load)
        budget = UNLIMITED if status.rules.migrate is None else status.rules.migrate
        movable = restartable if status.rules.migrate == 0 else status.may.move & (round_.amounts.g <= budget)
        return cls(
            fixed=status.running & ~movable & ~evictable,
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
    * ``split``: the places of items that may be on several nodes; n counts their GPUs there, unless all of them have
      equally many.
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
            split=np.array([item.share is None for item in items], dtype=bool)[at],
            racks=Pairs.listed([(i, rack) for i, item in enumerate(items) for rack in item.racks.tolist()]),
        )

    @property
    def first(self) -> Ints:
        """The job each item is named after."""
        return np.array([item.first for item in self.items], dtype=np.int64)

    @property
    def names(self) -> Ints:
        """Subscripts of each item: the job, and where a job has several items, which of them it is."""
        first = self.first
        if len(np.unique(first)) == len(first):
            return first[:, None]
        begins = np.flatnonzero(np.append(True, np.diff(first) != 0))
        return np.column_stack(
            [first, np.arange(len(first)) - np.repeat(begins, np.diff(np.append(begins, len(first))))]
        )

    @property
    def shares(self) -> Ints:
        """The GPUs that an item has on each of its nodes, 0 where they differ."""
        return np.array([item.share or 0 for item in self.items], dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TenantColumns:
    """Tenants with a quota: columns o and p.

    * ``over``: those that may end on either side of their quota, once for each priority ``rank`` that counts with all
      larger ones; o, the GPUs above it, is from ``least`` to ``most``. They have ``left`` of it.
    * ``surplus``: what all others together are above their quotas, for each priority.
    * ``always_above`` marks those that never are below.
    * ``losing``: those of whom jobs may be preempted; p is 1 then. ``used`` are the GPUs that count for them.
    * ``load``: how many GPUs must start before anybody is preempted.
    """

    over: Ints
    rank: Ints
    least: Ints
    most: Ints
    left: Ints
    surplus: Ints
    always_above: Bools
    losing: Ints
    used: Ints
    load: int

    @classmethod
    def of(
        cls, round_: Round, status: JobStatus, running: RunningColumns, items: list[Item], load: int
    ) -> TenantColumns:
        """Return which tenants may lose jobs, or end above their quotas, and by how much."""
        tree = QuotaTree.of(round_)
        limited = np.flatnonzero(tree.limit < UNLIMITED)
        waiting = dict.fromkeys(job for item in items for job in item.jobs if status.may.start[job])
        started, lost, used = (
            tree.held(tree.used(jobs))
            for jobs in (waiting, running.evictable.tolist(), np.flatnonzero(status.running).tolist())
        )
        above = used[limited] - tree.limit[limited, None]
        inner = {one for line in tree.lines for one in line[1:]}  # what is above the quota of a part is not counted
        lower = ~np.isin(limited, list(inner))[:, None]
        least, most = np.maximum(0, above - lost[limited]) * lower, np.maximum(0, above + started[limited])
        varies = most > least
        always_above = np.zeros(len(tree.limit), dtype=bool)
        always_above[limited[(~varies & (above >= lost[limited])).all(axis=1)]] = True
        constant = np.zeros_like(used)
        constant[limited] = np.where(varies, 0, least)
        below = tree.held(constant)  # for each quota with its own, which is no part of its row
        at, rank = np.nonzero(varies)
        preemptible = np.append(running.evictable, np.flatnonzero(running.restartable))
        losing = np.unique(tree.nearest(tree.tenant[preemptible]))
        return cls(
            over=limited[at],
            rank=rank,
            least=least[at, rank],
            most=most[at, rank],
            left=(below[limited] - above)[at, rank],
            surplus=constant.sum(axis=0),
            always_above=always_above,
            losing=losing,
            used=used[losing, 0],
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
    def of(cls, status: JobStatus, free: Free, leavers: Ints, items: list[Item]) -> NodeClasses:
        """Return the classes of the nodes, and those that the items can use."""
        alike = _alike(status, free, leavers, items)
        seen = np.ones(len(free.gpus), dtype=bool)
        if alike:
            seen[np.concatenate([nodes[sum(item.most_nodes for item in items) :] for nodes in alike])] = False
        return cls(alike=alike, seen=seen)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlacementColumns:
    """What a round leaves to decide, by what the columns are about; ``free`` is what fixed jobs leave of the nodes."""

    status: JobStatus
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
        return ~self.status.running[self.placements.first[pairs.item]]

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
    status = JobStatus.of(round_, rules)
    load = _missing_load(round_, status)
    running = RunningColumns.of(round_, status, load)
    free = Free.of(round_, status, running.fixed)
    items = items_of(round_, status, free, status.may.start | running.movable)
    nodes = NodeClasses.of(status, free, running.leavers, items)
    return PlacementColumns(
        status=status,
        free=free,
        running=running,
        placements=PlacementChoices.of(items, nodes.seen),
        tenants=TenantColumns.of(round_, status, running, items, load),
        nodes=nodes,
    )


def _missing_load(round_: Round, status: JobStatus) -> int:
    """Return how many GPUs must start before anybody can be preempted."""
    if status.rules.preempt_at is None:
        return 0
    needed = -(-status.rules.preempt_at * status.total // 1000)
    return max(0, needed - int(round_.amounts.g[status.running].sum()))


def _evictable(round_: Round, status: JobStatus, load: int) -> tuple[Bools, Bools]:
    """Return who can be preempted at all, and who can be preempted and start again.

    Enough GPUs can start, and the tenant can be left with its quota; a job that starts again is part of that.
    """
    amounts, waiting, tree = round_.amounts, np.flatnonzero(status.may.start), QuotaTree.of(round_)
    reach = tree.held(tree.used([*np.flatnonzero(status.running).tolist(), *waiting.tolist()]))[:, 0]
    over = np.append((reach[:-1] - tree.limit), -1)[tree.nearest(amounts.tenant)]
    able = status.may.be_preempted & (load <= int(amounts.g[waiting].sum()))
    return able & (over >= amounts.g), able & (over >= 0) & status.may.move & (status.rules.migrate == 0)


def _alike(status: JobStatus, free: Free, leavers: Ints, items: list[Item]) -> list[Ints]:
    """Return the classes of two or more interchangeable nodes.

    They have the same free of everything and nobody on them who may leave; they are the same to all jobs by what these
    ask; and they are in one rack, where an item is spread over several nodes.
    """
    by_rack = any(not item.whole for item in items)
    touched = sorted({node for job in leavers.tolist() for node in status.held[job]})
    own = np.zeros_like(free.gpus)
    own[touched] = 1 + np.arange(len(touched))
    rack = status.locality.rack * by_rack
    look = own * 0 if status.sets is None else status.sets.look
    keys = np.column_stack([own, rack, free.gpus, free.cpus, free.memory, free.taken, free.closed, look])
    _, kind = np.unique(keys, axis=0, return_inverse=True)
    order = np.argsort(kind.ravel(), kind="stable")
    classes = np.split(order, np.flatnonzero(np.diff(kind.ravel()[order])) + 1)
    return [nodes for nodes in classes if len(nodes) > 1 and free.gpus[nodes[0]] > 0]
