"""Items in lists that many nodes share: what a node may need of them, and the bound of fractions, by arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from muri_opt.verify.amounts import NO_LIMIT, Sizes
from muri_opt.verify.fractional_filling import fractional_profit
from muri_opt.verify.node_items import Ints, Item, fitting, rows_of, undominated_places


class ItemLists:
    """Lists of items by name, none of which has items that are dominated inside it.

    All items fit ``room``, and no node has more; ``own`` are what some nodes may have besides.
    """

    def __init__(self, lists: Mapping[int, Sequence[Item]], room: Sizes, own: Sequence[Item]) -> None:
        every = [rows_of(items) for items in (own, *lists.values())]
        gpus, milli, mebibytes = np.concatenate(every)[:, 1:4].min(axis=0, initial=NO_LIMIT).tolist()
        self._smallest = gpus, milli, mebibytes  # of each resource, that any part takes
        self._rows = {
            name: rows[undominated_places(room, rows, self._smallest)]
            for name, rows in zip(lists, every[1:], strict=True)
        }
        self._fitting: dict[tuple[int, Sizes], Ints] = {}

    def items(self, lists: Sequence[int], room: Sizes) -> list[Item]:
        """Return the items of some lists among which is a best choice for a node with this room, or less."""
        rows = self._within(lists, room)
        kept = rows[undominated_places(room, rows, self._smallest)].tolist()
        return [Item(job, (gpus, milli, mebibytes), profit) for job, gpus, milli, mebibytes, profit in kept]

    def profit_in_fractions(self, lists: Sequence[int], room: Sizes, own: Sequence[Item]) -> int:
        """Return the bound of fractions for the items of some lists, and others that only this node may have."""
        return fractional_profit(room, np.concatenate([self._within(lists, room), fitting(rows_of(own), room)]))

    def cells_for(self, lists: Sequence[int], rooms: Sequence[Sizes]) -> int:
        """Return about how many cells a grid has by which the most profit in some rooms is exact."""
        most, least = (tuple(map(which, zip(*rooms, strict=True))) for which in (max, min))
        takes = self._within(lists, (most[0], most[1], most[2]))[:, 1:4]
        units = np.gcd.reduce(takes, axis=0).tolist()
        about = takes.astype(np.float64)
        limited = [axis for axis in (1, 2) if least[axis] < NO_LIMIT]
        short = [axis for axis in limited if (most[0] * about[:, axis] > least[axis] * about[:, 0]).any()]
        has = [min(room, total) for room, total in zip(most, map(int, about.sum(axis=0)), strict=True)]
        return prod(has[axis] // max(1, units[axis]) + 1 for axis in (0, *short))

    def _within(self, lists: Sequence[int], room: Sizes) -> Ints:
        """Return the items of some lists that fit a room."""
        for name in lists:
            if (name, room) not in self._fitting:
                self._fitting[name, room] = fitting(self._rows[name], room)
        return np.concatenate([rows_of([]), *(self._fitting[name, room] for name in lists)])
