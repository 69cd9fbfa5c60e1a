"""The most profit that parts of jobs can bring on nodes: a dynamic program over the GPUs, CPUs and memory of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import gcd, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.verify.amounts import NO_LIMIT, Sizes, minus
from muri_opt.verify.fractional_filling import fractional_profit
from muri_opt.verify.item_lists import ItemLists
from muri_opt.verify.node_items import Item, fitting, rows_of, undominated

Ints = NDArray[np.int64]
MOST_CELLS = 400_000
"""Cells of the largest grid; a finer one is made coarser."""
ROUGH_CELLS = 1_000
"""Fewest cells of a grid that is made coarser: beside it there is the bound of fractions, which is often better."""
ROUGH_STEPS = 50_000_000
"""Cells looked at for all nodes of a round in grids that are made coarser, where they have more than the fewest."""
MOST_STEPS = 2_000_000_000
"""Cells looked at for all nodes of a round; where finer grids would take more, they are made coarser."""
MOST_REPEATED = 400_000_000
"""Cells looked at again so that no job is counted twice on a node that it holds now."""
MOST_TOLD = 100_000
"""Items of all kinds of nodes; where there are more, those that are never needed are not looked for."""
LEAST_WORK = 5_000
"""Cells that could be looked at while one item is picked up."""
MOST_CONTENTS = 20_000
"""Contents of one room that are looked at one by one; where there are more, cells of a grid."""
MOST_WAYS = 256
"""Ways to add extras to one node that are looked at one by one; where there are more, cells of the grid."""
MOST_KEPT = 1 << 22
"""Cells of the tables of all nodes that are kept to look at nodes together."""
MOST_TOGETHER = 1 << 16
"""Cells of tables that are filled together: as many as are near to the processor."""
MOST_ROOMS = 8
"""Rooms of nodes of one kind that each have a table of their own."""
_BITS = 62
"""Sums of profits stay below two to this power: they must fit machine words."""


class Spot(NamedTuple):
    """A node, or many alike: what it has, and the parts that only it may have, besides those that any may."""

    room: Sizes
    extras: tuple[Item, ...] = ()


def profit_of_nodes(
    nodes: Sequence[tuple[str | None, Sizes]],
    items: Mapping[str | None, Sequence[Sequence[Item]]],
    extras: Mapping[int, Sequence[Item]],
    *,
    parts: int,
    share: int = 1,
    added: int = NO_LIMIT,
) -> int:
    """Return at least the most profit of all nodes together.

    A node has a kind and a room. It may have the items of its kind, in lists that kinds may share, and the extras of
    its position besides; what has no profit or does not fit is left out. ``parts`` are more than any node is ever
    given: profits are rounded up so far that the sum of so many can be held in a machine word. Nodes of one kind and
    one room share a table; where there are many rooms, all nodes of one kind do. Where very many items would be looked
    at for very many kinds, those of too many cells have the bound of fractions alone. ``share`` is as in
    :func:`most_profits`, and ``added`` how many cells may be looked at to add the extras.
    """
    lists = {id(some): some for each in items.values() for some in each}
    shift = _shift(chain(*lists.values(), *extras.values()), parts=parts)
    kinds: dict[str | None, Counter[Spot]] = {}
    for place, (kind, room) in enumerate(nodes):
        spot = Spot(room, tuple(_worthwhile(extras.get(place, ()), room, shift)))
        kinds.setdefault(kind, Counter())[spot] += 1
    shelves: dict[tuple[str | None, Sizes | None], Counter[Spot]] = {}
    for kind, spots in kinds.items():
        apart = len({spot.room for spot in spots}) <= MOST_ROOMS
        for spot, count in spots.items():
            shelves.setdefault((kind, spot.room if apart else None), Counter())[spot] += count
    cells = min(MOST_CELLS, added // max(1, sum(len(spot.extras) for spots in kinds.values() for spot in spots)))
    many = sum(len(some) for kind, _ in shelves for some in items[kind]) > MOST_TOLD
    shared = _shared(lists, [spot for some in kinds.values() for spot in some], shift) if many and nodes else None
    total = 0
    for (kind, _), spots in shelves.items():
        room = _extreme(max, [spot.room for spot in spots])
        names = [*map(id, items[kind])]
        if shared is not None and shared.cells_for(names, [spot.room for spot in spots]) > cells:
            most = [shared.profit_in_fractions(names, spot.room, spot.extras) for spot in spots]
        else:
            every = _worthwhile(chain(*items[kind]), room, shift) if shared is None else shared.items(names, room)
            common = list(every)
            most = most_profits(list(spots), common, share=share * len(shelves), cells=cells)
        total += sum(count * profit for count, profit in zip(spots.values(), most, strict=True))
    return total << shift


def _shared(lists: Mapping[int, Sequence[Item]], spots: Sequence[Spot], shift: int) -> ItemLists:
    room = _extreme(max, [spot.room for spot in spots])
    kept = {name: [*_worthwhile(some, room, shift)] for name, some in lists.items()}
    return ItemLists(kept, room, [item for spot in spots for item in spot.extras])


def profit_of_room(room: Sizes, items: Sequence[Item]) -> int:
    """Return the most profit of items within a room; a job counts once.

    Exact where few contents are to be looked at; else by a grid, at least the most profit.
    """
    front, contents = {room: 0}, MOST_CONTENTS
    for group in _by_job(_worthwhile(items, room, 0)).values():
        after = dict(front)
        for left, profit in front.items():
            for item in group:
                rest = minus(left, item.sizes)
                if min(rest) >= 0 and after.get(rest, -1) < profit + item.profit:
                    after[rest] = profit + item.profit
        contents -= len(after)
        if contents < 0:
            break
        front = after
    else:
        return max(front.values())
    shift = _shift(items, parts=len(items))
    return most_profits([Spot(room)], list(_worthwhile(items, room, shift)), cells=MOST_CONTENTS)[0] << shift


def _shift(items: Iterable[Item], *, parts: int) -> int:
    """Return how many bits of profits are given up so that the sum of so many can be held in a machine word."""
    return max(0, (max((item.profit for item in items), default=0) * parts).bit_length() - _BITS)


def _worthwhile(items: Iterable[Item], room: Sizes, shift: int) -> Iterator[Item]:
    """Yield the items that have a profit and fit a room, rounded up to multiples of two to the power of ``shift``."""
    for item in items:
        gpus, milli, mebibytes = item.sizes
        if item.profit > 0 and gpus <= room[0] and milli <= room[1] and mebibytes <= room[2]:
            yield item._replace(profit=-(-item.profit >> shift)) if shift else item


def most_profits(spots: Sequence[Spot], items: Sequence[Item], *, share: int = 1, cells: int = MOST_CELLS) -> list[int]:
    """Return, for each spot, at least the most profit of items and its extras within its room.

    A job counts once. The answer is exact where the grid is; where that would be too large, it is the better one of two
    bounds: of sizes that are rounded down, and of parts of which fractions may be taken. Where too many spots have
    extras, a job may count twice, once as an extra: a larger answer, never less. ``share`` says how many calls must do
    with the work that is allowed to one round, and ``cells`` how fine the grid is at most.
    """
    own = [item for spot in spots for item in spot.extras]
    room = _extreme(max, [spot.room for spot in spots])
    kept = _undominated(room, items, own)
    all_items = [*kept, *own]
    limit = max(1, min(cells, MOST_STEPS // (share * max(1, len(all_items)))))
    grid = _Grid.of(room, _extreme(min, [spot.room for spot in spots]), all_items, limit)
    if grid.exact:
        return _filled_spots(grid, spots, kept, share)
    rough = grid.coarser(max(ROUGH_CELLS, ROUGH_STEPS // (share * max(1, len(all_items)))))
    found = _filled_spots(rough, spots, _undominated(room, map(rough.rounded, kept), map(rough.rounded, own)), share)
    common = rows_of(kept)
    own_rows = [np.concatenate([common, rows_of(spot.extras)]) for spot in spots]
    return [
        min(profit, fractional_profit(spot.room, fitting(rows, spot.room)))
        for profit, spot, rows in zip(found, spots, own_rows, strict=True)
    ]


def _undominated(room: Sizes, items: Iterable[Item], own: Iterable[Item]) -> list[Item]:
    """Return those of the items that may be needed, beside any that some nodes have of their own."""
    every = [*items]
    return undominated(room, every, _extreme(min, {item.sizes for item in (*every, *own)} or {(1, 0, 0)}))


def _filled_spots(grid: _Grid, spots: Sequence[Spot], kept: Sequence[Item], share: int) -> list[int]:
    """Return the most profit of each spot that cells of a grid allow."""
    repeats = share * len(kept) * sum(1 for spot in spots if spot.extras)
    again = (grid.cells + LEAST_WORK) * repeats <= MOST_REPEATED
    groups, added = _by_job(kept), [_by_job(spot.extras) for spot in spots]
    twice = [[job for job in mine if job in groups] if again else [] for mine in added]
    some = set(chain.from_iterable(twice))
    everywhere = grid.filled(grid.empty(), (group for job, group in groups.items() if job not in some))
    rest = {job: group for job, group in groups.items() if job in some}
    base = grid.filled(everywhere, rest.values())
    others = grid.filled_without(everywhere, rest, [jobs for jobs in twice if jobs])
    few = grid.cells * len(spots) <= MOST_KEPT
    found, together = [0] * len(spots), list[tuple[int, Ints, list[list[Item]], Sizes]]()
    for place, (spot, mine, jobs) in enumerate(zip(spots, added, twice, strict=True)):
        both = [[*(groups[job] if job in jobs else ()), *own] for job, own in mine.items()]
        table = next(others) if jobs else base
        if few and both and prod(1 + len(group) for group in both) <= MOST_WAYS:
            together.append((place, table, both, spot.room))
        else:
            found[place] = grid.most(table, both, spot.room)
    if together:
        places, tables, every, rooms = zip(*together, strict=True)
        for place, profit in zip(places, grid.most_of_each(tables, every, rooms), strict=True):
            found[place] = profit
    return found


class _Grid(NamedTuple):
    """What a node has of each resource that can run short, in units, one cell for each amount up to it."""

    axes: tuple[int, ...]
    units: tuple[int, ...]
    shape: tuple[int, ...]
    exact: bool

    @classmethod
    def of(cls, room: Sizes, least: Sizes, items: Sequence[Item], limit: int) -> _Grid:
        """Return a grid for nodes that have at most ``room``, and at least ``least``, of each resource."""
        gpus, milli, mebibytes = (-1 if low >= NO_LIMIT else has for has, low in zip(room, least, strict=True))
        totals, sizes = _largest_together(items, (gpus, milli, mebibytes)), {item.sizes for item in items}
        has = [min(amounts) for amounts in zip(room, totals, strict=True)]
        axes = [0, *(axis for axis in (1, 2) if least[axis] < totals[axis] and _binds(room[0], least, sizes, axis))]
        units = [max(1, gcd(*(size[axis] for size in sizes))) for axis in axes]
        shape = [has[axis] // unit + 1 for axis, unit in zip(axes, units, strict=True)]
        return cls(tuple(axes), tuple(units), tuple(shape), exact=True).coarser(limit)

    def coarser(self, limit: int) -> _Grid:
        """Return a grid of at most so many cells, by larger units of the resource that has most of them."""
        units, shape = list(self.units), list(self.shape)
        while prod(shape) > limit:
            longest = shape.index(max(shape))
            units[longest] *= 2
            shape[longest] = -(-shape[longest] // 2)  # of as many whole units as before, two are one
        return self._replace(units=tuple(units), shape=tuple(shape), exact=self.exact and prod(self.shape) <= limit)

    @property
    def cells(self) -> int:
        return prod(self.shape)

    def rounded(self, item: Item) -> Item:
        """Return an item with sizes in whole units, and none of what cannot run short."""
        sizes = [0, 0, 0]
        for axis, unit in zip(self.axes, self.units, strict=True):
            sizes[axis] = item.sizes[axis] // unit * unit
        return item._replace(sizes=(sizes[0], sizes[1], sizes[2]))

    def empty(self) -> Ints:
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


def _extreme(which: Callable[[Iterable[int]], int], rooms: Iterable[Sizes]) -> Sizes:
    """Return the largest, or the smallest, amount of each resource."""
    gpus, milli, mebibytes = map(which, zip(*rooms, strict=True))
    return gpus, milli, mebibytes


def _by_job(items: Iterable[Item]) -> dict[int, list[Item]]:
    groups: dict[int, list[Item]] = {}
    for item in items:
        groups.setdefault(item.job, []).append(item)
    return groups
