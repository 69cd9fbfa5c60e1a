"""The assignment of a large graph by a few of its edges, proved over all of them.

Of all pairs only *candidates* can be in an optimal assignment: those that prices of the vertices nearly pay for. The
problem on these alone is small; its duals are then held against all pairs, those that they do not cover become
candidates too, and so on until none is left (column generation, as in Applegate and Cook's matching by sparse graphs,
1993). Which candidates there were does not matter to the proof, only to how soon it is found.

The first prices are those of half of the vertices, found in the same way. It is a half in which every vertex has one
like it among the others: where a few kinds of vertices have to share each other's partners, prices hang on how many
there are of each kind, and are those of the whole only if the kinds are in proportion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from muri_opt.algorithms.matching.result import Ints

CHUNKS: Final = 24
"""A vertex' candidates are its best partner in each of so many parts of the graph."""
MOST_PASSES: Final = 12
"""After so many passes over all pairs it is given up: where nearly everything ties a few candidates do not do."""
FEW_ROWS: Final = 20
"""Prices to start from may leave pairs of one vertex in so many uncovered."""
MANY_ROWS: Final = 4
"""From one row in so many on all columns look for a lower dual at once."""
PIVOTS: Final = 8
"""By their weights with so many others it is seen which vertices are alike."""
_BLOCK: Final = 1 << 16


def far_of(doubled: Ints) -> int:
    """Return a number that no price or weight of this graph comes near, and of which twice as much is still one."""
    return int(np.iinfo(doubled.dtype).max) // 2


def alike_in_turn(doubled: Ints, draw: np.random.Generator) -> Ints:
    """Return the vertices in an order in which neighbours have much the same weights."""
    n = len(doubled)
    pivots = doubled[:, draw.choice(n, PIVOTS, replace=False)]
    order = np.arange(n)
    for level in range(n.bit_length() - 2):  # parts of two or three vertices in the end
        part = (np.arange(n) << level) // n
        order = order[np.lexsort((pivots[order, level % PIVOTS], part))]
    return order


class AllPairs:
    """All pairs of a graph of twice the weights, looked through row by row with few prices in mind.

    Columns begin elsewhere in every block of rows, so that of equal partners not all vertices take the same.
    """

    def __init__(self, doubled: Ints, draw: np.random.Generator) -> None:
        self.doubled, self.n = doubled, len(doubled)
        self.rows = max(1, _BLOCK // self.n)
        self.width = -(-self.n // CHUNKS)
        self.far = far_of(doubled)
        self.slack = np.full((self.rows, CHUNKS * self.width), self.far, dtype=doubled.dtype)
        self.starts = draw.integers(0, self.n, -(-self.n // self.rows))

    def candidates(self, prices: Ints, *, uncovered: bool = False) -> Ints:
        """Return the numbers ``u * n + v`` of candidates: of all vertices, or only of pairs that are not covered."""
        of_kind = prices.astype(self.slack.dtype)
        found = [self._block(block, of_kind, uncovered) for block in range(len(self.starts))]
        return np.concatenate(found)

    def _block(self, block: int, prices: Ints, uncovered: bool) -> Ints:
        n, shift = self.n, int(self.starts[block])
        rows = np.arange(block * self.rows, min(n, (block + 1) * self.rows))
        slack, edges = self.slack[: len(rows)], self.doubled[rows[0] : rows[-1] + 1]
        np.subtract(prices[shift:], edges[:, shift:], out=slack[:, : n - shift])
        np.subtract(prices[:shift], edges[:, :shift], out=slack[:, n - shift : n])
        slack[np.arange(len(rows)), (rows - shift) % n] = self.far  # a vertex is no partner of its own
        if uncovered:
            bad = slack.min(axis=1) + prices[rows] < 0
            if not bad.any():
                return np.zeros(0, dtype=np.int64)
            rows, slack = rows[bad], slack[bad]
        parts = slack.reshape(len(rows), CHUNKS, self.width)
        at = parts.argmin(axis=2)
        least = np.take_along_axis(parts, at[:, :, None], axis=2)[:, :, 0]
        wanted = least + prices[rows][:, None] < (0 if uncovered else self.far >> 1)
        columns = (at + np.arange(0, CHUNKS * self.width, self.width) + shift) % n
        return np.asarray((rows[:, None] * n + columns)[wanted])


def covering(doubled: Ints, prices: Ints) -> Ints:
    """Return what every vertex has to pay at least for its pairs to be covered, given the prices of the others."""
    size = max(1, _BLOCK // len(prices))
    return np.concatenate(
        [(doubled[start : start + size] - prices).max(axis=1) for start in range(0, len(prices), size)]
    )


def cover_rest(doubled: Ints, known: Ints, rest: Ints, prices: Ints) -> None:
    """Give the vertices of the ``rest``, in place, the least prices that cover their pairs with the ``known`` ones."""
    among = np.full(len(prices), far_of(doubled), dtype=doubled.dtype)
    among[known] = prices[known]
    size = max(1, _BLOCK // len(prices))
    for start in range(0, len(rest), size):
        some = rest[start : start + size]
        prices[some] = np.maximum(0, (doubled[some] - among).max(axis=1))


def assigned_by_candidates(
    doubled: Ints, prices: Ints, draw: np.random.Generator, few: int = 0
) -> tuple[Ints, Ints, bool]:
    """Return an assignment by candidates, its duals a + b in halves of a weight unit, and if it was soon found.

    ``prices`` are the start. It is found when all vertices but ``few`` have all their pairs covered: with 0 it is
    optimal over all pairs.
    """
    n = len(doubled)
    pairs = AllPairs(doubled, draw)
    among = np.eye(n, dtype=np.bool_)  # a vertex may stay alone
    new = pairs.candidates(prices)
    for _ in range(MOST_PASSES):
        rows, columns = np.divmod(new, n)
        among[rows, columns] = among[columns, rows] = True
        partner, prices = _assigned(doubled, np.flatnonzero(among), prices)
        new = pairs.candidates(prices, uncovered=True)
        if np.count_nonzero(np.bincount(new // n)) <= few:
            return partner, prices, True
    return partner, prices, False


def _assigned(doubled: Ints, numbers: Ints, prices: Ints) -> tuple[Ints, Ints]:
    """Return an optimal assignment on the edges of these sorted numbers, and its duals."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    n = len(doubled)
    rows, columns = np.divmod(numbers, n)
    weights = doubled.ravel()[numbers].astype(np.int64)
    slack = prices[rows] + prices[columns] - weights
    ends = np.searchsorted(rows, np.arange(n + 1))
    above = (slack + (1 - slack.min())).astype(np.float64)  # an entry of 0 would be no edge
    partner = min_weight_full_bipartite_matching(csr_matrix((above, columns, ends), shape=(n, n)))[1].astype(np.int64)
    own, weights = doubled[np.arange(n), partner].astype(np.int64) // 2, weights // 2
    return partner, _duals(own, partner, -(prices // 2), _Edges(ends, columns, weights))


@dataclass(frozen=True, slots=True)
class _Edges:
    """The edges of every row, row by row; with each there is the same edge the other way."""

    ends: Ints
    columns: Ints
    weights: Ints


def _duals(own: Ints, partner: Ints, start: Ints, edges: _Edges) -> Ints:
    """Return a + b of an optimal assignment with the weights ``own``.

    ``v`` are the negated duals of columns: any start is lowered along rows that changed until none does. While many do,
    all columns look at their rows, which costs less than to find those that need not.
    """
    n, v, changed = len(own), start, np.arange(len(own))
    for _ in range(2 * n + 2):
        key = own + v[partner]
        if MANY_ROWS * len(changed) > n:
            reach = key[edges.columns]
            reach -= edges.weights
            lower = np.minimum(v, np.minimum.reduceat(reach, edges.ends[:-1]))
        else:
            some = _of_rows(edges.ends, changed)
            sizes = edges.ends[changed + 1] - edges.ends[changed]
            lower = v.copy()
            np.minimum.at(lower, edges.columns[some], np.repeat(key[changed], sizes) - edges.weights[some])
        changed = np.flatnonzero((lower < v)[partner])
        v = lower
        if not len(changed):
            return np.asarray(own + v[partner] - v)
    raise ArithmeticError("the assignment is not optimal: its potentials do not settle")


def _of_rows(ends: Ints, rows: Ints) -> Ints:
    """Return the places of all edges of these rows."""
    sizes = ends[rows + 1] - ends[rows]
    return np.asarray(np.repeat(ends[rows + 1] - np.cumsum(sizes), sizes) + np.arange(sizes.sum()))
