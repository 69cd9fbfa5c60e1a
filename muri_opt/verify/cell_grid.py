"""A grid of what a node has, and tables of the most profit within each amount of it, filled item by item."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import gcd, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.verify.amounts import NO_LIMIT, Sizes
from muri_opt.verify.node_items import Item

Ints = NDArray[np.int64]
MOST_TOGETHER = 1 << 16
"""Cells of tables that are filled together: as many as are near to the processor."""


class Grid(NamedTuple):
    """What a node has of each resource that can run short, in units, one cell for each amount up to it."""

    axes: tuple[int, ...]
    units: tuple[int, ...]
    shape: tuple[int, ...]
    exact: bool

    @classmethod
    def of(cls, room: Sizes, least: Sizes, items: Sequence[Item], limit: int) -> Grid:
        """Return a grid for nodes that have at most ``room``, and at least ``least``, of each resource."""
        gpus, milli, mebibytes = (-1 if low >= NO_LIMIT else has for has, low in zip(room, least, strict=True))
        totals, sizes = _largest_together(items, (gpus, milli, mebibytes)), {item.sizes for item in items}
        has = [min(amounts) for amounts in zip(room, totals, strict=True)]
        axes = [0, *(axis for axis in (1, 2) if least[axis] < totals[axis] and _binds(room[0], least, sizes, axis))]
        units = [max(1, gcd(*(size[axis] for size in sizes))) for axis in axes]
        shape = [has[axis] // unit + 1 for axis, unit in zip(axes, units, strict=True)]
        return cls(tuple(axes), tuple(units), tuple(shape), exact=True).coarser(limit)

    def coarser(self, limit: int) -> Grid:
        """Return a grid of at most so many cells, by larger units of the resource that has most of them."""
        units, shape = list(self.units), list(self.shape)
        while prod(shape) > limit:
            longest = shape.index(max(shape))
            units[longest] *= 2
            shape[longest] = -(-shape[longest] // 2)  # of as many whole units as before, two are one
        return self._replace(units=tuple(units), shape=tuple(shape), exact=self.exact and prod(self.shape) <= limit)

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return prod(self.shape)

    def rounded(self, item: Item) -> Item:
        """Return an item with sizes in whole units, and none of what cannot run short."""
        sizes = [0, 0, 0]
        for axis, unit in zip(self.axes, self.units, strict=True):
            sizes[axis] = item.sizes[axis] // unit * unit
        return item._replace(sizes=(sizes[0], sizes[1], sizes[2]))

    def empty(self) -> Ints:
        """Return the table without any item."""
        return np.zeros(self.shape, dtype=np.int64)

    def filled(self, before: Ints, groups: Iterable[Sequence[Item]]) -> Ints:
        """Return the most profit within each amount, if of each group one item may be added to what was there.

        What was there is one table, or several: all axes but the first ones are of tables.
        """
        table, room = before.copy(), np.empty_like(before)
        for group in groups:
            after = table if len(group) == 1 else table.copy()  # sums are made before any takes a place
            for item in group:
                sizes = self._cell(item.sizes)
                ends = zip(self.shape, sizes, strict=True)
                here = tuple(slice(size, None) for size in sizes)
                there = tuple(slice(0, length - size) for length, size in ends)
                np.add(table[there], item.profit, out=room[there])
                np.maximum(after[here], room[there], out=after[here])
            table = after
        return table

    def filled_without(
        self, before: Ints, groups: Mapping[int, Sequence[Item]], left_out: Sequence[Sequence[int]]
    ) -> Iterator[Ints]:
        """Yield a table with all groups added but some, for each of those that are left out; many tables at once."""
        step = max(1, MOST_TOGETHER // self.cells)
        for start in range(0, len(left_out), step):
            some = left_out[start : start + step]
            places: dict[int, list[int]] = {}
            for place, jobs in enumerate(some):
                for job in jobs:
                    places.setdefault(job, []).append(place)
            tables = np.repeat(before[..., None], len(some), axis=-1)
            for job, group in groups.items():
                without = places.get(job, [])
                if len(without) < len(some):
                    after = self.filled(tables, [group])
                    after[..., without] = tables[..., without]
                    tables = after
            yield from np.moveaxis(tables, -1, 0)

    def most(self, table: Ints, groups: Sequence[Sequence[Item]], room: Sizes) -> int:
        """Return the most profit on a node of this room, if of each group one item may be added to the table."""
        if groups:
            table = self.filled(table, groups[:-1])
        cell = [min(size, length - 1) for size, length in zip(self._cell(room), self.shape, strict=True)]
        best = int(table[tuple(cell)])
        for item in groups[-1] if groups else ():  # of the last group one cell is enough
            left = [size - takes for size, takes in zip(cell, self._cell(item.sizes), strict=True)]
            if min(left) >= 0:
                best = max(best, int(table[tuple(left)]) + item.profit)
        return best

    def most_of_each(
        self, tables: Sequence[Ints], groups: Sequence[Sequence[Sequence[Item]]], rooms: Sequence[Sizes]
    ) -> list[int]:
        """Return what :meth:`most` does of several nodes, each with its own table, groups and room.

        All ways to add items of the groups are looked at, those of all nodes together; of ways that leave the same of a
        node, one of the highest profit.
        """
        told = [
            (node, step, turn, *item.sizes, item.profit)
            for node, mine in enumerate(groups)
            for step, group in enumerate(mine)
            for turn, item in enumerate(group)
        ]
        items = np.array(told, dtype=np.int64).reshape(-1, 7)
        takes, every = self._cells(items[:, 3:6]), np.indices(self.shape).reshape(len(self.shape), -1)
        strides = np.array([prod(self.shape[axis + 1 :]) for axis in range(len(self.shape))])
        first = self._cells(np.array(rooms, dtype=np.int64).reshape(-1, 3))
        left, of = np.minimum(first, np.array(self.shape)[:, None] - 1).T @ strides, np.arange(len(rooms))
        less = takes.T @ strides
        profit, leaving = np.zeros(len(rooms), dtype=np.int64), _Leaving(len(rooms) * self.cells)
        for step in range(int(items[:, 1].max(initial=-1)) + 1):
            here, ways = np.flatnonzero(items[:, 1] == step), [(left, of, profit)]
            for turn in range(int(items[here, 2].max(initial=-1)) + 1):
                some = here[items[here, 2] == turn]
                of_node = np.full(len(rooms), -1, dtype=np.int64)
                of_node[items[some, 0]] = some
                added = of_node[of]
                able = added >= 0
                for most, need in zip(every, takes, strict=True):
                    able &= most[left] >= need[added]
                added = added[able]
                ways.append((left[able] - less[added], of[able], profit[able] + items[added, 6]))
            left, of, profit = (np.concatenate(parts) for parts in zip(*ways, strict=True))
            best = leaving.best(of * self.cells + left, profit)
            left, of, profit = left[best], of[best], profit[best]
        distinct = {id(table): table for table in tables}
        number = {key: place for place, key in enumerate(distinct)}
        mine = np.array([number[id(table)] for table in tables], dtype=np.int64)
        known = np.stack([*distinct.values()]).reshape(len(distinct), -1)
        most = np.zeros(len(rooms), dtype=np.int64)
        np.maximum.at(most, of, known[mine[of], left] + profit)
        found: list[int] = most.tolist()
        return found

    def _cells(self, sizes: Ints) -> Ints:
        """Return how many units of each axis sizes in rows have, in a row for each axis."""
        return sizes.T[list(self.axes)] // np.array(self.units, dtype=np.int64)[:, None]

    def _cell(self, sizes: Sizes) -> list[int]:
        return [sizes[axis] // unit for axis, unit in zip(self.axes, self.units, strict=True)]


class _Leaving:
    """Which of some ways to fill nodes is the best of those that leave the same."""

    def __init__(self, cells: int) -> None:
        self._most, self._last = np.empty(cells, dtype=np.int64), np.empty(cells, dtype=np.int64)

    def best(self, left: Ints, profit: Ints) -> Ints:
        """Return the places of ways, one of the highest profit for each cell that any of them leaves."""
        self._most[left] = -1
        np.maximum.at(self._most, left, profit)
        found = np.flatnonzero(self._most[left] == profit)
        self._last[left[found]] = found
        single: Ints = found[self._last[left[found]] == found]
        return single


def _largest_together(items: Sequence[Item], enough: Sizes) -> list[int]:
    """Return how much of each resource the largest items of all jobs take together.

    Once it is more than ``enough`` of each, no further items are looked at.
    """
    largest: dict[int, Sizes] = {}
    total = [0, 0, 0]
    for job, sizes, _ in items:
        before = largest.get(job, (0, 0, 0))
        largest[job] = now = max(before[0], sizes[0]), max(before[1], sizes[1]), max(before[2], sizes[2])
        for axis in range(3):
            total[axis] += now[axis] - before[axis]
        if total[0] > enough[0] and total[1] > enough[1] and total[2] > enough[2]:
            break
    return total


def _binds(gpus: int, least: Sizes, every: Iterable[Sizes], axis: int) -> bool:
    """Return whether parts on so many GPUs could take more of a resource than a node has."""
    return least[axis] < NO_LIMIT and any(
        gpus * sizes[axis] > least[axis] * sizes[0] or (sizes[axis] > 0 and sizes[0] == 0) for sizes in every
    )
