"""Fewer items to go through: those for which there is always something no worse are left out.

Dominance for the pricing problem: it must hold for a multiset of jobs, so that an item goes only if the node cannot
hold all that are better at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.plans.node_patterns.items import Items
from muri_opt.systems.plans.node_patterns.node_dp import Profits
from muri_opt.systems.plans.node_patterns.size_grid import Grid

_LEAST_BLOCK, _MOST_BLOCK = 32, 512
"""Items that are compared at a time with those kept before, though not with each other."""


def sifted(items: Items, some: Ints, profit: Profits, grid: Grid) -> Ints:
    """Return items with a profit, in order, from which the best pattern with any of these items can be made.

    What *surpasses* an item is no larger and at least as profitable. An item goes if one of its own kind surpasses it,
    or if more other jobs do than can be on the node beside it: one of them is then free to take its place.
    """
    some = some[profit[some] > 0]
    sizes = grid.sizes[some].astype(np.int32)
    order = np.lexsort((*sizes.T[::-1], -profit[some]))
    ranked, sizes = some[order], sizes[order]
    smallest = int(sizes[:, 0].min(initial=grid.extent[0]))
    # GPUs do not limit how many parts there are beside an item if some take none.
    beside = (grid.extent[0] - sizes[:, 0]) // smallest if smallest else np.full(len(sizes), int(items.count.sum()))
    owner = items.owner[ranked]
    # Of a kind in several parts a node gets one part only: its other jobs are not free to take a place.
    takes_places = (items.q[ranked] == 1) | (items.count[owner] == 1)
    kept = np.zeros(0, dtype=np.int64)
    start = 0
    while start < len(ranked):
        block = np.arange(start, min(len(ranked), start + min(_MOST_BLOCK, _LEAST_BLOCK + len(kept))))
        better = kept[takes_places[kept]]
        better = better[np.argsort(owner[better], kind="stable")]
        kinds, smaller = _smaller_kinds(owner[better], sizes[better], sizes[block])
        own = (smaller & (kinds[:, None] == owner[block])).any(axis=0)
        many = items.count[kinds] @ smaller > beside[block]
        kept = np.concatenate([kept, block[~(own | many)]])
        start += len(block)
    return np.sort(ranked[kept])


def _smaller_kinds(owner: Ints, sizes: NDArray[np.int32], others: NDArray[np.int32]) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the kinds of items in order of their kinds, and which have one that is no larger than each of the others.

    Eight answers are kept in a byte while those of a kind are put together, which is the faster for it.
    """
    smaller = np.ones((len(sizes), len(others)), dtype=np.bool_)
    for size, other in zip(sizes.T, others.T, strict=True):
        smaller &= size[:, None] <= other
    if not len(owner):
        return owner, smaller
    starts = np.flatnonzero(np.append(True, owner[1:] != owner[:-1]))
    packed = np.bitwise_or.reduceat(np.packbits(smaller, axis=1), starts, axis=0)
    return owner[starts], np.unpackbits(packed, axis=1, count=len(others)).astype(np.bool_)
