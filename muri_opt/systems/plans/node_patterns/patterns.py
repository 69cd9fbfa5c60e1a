"""Patterns of a node worth having at given prices.

The pricing problem: the column of largest reduced profit for each class of nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.plans.node_patterns.dominated_items import sifted
from muri_opt.systems.plans.node_patterns.items import Items, NodeFamily
from muri_opt.systems.plans.node_patterns.node_dp import BothEnds, Profits, history, retraced
from muri_opt.systems.plans.node_patterns.prices import Prices, by_kind, most_of, profitable
from muri_opt.systems.plans.node_patterns.size_grid import Grid

_NOTHING = 1e-9
"""Stands for the share of a node that a part takes none of."""
_MOST_CELLS = 40_000_000
"""Cells of all tables of a sweep, in single precision: some 150 MB. With many kinds of jobs grids become coarser."""

_DENSEST = 2_000
"""Items among which one good pattern is looked for. For 200 jobs of 48 plans, 800 cost 1 % of the value, 1,500 a tenth
of that."""

Pattern = tuple[int, ...]
"""Items on one node, in ascending order."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Found:
    """Patterns for any node of a family, patterns with the home they are for, and what its nodes earn at most.

    ``earned`` is ``None`` where the grid was too coarse to say that. It is as precise as single precision.
    """

    free: list[Pattern]
    at_home: list[tuple[int, Pattern]]
    earned: float | None


def patterns(items: Items, family: NodeFamily, prices: Prices, *, cells: int) -> Found:
    """Return good patterns at the prices: the best with each kind of job and with each item in several parts.

    For each home there are the best of all and the best with each job that stays. A grid of few ``cells`` finds
    patterns that fit but may miss some.
    """
    profit = prices.profits(items).astype(np.float32)
    kinds = max(1, 2 * len(np.unique(items.owner[family.free])))
    grid = family.grid(items, cells=min(cells, _MOST_CELLS // kinds), up=True)
    fitting = profitable(_fitting(family.free, grid), profit)
    fitting = fitting[items.count[items.owner[fitting]] > 0]
    groups: list[Ints] = []
    places: dict[int, int] = {}
    whole = grid.exact
    for group in by_kind(items, sifted(items, fitting, profit, grid)):
        kind = int(items.owner[group[0]])
        places[kind] = len(groups)
        groups.append(group)
        # Two parts of a kind that runs in several might be of the same job: of those a node gets one.
        alone = group[items.q[group] == 1]
        copies = int(items.count[kind])
        groups += [alone] * (most_of(alone, copies, grid) - 1)
        whole = whole and (len(alone) == len(group) or most_of(group, copies, grid) == 1)
    sweep = BothEnds(groups, profit, grid.sizes, grid.extent)
    free = []
    for group in by_kind(items, fitting):
        place = places.get(int(items.owner[group[0]]))
        for wanted in _wanted(items, group):
            found = sweep.beside(wanted) if place is None else sweep.instead(place, wanted)
            free.append(tuple(sorted(found)))
    best = float(sweep.ahead[-1][grid.extent])
    earned = best * len(family.nodes)
    at_home = []
    for number, home in enumerate(family.at_home):
        stays = [profitable(_fitting(group, grid), profit) for group in home.homes]
        tables = [*sweep.ahead[:-1], *history(stays, profit, grid.sizes, sweep.ahead[-1])]
        earned += (float(tables[-1][grid.extent]) - best) * len(home.nodes)
        taken = [retraced(tables, [*groups, *stays], grid.extent, profit, grid.sizes)]
        taken += [sweep.beside(group) for group in stays if len(group)]
        at_home += [(number, _once_each(items, pattern)) for pattern in taken]
    return Found(free=free, at_home=at_home, earned=earned if whole else None)


def _wanted(items: Items, group: Ints) -> list[Ints]:
    """Return of which items of a kind there are to be patterns: those on one node together, others one by one.

    The parts of an item are on several nodes, all of which must have a pattern with it.
    """
    alone = items.q[group] == 1
    parts = [group[place : place + 1] for place in np.flatnonzero(~alone).tolist()]
    return [group[alone], *parts] if alone.any() else parts


def best_pattern(items: Items, family: NodeFamily, prices: Prices, *, cells: int) -> Pattern:
    """Return the best pattern of jobs that run on one node, on a grid of so many cells; homes are left aside."""
    profit = prices.profits(items).astype(np.float32)
    grid = family.grid(items, cells=cells, up=True)
    some = family.free[items.q[family.free] == 1]
    tables, groups = tables_of(items, some, profit, grid)
    return tuple(sorted(retraced(tables, groups, grid.extent, profit, grid.sizes)))


def tables_of(items: Items, some: Ints, profit: Profits, grid: Grid) -> tuple[list[Profits], list[Ints]]:
    """Return the tables of a sweep over the items of some jobs that run on one node, and the groups they are of.

    Of very many items only those with the most profit for their share of the node are considered.
    """
    some = profitable(_fitting(some, grid), profit)
    some = some[items.count[items.owner[some]] > 0]
    if len(some) > _DENSEST:
        share = (grid.sizes[some] / np.maximum(grid.extent, 1)).sum(axis=1)
        some = np.sort(some[np.argsort(-profit[some] / np.maximum(share, _NOTHING), kind="stable")[:_DENSEST]])
    groups = [
        group
        for group in by_kind(items, sifted(items, some, profit, grid))
        for _ in range(most_of(group, int(items.count[items.owner[group[0]]]), grid))
    ]
    return history(groups, profit, grid.sizes, np.zeros(grid.shape, dtype=profit.dtype)), groups


def _fitting(some: Ints, grid: Grid) -> Ints:
    """Return the items that still fit a node after rounding."""
    return some[(grid.sizes[some] <= np.array(grid.extent)).all(axis=1)]


def _once_each(items: Items, taken: Sequence[int]) -> Pattern:
    """Return a pattern without what a job that stays at home would have beside that; homes come first in ``taken``."""
    kept: list[int] = []
    for item in taken:
        kind = items.owner[item]
        if items.count[kind] > 1 or kind not in items.owner[kept]:
            kept.append(item)
    return tuple(sorted(kept))
