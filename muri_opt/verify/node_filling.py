"""The most profit that parts of jobs can bring on nodes: a dynamic program over the GPUs, CPUs and memory of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.verify.amounts import NO_LIMIT, Sizes, minus
from muri_opt.verify.cell_grid import Grid
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
    spots_by_table: dict[tuple[str | None, Sizes | None], Counter[Spot]] = {}
    for kind, spots in kinds.items():
        apart = len({spot.room for spot in spots}) <= MOST_ROOMS
        for spot, count in spots.items():
            spots_by_table.setdefault((kind, spot.room if apart else None), Counter())[spot] += count
    cells = min(MOST_CELLS, added // max(1, sum(len(spot.extras) for spots in kinds.values() for spot in spots)))
    many = sum(len(some) for kind, _ in spots_by_table for some in items[kind]) > MOST_TOLD
    shared = _shared(lists, [spot for some in kinds.values() for spot in some], shift) if many and nodes else None
    total = 0
    for (kind, _), spots in spots_by_table.items():
        room = _extreme(max, [spot.room for spot in spots])
        names = [*map(id, items[kind])]
        if shared is not None and shared.cells_for(names, [spot.room for spot in spots]) > cells:
            most = [shared.profit_in_fractions(names, spot.room, spot.extras) for spot in spots]
        else:
            every = _worthwhile(chain(*items[kind]), room, shift) if shared is None else shared.items(names, room)
            common = list(every)
            most = most_profits(list(spots), common, share=share * len(spots_by_table), cells=cells)
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
    grid = Grid.of(room, _extreme(min, [spot.room for spot in spots]), all_items, limit)
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


def _filled_spots(grid: Grid, spots: Sequence[Spot], kept: Sequence[Item], share: int) -> list[int]:
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


def _extreme(which: Callable[[Iterable[int]], int], rooms: Iterable[Sizes]) -> Sizes:
    """Return the largest, or the smallest, amount of each resource."""
    gpus, milli, mebibytes = map(which, zip(*rooms, strict=True))
    return gpus, milli, mebibytes


def _by_job(items: Iterable[Item]) -> dict[int, list[Item]]:
    groups: dict[int, list[Item]] = {}
    for item in items:
        groups.setdefault(item.job, []).append(item)
    return groups
