"""How far an order is from the lists: the pairs of jobs that a list puts the other way round."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from muri_opt.algorithms.ranking.rankings import Rankings, checked_order
from muri_opt.modelling import Ints


def disagreement(rankings: Rankings, order: ArrayLike) -> int:
    """Return the number of pairs (a before b in a list that names both, after it in the order), by weight of the list.

    Inversions are counted list by list, so that thousands of jobs need no table of pairs.

    >>> disagreement(Rankings.of([[0, 1, 2], [1, 0, 2]]), [0, 1, 2])
    1
    """
    place = np.empty(rankings.jobs, dtype=np.int64)
    place[checked_order(rankings, order)] = np.arange(rankings.jobs)
    weights = rankings.weights.tolist()
    return sum(weight * _inversions(place[jobs]) for jobs, weight in zip(rankings.lists, weights, strict=True))


def order_cost(before: Ints, order: Ints) -> int:
    """Return the same from the table of pairs."""
    return int(np.tril(before[np.ix_(order, order)], -1).sum())


def _inversions(places: Ints) -> int:
    """Return how many pairs of distinct numbers descend, bit by bit from the highest.

    Two numbers are told apart by the first bit in which they differ: among numbers with equal higher bits, in their
    order, every 0 descends from each 1 before it.
    """
    values, total = places, 0
    for bit in range(int(places.max(initial=0)).bit_length()):
        high, low = values >> (bit + 1), (values >> bit) & 1
        grouped = np.argsort(high, kind="stable")
        ones = np.cumsum(low[grouped])
        heads = np.flatnonzero(np.diff(high[grouped], prepend=-1))
        before = np.repeat(ones[heads] - low[grouped][heads], np.diff(np.append(heads, len(values))))
        total += int(((ones - before) * (1 - low[grouped])).sum())
    return total
