"""What is packed: kinds of equal jobs with their options, and classes of equal nodes.

Equal jobs and equal nodes are counted, which keeps the decomposition free of symmetry: one pricing problem per class of
nodes, one row per kind of jobs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.systems.plans.node_patterns.size_grid import Grid
from muri_opt.systems.plans.options import PlanOptions
from muri_opt.systems.plans.quota_lines import Lines, charged, limited_lines


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Items:
    """Jobs with equal options are one kind; item i is an option of kind ``owner[i]``.

    ``members[k]`` are the jobs of kind k; item i is ``option[i]`` of its first member. It is worth ``e[i]`` in ``q[i]``
    parts, each of which takes ``use[i]`` (GPUs, milli-CPUs, MiB) of its node. A kind whose jobs are guaranteed uses
    ``asks[k]`` of the quotas of ``tenant[k]`` (-1: none) and of those above it, ``lines[tenant[k]]``, for each job that
    runs. A kind at home somewhere is one job. ``base[j]`` is the first item of job j.
    """

    options: PlanOptions
    members: tuple[Ints, ...]
    owner: Ints
    option: Ints
    e: Ints
    q: Ints
    use: Ints
    count: Ints
    tenant: Ints
    asks: Ints
    quota: Ints
    base: Ints
    lines: Lines

    @classmethod
    def of(cls, round_: Round, options: PlanOptions, *, together: bool = True) -> Items:
        """Return the items of a round, equal jobs ``together`` or each a kind of its own."""
        amounts = round_.amounts
        lines = limited_lines(amounts)
        tenant = np.where(options.guaranteed, charged(amounts.tenant, lines), -1)
        asks = np.where(tenant >= 0, amounts.g, 0)
        table = np.column_stack([options.q, options.g, options.c, options.m, options.e, options.kind, options.home])
        kinds: dict[bytes, list[int]] = {}
        for job in range(len(round_.jobs)):
            mine = options.of_job(job)
            if mine:
                head = np.array([tenant[job], asks[job], -1 if together else job], dtype=np.int64)
                kinds.setdefault(head.tobytes() + table[mine.start : mine.stop].tobytes(), []).append(job)
        members = tuple(np.array(jobs, dtype=np.int64) for jobs in kinds.values())
        own = [np.arange(*options.first[jobs[0] : jobs[0] + 2], dtype=np.int64) for jobs in members]
        option = np.concatenate([np.zeros(0, dtype=np.int64), *own])
        base = np.full(len(round_.jobs), -1, dtype=np.int64)
        for jobs, start in zip(members, np.cumsum([0, *(len(part) for part in own)]).tolist(), strict=False):
            base[jobs] = start
        heads = np.array([jobs[0] for jobs in members], dtype=np.int64)
        return cls(
            options=options,
            members=members,
            owner=np.repeat(np.arange(len(members)), [len(part) for part in own]),
            option=option,
            e=options.e[option],
            q=options.q[option],
            use=np.column_stack([options.g, options.c, options.m])[option],
            count=np.array([len(jobs) for jobs in members], dtype=np.int64),
            tenant=tenant[heads],
            asks=asks[heads],
            quota=np.where(amounts.U < UNLIMITED, amounts.U, 0),
            base=base,
            lines=lines,
        )

    def item_of(self, option: int) -> int:
        """Return the item that an option of any job is."""
        job = self.options.job[option]
        return int(self.base[job] + option - self.options.first[job])

    def of_member(self, item: int, place: int) -> int:
        """Return the option that an item is for the member at ``place`` of its kind."""
        jobs = self.members[self.owner[item]]
        first = self.options.first
        return int(self.option[item] - first[jobs[0]] + first[jobs[place]])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HomeNodes:
    """Nodes on which the same jobs are at home: one array of items for each of these jobs."""

    nodes: Ints
    homes: tuple[Ints, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeFamily:
    """Nodes of equal capacity and GPU type: ``free`` items may be on any of them.

    On the nodes of ``at_home`` there may be items of jobs that are there now, too.
    """

    nodes: Ints
    capacity: Ints
    free: Ints
    at_home: tuple[HomeNodes, ...]

    @property
    def items(self) -> Ints:
        """All items that some node of the family can have."""
        return np.concatenate([self.free, *(group for home in self.at_home for group in home.homes)])

    def grid(self, items: Items, *, cells: int, up: bool) -> Grid:
        """Return the grid of the nodes with sizes for all items; only those of items of the family mean something."""
        mine = self.items
        grid = Grid.of(items.use[mine], self.capacity, cells=cells, up=up)
        sizes = np.zeros((len(items.owner), len(grid.extent)), dtype=np.int64)
        sizes[mine] = grid.sizes
        return Grid(sizes=sizes, extent=grid.extent, exact=grid.exact)


def node_families(round_: Round, items: Items) -> tuple[NodeFamily, ...]:
    """Return the nodes in families; those without GPUs only where some part needs none."""
    amounts, options = round_.amounts, items.options
    home = options.home[items.option]
    residents: list[dict[int, list[int]]] = [{} for _ in round_.cluster.nodes]
    for item in np.flatnonzero(home >= 0).tolist():
        for node in options.homes[home[item]].tolist():
            residents[node].setdefault(int(items.owner[item]), []).append(item)
    alike: dict[tuple[int, int, int, bytes], list[int]] = {}
    on_cpus = bool((items.use[:, 0] == 0).any())
    for node in np.flatnonzero((amounts.G > 0) | on_cpus).tolist():
        room = (int(amounts.G[node]), int(amounts.C[node]), int(amounts.M[node]))
        alike.setdefault((*room, options.hosts[:, node].tobytes()), []).append(node)
    families = []
    for (gpus, cpus, memory, _), nodes in alike.items():
        capacity = np.array([gpus, cpus, memory], dtype=np.int64)
        fits = (items.use <= capacity).all(axis=1) & options.hosts[options.kind[items.option], nodes[0]]
        at_home: dict[tuple[tuple[int, ...], ...], list[int]] = {}
        for node in nodes:
            stays = [tuple(item for item in group if fits[item]) for group in residents[node].values()]
            if any(stays):
                at_home.setdefault(tuple(group for group in stays if group), []).append(node)
        families.append(
            NodeFamily(
                nodes=np.array(nodes, dtype=np.int64),
                capacity=capacity,
                free=np.flatnonzero(fits & (home < 0)),
                at_home=tuple(
                    HomeNodes(
                        nodes=np.array(here, dtype=np.int64),
                        homes=tuple(np.array(group, dtype=np.int64) for group in groups),
                    )
                    for groups, here in at_home.items()
                ),
            )
        )
    return tuple(families)
