"""The places of the chapter *sharing* where jobs may not be anywhere, and the shares that each job may have there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.rounds.memoise import last_recalled
from muri_opt.rounds.shape import NodeRange
from muri_opt.systems.afs.node_sizes import share_sizes
from muri_opt.systems.afs.program_columns import ShareTable
from muri_opt.systems.afs.share_fit import ShareFit
from muri_opt.systems.afs.share_values import ShareValues
from muri_opt.systems.capacity import best_fit
from muri_opt.systems.capacity.node_sets import node_sets


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SharePlaces:
    """Capacities of the places, which place each node belongs to, and how many GPUs of each job fit on each.

    A node whose CPUs and memory can never bind only counts GPUs. Where shares may spread over any number of nodes, such
    nodes are one place if they are the same to all jobs.
    """

    of_node: Ints
    G: Ints
    C: Ints
    M: Ints
    room: Ints

    @classmethod
    def of(cls, round_: Round, cap: Ints, *, pool: bool) -> SharePlaces:
        """Return the places of a round; ``pool`` merges nodes, and ``cap`` are the GPUs each job can use."""
        amounts, sets = round_.amounts, node_sets(round_)
        C = np.where(amounts.G * amounts.c.max(initial=0) <= amounts.C, UNLIMITED, amounts.C)
        M = np.where(amounts.G * amounts.m.max(initial=0) <= amounts.M, UNLIMITED, amounts.M)
        alike = (C == UNLIMITED) & (M == UNLIMITED) & pool
        look = np.zeros_like(amounts.G) if sets is None else sets.look
        keys = np.column_stack([look, np.where(alike, -1, np.arange(len(look)))])
        _, first, of_node = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        of_node = of_node.reshape(-1)
        G = np.bincount(of_node, weights=amounts.G, minlength=len(first)).astype(np.int64)
        C, M = C[first], M[first]
        room = np.minimum(cap[:, None], G[None, :])
        for need, has in ((amounts.c, C), (amounts.m, M)):
            needs = need[:, None] > 0
            room = np.where(needs, np.minimum(room, has[None, :] // np.maximum(need, 1)[:, None]), room)
        return cls(of_node=of_node, G=G, C=C, M=M, room=room)

    def of_places(self, share: Ints) -> Ints:
        """Return GPUs per place for GPUs per node."""
        return np.bincount(self.of_node, weights=share, minlength=len(self.G)).astype(np.int64)

    def on_nodes(self, amount: Ints, free: Ints) -> Ints:
        """Return GPUs per node for GPUs per place, inside a place by best fit."""
        share = np.zeros(len(self.of_node), dtype=np.int64)
        for place in np.flatnonzero(amount).tolist():
            nodes = np.flatnonzero(self.of_node == place)
            part = best_fit(free[nodes], int(amount[place]))
            if part is None:
                raise ValueError(f"place {place} has fewer than {amount[place]} free GPUs")
            share[nodes] = part
        return share


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlacedJob:
    """One job of the program: its sets as places, its shares and their values, and the share it may keep at home.

    It is on ``least`` to ``most`` places. A ``split`` job has equal parts: ``shares`` are then (set, parts, GPUs of
    each), of any other (set, GPUs). ``values`` are what they are worth by GPUs; the share at home is worth ``at_home``.
    """

    job: int
    sets: tuple[Ints, ...]
    shares: list[tuple[int, ...]]
    least: int
    most: int | None
    split: bool
    values: dict[int, int]
    home: Ints | None
    at_home: int

    @property
    def counted(self) -> bool:
        """Whether the places it uses are counted."""
        return not self.split and (self.least > 1 or self.most is not None)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlacedTable:
    """All jobs of a round with the places they may have shares on."""

    table: ShareTable
    fit: ShareFit
    places: SharePlaces
    jobs: tuple[PlacedJob, ...]

    @classmethod
    def of(cls, round_: Round, objective: str, packing: str, horizon: int | None = None) -> PlacedTable:
        """Return the shares of a round, where they may be, and what they are worth."""
        return _placed_table(round_, objective, packing, horizon)

    @classmethod
    def worked_out(cls, round_: Round, objective: str, packing: str, horizon: int | None) -> PlacedTable:
        """Return the table, worked out now."""
        table = ShareTable.of(round_, objective, packing, horizon)
        fit = ShareFit(round_, share_sizes(round_.cluster, packing), by_node=packing == "node")
        values: list[dict[int, int]] = [{} for _ in round_.jobs]
        for job, gpus, value in zip(table.jobs.tolist(), table.gpus.tolist(), table.moved.tolist(), strict=True):
            values[job][gpus] = value
        best = ShareValues.of(round_, objective, packing, horizon).fresh
        cap = np.array([max(mine, default=0) for mine in values], dtype=np.int64)
        places = SharePlaces.of(round_, cap, pool=not fit.shaped)
        jobs = tuple(_placed(fit, places, job, mine, best[job]) for job, mine in enumerate(values))
        return cls(table=table, fit=fit, places=places, jobs=jobs)


_placed_table = last_recalled(PlacedTable.worked_out)


def _placed(fit: ShareFit, places: SharePlaces, job: int, values: dict[int, int], fresh: Ints) -> PlacedJob:
    demand, cap = fit.demand(job), max(values, default=0)
    sets = tuple(np.unique(places.of_node[nodes]) for nodes in demand.sets)
    shares: list[tuple[int, ...]] = []
    split = fit.by_node or demand.even
    for place, some in enumerate(sets):
        room = places.room[job][some]
        if split:
            shape = NodeRange(least=demand.least, most=demand.most)
            shares += [(place, *parts) for parts in _splits(fit, shape, room, fit.legal(job, cap).tolist())]
        else:
            most = np.sort(room)[::-1][: demand.most].sum()
            shares += [(place, gpus) for gpus in fit.legal(job, min(cap, int(most))).tolist()]
    home = fit.home(job, cap)
    return PlacedJob(
        job=job,
        sets=sets,
        shares=shares,
        least=demand.least,
        most=demand.most,
        split=split,
        values=values,
        home=home,
        at_home=0 if home is None else int(fresh[home.sum()]),
    )


def _splits(fit: ShareFit, shape: NodeRange, room: Ints, sizes: list[int]) -> Iterator[tuple[int, int]]:
    """Yield the numbers of equal parts and their GPUs that some nodes have room for."""
    for gpus in sizes:
        for parts in shape.counts(gpus, even=True):
            each = gpus // parts
            if parts <= fit.most_nodes(gpus) and np.count_nonzero(room >= each) >= parts:
                yield parts, each
