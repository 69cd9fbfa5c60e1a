"""The assignment on some pairs of a graph, begun where the one on fewer pairs ended.

Prices cover a pair if those of its two vertices are at least twice its weight. After an assignment on some pairs its
prices cover them all and are equal to it on the pairs that it took. When others come in that are not covered, only the
vertices that have to pay more for them lose their partners: all others keep theirs, and shortest augmenting paths go
from the former alone (the sparse variant of Jonker and Volgenant 1987).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from muri_opt.algorithms.matching.result import Ints

MANY_ROWS: Final = 4
"""From one row in so many on all columns look for a lower dual at once."""
FEW_PAIRS: Final = 6_000
"""With fewer pairs than this all columns always do."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Some pairs of n vertices, row by row, each both ways, with twice their weights; every vertex with itself, too."""

    ends: Ints
    rows: Ints
    columns: Ints
    doubled: Ints

    @classmethod
    def numbered(cls, doubled: Ints, numbers: Ints, alone: Ints) -> Pairs:
        """Return the pairs of these sorted numbers ``u * n + v``; ``alone`` is for a vertex with itself."""
        n = len(doubled)
        rows, columns = np.divmod(numbers, n)
        ends = np.searchsorted(rows, np.arange(n + 1))
        weights = doubled.ravel()[numbers].astype(np.int64)
        weights[np.searchsorted(numbers, np.arange(n) * (n + 1))] = alone
        return cls(ends, rows, columns, weights)

    def slack(self, prices: Ints) -> Ints:
        """Return how much more than twice the weight of every pair its vertices pay."""
        return np.asarray(prices[self.rows] + prices[self.columns] - self.doubled)


def assigned(doubled: Ints, numbers: Ints, prices: Ints, before: Ints, alone: Ints) -> tuple[Ints, Ints]:
    """Return an optimal assignment on the pairs of these sorted numbers, and its duals a + b, in halves of a weight.

    ``before`` are the partners of an assignment on some of these pairs: the more of them ``prices`` do not overpay, the
    less there is to do. ``alone`` is twice what a vertex is worth by itself, an even number.
    """
    pairs = Pairs.numbered(doubled, numbers, alone)
    prices = raised(pairs, prices)
    partner = _augmented(pairs, prices, before)
    everybody = np.arange(len(doubled))
    own = np.where(partner == everybody, alone, doubled[everybody, partner]) >> 1
    return partner, potentials(own, partner, -(prices >> 1), pairs)


def raised(pairs: Pairs, prices: Ints) -> Ints:
    """Return prices that cover all pairs: of two that do not, the vertex with more such pairs pays more."""
    slack = pairs.slack(prices)
    short = np.flatnonzero(slack < 0)
    if not len(short):
        return prices
    rows, columns = pairs.rows[short], pairs.columns[short]
    often = np.bincount(rows, minlength=len(prices))
    one = (often[rows] > often[columns]) | ((often[rows] == often[columns]) & (rows <= columns))
    higher = np.zeros_like(prices)
    np.maximum.at(higher, rows[one], -slack[short[one]])
    return np.asarray(prices + higher)


def _augmented(pairs: Pairs, prices: Ints, before: Ints) -> Ints:
    """Return an optimal assignment by prices that cover all pairs, from the partners for whom they are no more.

    In a matrix with more columns than rows scipy takes the rows in turn, and each goes to the first of its nearest
    columns that is not taken. So rows that keep their partners come first and have them as their first column. Where
    none does, the matrix is square: scipy then lowers prices before it looks for paths, in half of the time.
    """
    n = len(before)
    slack = pairs.slack(prices)
    own = np.searchsorted(pairs.rows * n + pairs.columns, np.arange(n) * n + before)
    kept = slack[own] == 0
    if not kept.any():
        return _of_least_cost(slack, pairs.columns, pairs.ends, n)
    columns, order, first = pairs.columns.copy(), np.argsort(~kept, kind="stable"), pairs.ends[:-1]
    for values in (slack, columns):
        values[own], values[first] = values[first], values[own]
    places = _of_rows(pairs.ends, order)
    ends = np.append(0, np.cumsum(np.diff(pairs.ends)[order]))
    partner = np.empty(n, dtype=np.int64)
    partner[order] = _of_least_cost(slack[places], columns[places], ends, n + 1)
    return partner


def _of_least_cost(costs: Ints, columns: Ints, ends: Ints, width: int) -> Ints:
    """Return the column of every row in an assignment of least cost; costs are given row by row."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    no_zeros = (costs + 1).astype(np.float64)  # an entry of 0 would be no edge
    matrix = csr_matrix((no_zeros, columns, ends), shape=(len(ends) - 1, width))
    return np.asarray(min_weight_full_bipartite_matching(matrix)[1], dtype=np.int64)


def potentials(own: Ints, partner: Ints, start: Ints, pairs: Pairs) -> Ints:
    """Return a + b of an optimal assignment with the weights ``own``.

    ``v`` are the negated duals of columns: any start is lowered along rows that changed until none does. While many do,
    all columns look at their rows, which costs less than to find those that need not.
    """
    n, v, changed = len(own), start, np.arange(len(own))
    weights = pairs.doubled >> 1
    for _ in range(2 * n + 2):
        key = own + v[partner]
        if MANY_ROWS * len(changed) > n or len(weights) < FEW_PAIRS:
            reach = key[pairs.columns]
            reach -= weights
            lower = np.minimum(v, np.minimum.reduceat(reach, pairs.ends[:-1]))
        else:
            some = _of_rows(pairs.ends, changed)
            lower = v.copy()
            np.minimum.at(lower, pairs.columns[some], key[pairs.rows[some]] - weights[some])
        changed = np.flatnonzero((lower < v)[partner])
        v = lower
        if not len(changed):
            return np.asarray(own + v[partner] - v)
    raise ArithmeticError("the assignment is not optimal: its potentials do not settle")


def _of_rows(ends: Ints, rows: Ints) -> Ints:
    """Return the places of all pairs of these rows, row by row."""
    sizes = ends[rows + 1] - ends[rows]
    return np.asarray(np.repeat(ends[rows + 1] - np.cumsum(sizes), sizes) + np.arange(sizes.sum()))
