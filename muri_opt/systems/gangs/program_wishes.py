"""Columns and rows of the chapter *gangs* for levels that jobs prefer.

Letters as in the chapter: f_ju whether all of j is inside unit u of its level. Where there are such jobs, all else
counts once more often than there are of them, so that f only decides between answers that are equal in all else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from muri_opt.modelling import ModelBuilder
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.gangs.program_places import OpenPart, Places


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WishColumns:
    """Columns f of the (job, unit) in ``wishes``; ``unit`` has the row of each pair there, -1 for none, as ``home``."""

    wishes: Ints
    unit: Ints
    home: Ints

    @classmethod
    def of(cls, part: OpenPart, places: Places, home: Ints, homes: Ints) -> WishColumns:
        """Return the columns of the open part of a round; ``home`` and ``homes`` are those of the columns h."""
        wished = {} if part.sets is None else part.sets.wishes
        node_of = np.zeros(len(places.G), dtype=np.int64)
        node_of[places.of_node] = np.arange(len(places.of_node))
        rows: dict[tuple[int, int], int] = {}
        unit, at_home = np.full(len(places.pairs), -1), np.full(len(home), -1)
        for pair, (job, place) in enumerate(places.pairs.tolist()) if wished else ():
            if job in wished and wished[job][node_of[place]] >= 0:
                unit[pair] = rows.setdefault((job, int(wished[job][node_of[place]])), len(rows))
        for row, (job, share) in enumerate(zip(home.tolist(), homes, strict=True)):
            if job in wished and part.sets is not None and part.sets.is_inside(job, share):
                inside = int(wished[job][share > 0][0])
                at_home[row] = rows.setdefault((job, inside), len(rows))
        return cls(
            wishes=np.array(list(rows), dtype=np.int64).reshape(-1, 2),
            unit=unit,
            home=at_home,
        )

    def add(self, builder: ModelBuilder, g: Ints, x: Ints, h: Ints) -> Ints:
        """Add columns and rows to a program that has the columns x and h; return the columns f."""
        if not len(self.wishes):
            return np.zeros(0, dtype=np.int64)
        f = builder.add_columns("f", self.wishes)
        pairs, homes = np.flatnonzero(self.unit >= 0), np.flatnonzero(self.home >= 0)
        asks = g[self.wishes[:, 0]]
        rows = np.concatenate([np.arange(len(f)), self.unit[pairs], self.home[homes]])
        columns = np.concatenate([f, x[pairs], h[homes]])
        numbers = np.concatenate([asks, -np.ones_like(pairs), -asks[self.home[homes]]])
        builder.add_rows("near", self.wishes, entries=(rows, columns, numbers), sense="<=", rhs=0)
        return f

    def encoded(self, g: Ints, x: Ints, h: Ints) -> Ints:
        """Return the columns f that go with GPUs per pair and jobs at home."""
        inside = np.zeros(len(self.wishes), dtype=np.int64)
        pairs, homes = np.flatnonzero(self.unit >= 0), np.flatnonzero(self.home >= 0)
        np.add.at(inside, self.unit[pairs], x[pairs])
        asks = g[self.wishes[:, 0]]
        np.add.at(inside, self.home[homes], asks[self.home[homes]] * h[homes])
        return (inside == asks).astype(np.int64)
