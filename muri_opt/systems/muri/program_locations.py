"""GPUs of the chapter *grouping* where jobs ask for certain nodes: how locations share their common nodes.

Letters as in the chapter: q a location, u a cell, nodes that are in the same locations; f_qu how many GPUs groups at q
have in cell u. Groups may spread over all nodes of a location, so GPUs of cells need only be counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from muri_opt.modelling import ModelBuilder
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.muri.group_locations import Location
from muri_opt.systems.muri.program_columns import GroupColumns


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """Nodes in the same locations are one cell: node s is in ``of_node[s]``, of which there are ``G`` GPUs.

    ``pairs`` are the (location, cell) of locations with several cells. A location that is one cell is ``only`` there;
    for others that is -1. What only goes on where it is takes ``shares[q, u]`` GPUs; its nodes are cells of their own.
    """

    of_node: Ints
    G: Ints
    pairs: Ints
    only: Ints
    shares: Ints

    @classmethod
    def of(cls, locations: Sequence[Location], whole: Ints) -> Cells:
        """Return the cells of the locations on nodes of so many GPUs."""
        inside = np.zeros((len(whole), len(locations)), dtype=np.int64)
        alone = np.zeros(len(whole), dtype=np.int64)
        for place, location in enumerate(locations):
            nodes = list(location.nodes)
            inside[nodes, place] = 1
            if location.share is not None:
                alone[nodes] = np.array(nodes) + 1
        _, cells = np.unique(np.column_stack([inside, alone]), axis=0, return_inverse=True)
        cells = cells.reshape(-1)
        size = int(cells.max(initial=-1)) + 1
        only, pairs = np.full(len(locations), -1), list[tuple[int, int]]()
        shares = np.zeros((len(locations), size), dtype=np.int64)
        for place, location in enumerate(locations):
            used = np.unique(cells[list(location.nodes)]).tolist()
            if location.share is not None:
                np.add.at(shares[place], cells, location.on_nodes(len(whole)))
            elif len(used) == 1:
                only[place] = used[0]
            else:
                pairs += [(place, cell) for cell in used]
        return cls(
            of_node=cells,
            G=np.bincount(cells, weights=whole, minlength=size).astype(np.int64),
            pairs=np.array(pairs, dtype=np.int64).reshape(-1, 2),
            only=only,
            shares=shares,
        )

    def add(self, builder: ModelBuilder, x: Ints, columns: GroupColumns) -> None:
        """Add columns f, and the rows ``spread`` and ``gpus`` of locations and cells, to a program with columns x."""
        spread = np.unique(self.pairs[:, 0])
        f = np.zeros(0, dtype=np.int64)
        if len(spread):
            f = builder.add_columns("f", self.pairs, upper=self.G[self.pairs[:, 1]])
            some = np.flatnonzero(np.isin(columns.location, spread))
            rows = np.searchsorted(spread, np.append(columns.location[some], self.pairs[:, 0]))
            entries = (rows, np.append(x[some], f), np.append(columns.gpus[some], -np.ones_like(f)))
            builder.add_rows("spread", spread, entries=entries, sense="<=", rhs=0)
        inside = np.flatnonzero(self.only[columns.location] >= 0) if len(self.only) else np.zeros(0, dtype=np.int64)
        exact, cell = np.nonzero(self.shares[columns.location]) if len(self.only) else (inside[:0], inside[:0])
        rows = np.concatenate([self.only[columns.location[inside]], self.pairs[:, 1], cell])
        taken = np.concatenate([x[inside], f, x[exact]])
        gpus = np.concatenate([columns.gpus[inside], np.ones_like(f), self.shares[columns.location[exact], cell]])
        builder.add_rows("gpus", np.arange(len(self.G)), entries=(rows, taken, gpus), sense="<=", rhs=self.G)

    def flows(self, location: int, share: Ints) -> Ints:
        """Return the columns f of one group that has a share at a location."""
        here = np.flatnonzero(self.pairs[:, 0] == location)
        found = np.zeros(len(self.pairs), dtype=np.int64)
        found[here] = np.bincount(self.of_node, weights=share, minlength=len(self.G))[self.pairs[here, 1]]
        return found
