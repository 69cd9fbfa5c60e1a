"""Columns and rows of the chapter *gangs* for what jobs ask of nodes: sets of nodes, shapes, and where they run now.

Letters as in the chapter: h_j whether j goes on where it is, d_jk whether it is in set k of its nodes, b_js whether it
uses place s, y_jsn whether it has one of n equal parts there, e_jn whether it is split into n equal parts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import ModelBuilder, RowSense
from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.shape import NodeRange
from muri_opt.systems.capacity import fewest_nodes
from muri_opt.systems.gangs.program_places import OpenPart, Places


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DemandColumns:
    """Which jobs and places have columns beside a and x.

    ``home[i]`` is a job that may go on where it is though it could not start there, and ``homes[i]`` are its GPUs per
    node. ``counted`` are the pairs (job, place) with a column b, whose jobs are on at least ``least`` and at most
    ``most`` nodes. ``sets`` are the (job, set) of jobs with several, and ``in_set`` says of which each pair is, -1 for
    none. ``splits`` are the (job, parts) of even jobs, ``parts`` the (pair, split) that can be.
    """

    home: Ints
    homes: Ints
    counted: NDArray[np.bool_]
    least: Ints
    most: Ints
    sets: Ints
    in_set: Ints
    splits: Ints
    parts: Ints

    @classmethod
    def of(
        cls,
        round_: Round,
        part: OpenPart,
        places: Places,
        *,
        fewest: bool,
        rows: bool,
        at_home: bool = False,
        counted: bool = False,
    ) -> DemandColumns:
        """Return the columns of the open part of a round; ``fewest`` allows no more nodes than a gang needs alone.

        Where no ``rows`` are to be made and gangs ask for nothing, it is not worked out on how many nodes they may be.
        ``at_home`` gives every gang that runs a column h, ``counted`` all pairs a column b.
        """
        count, nodes = len(round_.jobs), len(round_.cluster.nodes)
        most, least = np.full(count, nodes), np.ones(count, dtype=np.int64)
        even, counts = np.zeros(count, dtype=np.bool_), np.full(count, fewest or counted)
        if fewest and (rows or at_home or part.sets is not None):
            able = np.flatnonzero(places.fits)
            most[able] = [fewest_nodes(round_, int(job)) for job in able]
        home, homes = part.all_homes(places.fits, most) if at_home else part.only_at_home(most)
        sets: list[tuple[int, int]] = []
        in_set = np.full(len(places.pairs), -1)
        splits, parts = list[tuple[int, int]](), list[tuple[int, int]]()
        first = np.searchsorted(places.pairs[:, 0], np.arange(count + 1))
        for job, demand in part.demands(places.fits):
            pairs = range(first[job], first[job + 1])
            if len(demand.sets) > 1:
                of_place = {int(places.of_node[s]): k for k, some in enumerate(demand.sets) for s in some.tolist()}
                for pair in pairs:
                    in_set[pair] = len(sets) + of_place[int(places.pairs[pair, 1])]
                sets += [(job, k) for k in range(len(demand.sets))]
            least[job], even[job] = demand.least, demand.even
            most[job] = min(most[job], nodes if demand.most is None else demand.most)
            counts[job] = fewest or counted or demand.shaped
            if demand.even and most[job] >= demand.least:
                shape = NodeRange(least=demand.least, most=int(most[job]))
                for number in shape.counts(int(part.amounts.g[job]), even=True):
                    size = part.amounts.g[job] // number
                    parts += [(pair, len(splits)) for pair in pairs if places.most[pair] >= size]
                    splits.append((job, number))
        j = places.pairs[:, 0]
        return cls(
            home=home,
            homes=homes,
            counted=counts[j] & ~even[j],
            least=least,
            most=most,
            sets=np.array(sets, dtype=np.int64).reshape(-1, 2),
            in_set=in_set,
            splits=np.array(splits, dtype=np.int64).reshape(-1, 2),
            parts=np.array(parts, dtype=np.int64).reshape(-1, 2),
        )

    def add(self, builder: ModelBuilder, places: Places, g: Ints, a: Ints, x: Ints, h: Ints) -> None:
        """Add columns and rows to a program that has the columns a, x and h."""
        if self.counted.any():
            self._add_counts(builder, places, a, x, h)
        if len(self.sets):
            d = builder.add_columns("d", self.sets)
            some = np.flatnonzero(self.in_set >= 0)
            rows = np.append(self.in_set[some], np.arange(len(d)))
            entries = (rows, np.append(x[some], d), np.append(np.ones_like(some), -g[self.sets[:, 0]]))
            builder.add_rows("set", self.sets, entries=entries, sense="=", rhs=0)
        if len(self.splits):
            self._add_splits(builder, places, g, x)

    def _add_counts(self, builder: ModelBuilder, places: Places, a: Ints, x: Ints, h: Ints) -> None:
        used = np.flatnonzero(self.counted)
        pairs = places.pairs[used]
        b, ones = builder.add_columns("b", pairs), np.ones(len(used), dtype=np.int64)
        x, most = x[used], places.most[used]
        one = self.most[pairs[:, 0]] == 1
        senses: tuple[tuple[str, NDArray[np.bool_], RowSense], ...] = (("link", ~one, "<="), ("whole", one, "="))
        for label, some, sense in senses:
            rows = np.arange(np.count_nonzero(some))
            columns, numbers = np.append(x[some], b[some]), np.append(ones[some], -most[some])
            builder.add_rows(label, pairs[some], entries=(np.append(rows, rows), columns, numbers), sense=sense, rhs=0)
        jobs, rows = np.unique(pairs[:, 0], return_inverse=True)
        builder.add_rows("few", jobs, entries=(rows, b, ones), sense="<=", rhs=self.most[jobs])
        wide = np.flatnonzero(self.least[jobs] > 1)
        if not len(wide):
            return
        some = np.isin(pairs[:, 0], jobs[wide])
        row = np.arange(np.count_nonzero(some))
        entries = (np.append(row, row), np.append(b[some], x[some]), np.append(ones[some], -ones[some]))
        builder.add_rows("uses", pairs[some], entries=entries, sense="<=", rhs=0)
        at_home = np.flatnonzero(np.isin(self.home, jobs[wide]))
        least = self.least[jobs[wide]]
        row = np.concatenate(
            [np.searchsorted(jobs[wide], these) for these in (pairs[some, 0], jobs[wide], self.home[at_home])]
        )
        columns = np.concatenate([b[some], a[jobs[wide]], h[at_home]])
        numbers = np.concatenate([ones[some], -least, self.least[self.home[at_home]]])
        builder.add_rows("least", jobs[wide], entries=(row, columns, numbers), sense=">=", rhs=0)

    def _add_splits(self, builder: ModelBuilder, places: Places, g: Ints, x: Ints) -> None:
        pair, split = self.parts.T
        job, number = self.splits[split].T
        y = builder.add_columns("y", np.column_stack([places.pairs[pair], number]))
        e = builder.add_columns("e", self.splits)
        even = np.flatnonzero(np.isin(places.pairs[:, 0], self.splits[:, 0]))
        rows = np.append(np.arange(len(even)), np.searchsorted(even, pair))
        entries = (rows, np.append(x[even], y), np.append(np.ones_like(even), -g[job] // number))
        builder.add_rows("even", places.pairs[even], entries=entries, sense="=", rhs=0)
        rows = np.append(split, np.arange(len(e)))
        entries = (rows, np.append(y, e), np.append(np.ones_like(split), -self.splits[:, 1]))
        builder.add_rows("parts", self.splits, entries=entries, sense="=", rhs=0)
        jobs, row = np.unique(self.splits[:, 0], return_inverse=True)
        builder.add_rows("split", jobs, entries=(row, e, np.ones_like(e)), sense="<=", rhs=1)

    def encoded(self, places: Places, g: Ints, x: Ints) -> list[Ints]:
        """Return the columns beside a, x and h that go with GPUs per pair."""
        found = [(x[self.counted] > 0).astype(np.int64)] if self.counted.any() else []
        if len(self.sets):
            d = np.zeros(len(self.sets), dtype=np.int64)
            d[self.in_set[(self.in_set >= 0) & (x > 0)]] = 1
            found.append(d)
        if len(self.splits):
            pair, split = self.parts.T
            job, number = self.splits[split].T
            y = (x[pair] == g[job] // number).astype(np.int64)
            e = np.zeros(len(self.splits), dtype=np.int64)
            e[split[y == 1]] = 1
            found += [y, e]
        return found
