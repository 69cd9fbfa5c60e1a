"""Groups of the chapter *grouping* that go on as they are: columns of their own, which lose no restart.

Letters as in the chapter: y_Sh how often a group S of types goes on at the placement h. Jobs of type t that run at h
are in at most as many of these groups as there are of them (rows ``kept``), and a node holds all that go on there (rows
``home``). All other columns take jobs of a type wherever they run now, and lose the longest restart of their members.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import ModelBuilder
from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.sharing_now import homes_now
from muri_opt.systems.muri.group_locations import Location

Floats = NDArray[np.float64]
AllGroups = Callable[[Ints, Ints, int], Ints]
"""From buckets and counts of types, and the largest group, to all groups of one bucket, filled up with -1."""
MOST_COST = 1_000_000
"""What it costs to change the dearest group counts at most: what the others cost is scaled, and rounded, to that."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeptColumns:
    """Groups that go on as they are: ``groups[i]`` are the types of group i, at the placement ``placement[i]``.

    Job j runs at ``of_job[j]``, -1 if it does not run; ``shares[h, s]`` are the GPUs of node s of placement h, and
    ``inside[t, h]`` how many jobs of type t run there.
    """

    of_job: Ints
    shares: Ints
    inside: Ints
    groups: Ints
    placement: Ints

    @classmethod
    def none(cls, round_: Round, types: int, largest: int) -> KeptColumns:
        """Return no groups."""
        return cls(
            of_job=np.full(len(round_.jobs), -1),
            shares=np.zeros((0, len(round_.cluster.nodes)), dtype=np.int64),
            inside=np.zeros((types, 0), dtype=np.int64),
            groups=np.zeros((0, largest), dtype=np.int64),
            placement=np.zeros(0, dtype=np.int64),
        )

    @classmethod
    def of(
        cls, round_: Round, type_of: Ints, g: Ints, largest: int, all_groups: AllGroups, *, mixed: bool
    ) -> KeptColumns:
        """Return all groups that may be those that run; ``g`` are the GPUs of each type."""
        now = homes_now(round_)
        of_job, index = np.array(now.of, dtype=np.int64), round_.cluster.node_index
        shares = np.zeros((len(now.homes), len(round_.cluster.nodes)), dtype=np.int64)
        inside = np.zeros((len(g), len(now.homes)), dtype=np.int64)
        runs = np.flatnonzero(of_job >= 0)
        np.add.at(inside, (type_of[runs], of_job[runs]), 1)
        parts, placement = [np.zeros((0, largest), dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for place, one in enumerate(now.homes):
            for node, gpus in one.held:
                shares[place, index[node]] = gpus
            total = int(shares[place].sum())
            mine = np.flatnonzero((inside[:, place] > 0) & ((g <= total) if mixed else (g == total)))
            found = all_groups(np.zeros_like(mine), inside[mine, place], largest)
            sizes = (found >= 0).sum(axis=1)
            types = np.where(found >= 0, mine[found] if len(mine) else found, -1)
            gpus_of = np.where(types >= 0, g[types], 0).max(axis=1, initial=0)
            may = (sizes >= one.least) & (sizes <= one.largest) & (gpus_of == total) & (total > 0)
            parts.append(types[may])
            placement.append(np.full(int(may.sum()), place, dtype=np.int64))
        return cls(
            of_job=of_job,
            shares=shares,
            inside=inside,
            groups=np.concatenate(parts),
            placement=np.concatenate(placement),
        )

    def location(self, placement: int) -> Location:
        """Return a placement as GPUs of nodes that a group has exactly."""
        nodes = np.flatnonzero(self.shares[placement]).tolist()
        return Location(frozenset(nodes), tuple((node, int(self.shares[placement, node])) for node in nodes))

    def costs(self, restart: Ints) -> Ints:
        """Return what it would cost to change each group: restart times GPUs of its jobs, in a common unit.

        ``restart`` is that of each type, in microseconds; one of 0 counts as one, so that no change is free.
        """
        each = np.where(self.groups >= 0, np.maximum(1, restart)[self.groups], 0).sum(axis=1)
        cost = each.astype(object) * self.shares.sum(axis=1)[self.placement]
        largest = int(cost.max(initial=0))
        if largest <= MOST_COST:
            return np.asarray(cost, dtype=np.int64)
        return np.asarray(np.maximum(1, cost * MOST_COST // largest), dtype=np.int64)

    def rows(self, count: Ints) -> Ints:
        """Return the (type, placement) that have a row: of those in a group, types of which not all jobs are there."""
        used = np.zeros_like(self.inside, dtype=np.bool_)
        for member in self.groups.T:
            some = member >= 0
            used[member[some], self.placement[some]] = True
        return np.argwhere(used & (self.inside < count[:, None]))

    def add(self, builder: ModelBuilder, y: Ints, count: Ints, entries: tuple[Ints, Ints, Ints]) -> None:
        """Add the rows ``kept``; ``entries`` are the group, a type in it, and how many jobs of that type it has."""
        rows = self.rows(count)
        place = np.full(self.inside.shape, -1)
        place[rows[:, 0], rows[:, 1]] = np.arange(len(rows))
        group, kind, times = entries
        row = place[kind, self.placement[group]]
        some = row >= 0
        most = self.inside[rows[:, 0], rows[:, 1]]
        builder.add_rows("kept", rows, entries=(row[some], y[group[some]], times[some]), sense="<=", rhs=most)

    def add_nodes(self, builder: ModelBuilder, y: Ints, whole: Ints) -> None:
        """Add the rows ``home`` of nodes that have ``whole`` GPUs, where all others may be anywhere."""
        column, node = np.nonzero(self.shares[self.placement])
        nodes = np.unique(node)
        taken = self.shares[self.placement[column], node]
        entries = (np.searchsorted(nodes, node), y[column], taken)
        builder.add_rows("home", nodes, entries=entries, sense="<=", rhs=whole[nodes])

    def prices(self, count: Ints, type_of: Ints, found: Mapping[str, Floats], more: Floats) -> dict[str, Floats]:
        """Return the prices of jobs that go on (``kept``) and of nodes (``home``), with ``more`` for some types."""
        each = more.copy()
        rows = self.rows(count)
        each[rows[:, 0], rows[:, 1]] += found["kept"]
        jobs = np.where(self.of_job >= 0, each[type_of, self.of_job], 0.0)
        told: dict[str, Floats] = {"kept": jobs}
        if "home" in found:
            nodes = np.unique(np.nonzero(self.shares[self.placement])[1])
            told["home"] = np.zeros(self.shares.shape[1])
            told["home"][nodes] = found["home"]
        return told
