"""Parts that jobs may have on a node, and which of them are enough for a best choice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.verify.amounts import NO_LIMIT, Sizes

Ints = NDArray[np.int64]
BLOCK = 128
"""Items that are compared with others at once."""


class Item(NamedTuple):
    """A part that a job may have on a node: what it takes, and its profit, above 0."""

    job: int
    sizes: Sizes
    profit: int


def rows_of(items: Iterable[Item]) -> Ints:
    """Return the job of each item, what it takes of each resource, and its profit, machine words, in a row for each."""
    return np.array([(job, *sizes, profit) for job, sizes, profit in items], dtype=np.int64).reshape(-1, 5)


def fitting(rows: Ints, room: Sizes) -> Ints:
    """Return the rows of items that have a profit and fit a room."""
    return rows[(rows[:, 4] > 0) & (rows[:, 1:4] <= room).all(axis=1)]


def undominated(room: Sizes, items: Sequence[Item], smallest: Sizes) -> list[Item]:
    """Return items among which is a best choice: for what is left out, something no larger and no worse is free.

    An item of the same job that takes no more and brings no less is always free. So is one of some other job if there
    are more such jobs than parts fit beside the item; every part takes at least ``smallest`` of each resource.
    """
    return [items[place] for place in undominated_places(room, rows_of(items), smallest).tolist()]


def undominated_places(room: Sizes, rows: Ints, smallest: Sizes) -> Ints:
    """Return the places of the items in rows that :func:`undominated` returns."""
    if not len(rows):
        return np.zeros(0, dtype=np.int64)
    told = rows.T
    order = np.lexsort((told[0], *told[3:0:-1], -told[4]))
    jobs, sizes = told[0, order], told[1:4, order]
    beside = _beside(room, sizes, smallest)
    rare = np.flatnonzero(_few_of_a_size(jobs, sizes, beside))
    most_of_a_job = np.unique(jobs, return_counts=True)[1].max()
    kept = np.zeros(0, dtype=np.int64)
    for start in range(0, len(rare), BLOCK):
        block = rare[start : start + BLOCK]
        known = np.concatenate((kept, block))
        below = np.tri(len(block), len(known), len(kept) - 1, dtype=np.bool_)  # what stands before the item
        for takes in sizes:
            below &= takes[known] <= takes[block, None]
        better = np.count_nonzero(below, axis=1)  # items, of which a job may have several
        maybe = np.flatnonzero(-(-better // most_of_a_job) <= beside[block])
        block, below, better = block[maybe], below[maybe], better[maybe]
        owners = jobs[known]
        for place in np.flatnonzero(better > beside[block]).tolist():
            better[place] = len(set(owners[below[place]].tolist()))
        own = (below & (owners == jobs[block, None])).any(axis=1)
        kept = np.concatenate((kept, block[~own & (better <= beside[block])]))
    return order[kept]


def _few_of_a_size(jobs: Ints, sizes: Ints, beside: Ints) -> NDArray[np.bool_]:
    """Return which items few jobs before them have of the same size, and their own job none: quicker by far."""
    line = np.lexsort((jobs, *sizes[::-1]))
    starts = np.ones(len(jobs), dtype=np.bool_)  # of a size
    starts[1:] = (np.diff(sizes[:, line]) != 0).any(axis=0)
    group = np.empty_like(jobs)
    group[line] = np.cumsum(starts)
    first = starts.copy()  # of a job that has several items of one size
    first[1:] |= np.diff(jobs[line]) != 0
    single = np.sort(line[first])
    of_size = np.argsort(group[single], kind="stable")
    owner = group[single][of_size]
    rank = np.empty_like(of_size)
    rank[of_size] = np.arange(len(owner)) - np.searchsorted(owner, owner)
    few = np.zeros(len(jobs), dtype=np.bool_)
    few[single[rank <= beside[single]]] = True
    return few


def _beside(room: Sizes, sizes: Ints, smallest: Sizes) -> Ints:
    """Return how many parts, at most, fit on the node beside each; no limit where parts may take nothing."""
    most = np.full(sizes.shape[1], NO_LIMIT)
    for has, takes, least in zip(room, sizes, smallest, strict=True):
        if least:
            np.minimum(most, (has - takes) // least, out=most)
    return most
