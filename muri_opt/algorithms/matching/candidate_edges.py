"""The assignment of a large graph by a few of its edges, proved over all of them.

Of all pairs only *candidates* can be in an optimal assignment: those that prices of the vertices nearly pay for. The
problem on these alone is small; its duals are then held against all pairs, those that they do not cover become
candidates too, and so on until none is left (column generation, as in Applegate and Cook's matching by sparse graphs,
1993). Which candidates there were does not matter to the proof, only to how soon it is found.

Two ways to choose them: ``NearPairs`` where prices that cover everything are nearly right already, ``AllPairs``
otherwise.
"""

from __future__ import annotations

from typing import Final, Protocol

import numpy as np

from muri_opt.algorithms.matching.result import Ints
from muri_opt.algorithms.matching.sparse_assignment import assigned

CHUNKS: Final = 24
"""A vertex' candidates are its best partner in each of so many parts of the graph."""
MOST_PASSES: Final = 16
"""After so many passes over all pairs it is given up: where nearly everything ties a few candidates do not do."""
NEAREST: Final = 16
"""So many candidates of a vertex are near on average."""
SAMPLE: Final = 24
"""So many vertices are asked how near that is."""
_BLOCK: Final = 1 << 16


class Candidates(Protocol):
    """A way to choose candidates, given as sorted numbers ``u * n + v``; either way round will do."""

    steps: int
    """A price falls by at most one part in so many of the largest in the first pass."""

    def first(self, prices: Ints) -> Ints:
        """Return the candidates to begin with."""

    def uncovered(self, prices: Ints) -> Ints:
        """Return pairs that these prices do not cover: some of every vertex that has any."""


class NearPairs:
    """The pairs that prices which cover all of them pay for but for a little.

    A pair that is further from that than ``most`` can be uncovered only when one of its two prices has fallen by more
    than half of ``most``: all the others need not be looked at again.
    """

    steps = 1

    def __init__(self, doubled: Ints, prices: Ints) -> None:
        self.doubled, self.start = doubled, prices.astype(doubled.dtype)
        n = len(doubled)
        some = slice(0, n, -(-n // SAMPLE))
        slack = self._slack(self.start, some).ravel()
        place = min(len(slack) - 1, NEAREST * len(slack) // n)
        self.most = int(np.partition(slack, place)[place])

    def first(self, prices: Ints) -> Ints:
        """Return all pairs that are near by the prices from the beginning."""
        n = len(self.doubled)
        size = max(1, _BLOCK // n)
        found = []
        for start in range(0, n, size):
            near = self._slack(self.start, slice(start, start + size)) <= self.most
            found.append(np.flatnonzero(near) + start * n)
        return np.concatenate(found)

    def uncovered(self, prices: Ints) -> Ints:
        """Return all pairs that are not covered."""
        fallen = np.flatnonzero(2 * (self.start - prices) > self.most)
        rows, columns = np.nonzero(self._slack(prices.astype(self.start.dtype), fallen) < 0)
        return np.asarray(fallen[rows] * len(prices) + columns)

    def _slack(self, prices: Ints, rows: slice | Ints) -> Ints:
        """Return the slack of all pairs of some vertices; with itself a vertex has none to speak of."""
        slack = prices[rows, None] - self.doubled[rows]
        slack += prices
        slack[np.arange(len(slack)), np.arange(len(prices))[rows]] = far_of(self.doubled)
        return np.asarray(slack)


class AllPairs:
    """All pairs of a graph of twice the weights, looked through row by row with few prices in mind.

    Columns begin elsewhere in every block of rows, so that of equal partners not all vertices take the same.
    """

    steps = 32

    def __init__(self, doubled: Ints, draw: np.random.Generator) -> None:
        self.doubled, self.n = doubled, len(doubled)
        self.rows = max(1, _BLOCK // self.n)
        self.width = -(-self.n // CHUNKS)
        self.far = far_of(doubled)
        self.slack = np.full((self.rows, CHUNKS * self.width), self.far, dtype=doubled.dtype)
        self.starts = draw.integers(0, self.n, -(-self.n // self.rows))

    def first(self, prices: Ints) -> Ints:
        """Return the best partners of every vertex, one in each part of the graph."""
        return self._candidates(prices, uncovered=False)

    def uncovered(self, prices: Ints) -> Ints:
        """Return the worst uncovered pair of every vertex in each part of the graph."""
        return self._candidates(prices, uncovered=True)

    def _candidates(self, prices: Ints, *, uncovered: bool) -> Ints:
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


def far_of(doubled: Ints) -> int:
    """Return a number that no price or weight of this graph comes near, and of which twice as much is still one."""
    return int(np.iinfo(doubled.dtype).max) // 2


def assigned_by_candidates(
    doubled: Ints, prices: Ints, candidates: Candidates, few: int = 0
) -> tuple[Ints, Ints, bool]:
    """Return an assignment by candidates, its duals a + b in halves of a weight unit, and if it was soon found.

    ``prices`` are the start. It is found when all vertices but ``few`` have all their pairs covered: with 0 it is
    optimal over all pairs.

    No price may fall by more than a step in one pass: to stay alone is made worth that much less than the price. With a
    few candidates prices would else run away where one vertex too many wants the partners of others like it, and all
    pairs among these would be uncovered (the box step of Marsten, Hogan and Blankenship 1975).
    """
    n = len(doubled)
    everybody = np.arange(n)
    among = np.eye(n, dtype=np.bool_)
    new, partner, step = candidates.first(prices), everybody, int(prices.max()) // candidates.steps
    for _ in range(MOST_PASSES):
        rows, columns = np.divmod(new, n)
        among[rows, columns] = among[columns, rows] = True
        alone = 2 * np.maximum(0, prices - step)
        partner, prices = assigned(doubled, np.flatnonzero(among), prices, partner, alone)
        new = candidates.uncovered(prices)
        left = np.count_nonzero((partner == everybody) & (alone > 0))
        if np.count_nonzero(np.bincount(new // n)) + left <= few:
            return partner, prices, True
        if len(new) > CHUNKS * n:
            break
        if left:
            step = 2 * step + 1
    return partner, prices, False
