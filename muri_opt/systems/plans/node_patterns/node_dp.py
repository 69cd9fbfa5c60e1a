"""The most profitable set of parts for one node, by dynamic programming over its grid.

Multiple-choice knapsack in up to three dimensions: one table over the grid, updated group by group, walked backwards
for the items.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds.amounts import Ints

Profits = NDArray[np.floating[Any]]
"""What each item is worth on a node; tables of best profits have the same precision."""
Groups = Sequence[Ints]
"""Items of which at most one is taken, group by group."""
Cell = tuple[int, ...]
"""An amount of each resource, in units of a grid."""


def swept(groups: Groups, profit: Profits, sizes: Ints, start: Profits) -> Profits:
    """Return the best profit for every amount of room, with at most one item of each group beside ``start``.

    ``start`` has the best profits without them: zeros where there is nothing yet. Every item must fit the table.
    """
    table, spare = start, np.empty_like(start)
    for group in groups:
        table = _after(table, group, profit, sizes, spare)
    return table


def history(groups: Groups, profit: Profits, sizes: Ints, start: Profits) -> list[Profits]:
    """Return the best profits before the first group, which are ``start``, after it, after the second, and so on."""
    tables, spare = [start], np.empty_like(start)
    for group in groups:
        tables.append(_after(tables[-1], group, profit, sizes, spare))
    return tables


def _after(table: Profits, group: Ints, profit: Profits, sizes: Ints, spare: Profits) -> Profits:
    """Return a table with one more group; ``spare`` is memory for sums, since new memory each time would cost more."""
    after = table.copy()
    for item, size in zip(group.tolist(), sizes[group].tolist(), strict=True):
        here = tuple([slice(step, None) for step in size])
        before = tuple([slice(None, extent - step) for extent, step in zip(table.shape, size, strict=True)])
        with_item = np.add(table[before], profit[item], out=spare[before])
        np.maximum(after[here], with_item, out=after[here])
    return after


def retraced(tables: Sequence[Profits], groups: Groups, room: Cell, profit: Profits, sizes: Ints) -> list[int]:
    """Return the items that make the last table's profit for ``room``, those of the last group first."""
    taken = []
    for step in range(len(tables) - 1, 0, -1):
        after, before = tables[step], tables[step - 1]
        if after[room] == 0:
            break
        if after[room] == before[room]:
            continue
        for item in groups[step - 1].tolist():
            rest = tuple(has - size for has, size in zip(room, sizes[item].tolist(), strict=True))
            if min(rest) >= 0 and before[rest] + profit[item] == after[room]:
                taken.append(item)
                room = rest
                break
    return taken


class BothEnds:
    """Groups swept from the first to the last and from the last to the first.

    That gives, for every group, the best of what comes before it and of what comes after it, in every room.
    """

    def __init__(self, groups: Groups, profit: Profits, sizes: Ints, extent: Cell) -> None:
        self.groups, self.backwards = groups, list(reversed(groups))
        self.profit, self.sizes, self.extent = profit, sizes, extent
        empty = np.zeros(tuple(size + 1 for size in extent), dtype=profit.dtype)
        self.ahead = history(groups, profit, sizes, empty)
        self.behind = history(self.backwards, profit, sizes, empty)
        self._spare = np.empty(empty.size, dtype=profit.dtype)

    def beside(self, items: Ints) -> list[int]:
        """Return the best pattern with one of the items, which are in no group."""
        rooms = np.array(self.extent) - self.sizes[items]
        best = int(np.argmax(self.ahead[-1][tuple(rooms.T)] + self.profit[items]))
        room = tuple(rooms[best].tolist())
        return [int(items[best]), *retraced(self.ahead, self.groups, room, self.profit, self.sizes)]

    def instead(self, place: int, items: Ints) -> list[int]:
        """Return the best pattern with one of the items, which are instead of the group at a place."""
        before, after = self.ahead[: place + 1], self.behind[: len(self.groups) - place]
        best = (-np.inf, -1, self.extent, self.extent)
        for item in items.tolist():
            left = tuple(has - size for has, size in zip(self.extent, self.sizes[item].tolist(), strict=True))
            part = tuple(slice(0, room + 1) for room in left)
            shape = tuple(room + 1 for room in left)
            both = self._spare[: int(np.prod(shape))].reshape(shape)
            np.add(before[-1][part], np.flip(after[-1][part]), out=both)
            at = int(both.argmax())
            total = float(both.flat[at]) + float(self.profit[item])
            if total > best[0]:
                best = (total, item, tuple(int(i) for i in np.unravel_index(at, shape)), left)
        _, item, room, left = best
        rest = tuple(has - used for has, used in zip(left, room, strict=True))
        return [
            item,
            *retraced(before, self.groups, room, self.profit, self.sizes),
            *retraced(after, self.backwards, rest, self.profit, self.sizes),
        ]
