"""Of every vertex the edges that may become tight soon: all that a search of the blossom algorithm has to look at.

An edge whose slack was more than ``width`` when the duals were last looked at is not tight before its two ends have
fallen by ``width`` together. As long as no vertex has fallen by half of that, what is not listed need not be seen.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from muri_opt.algorithms.matching.result import Ints

FAR: Final = 1 << 60
SPARE: Final = 4
"""Edges are listed for so many searches at most: duals fall in every one of them."""


class NearEdges:
    """The edges of every vertex with a slack of at most ``width`` by the duals of when ``look`` was called.

    ``doubled`` are twice the weights and ``duals`` those that searches change. Edges of weight 0 are left out: a vertex
    whose dual is 0 may as well be alone.
    """

    def __init__(self, doubled: Ints, duals: list[int]) -> None:
        self.doubled, self.duals = doubled, duals
        self.look(0, 1)

    def look(self, time: int, searches: int) -> None:
        """Forget all lists, and list from now on what so many searches until ``time`` need, or the first of them."""
        self._start = np.array(self.duals, dtype=self.doubled.dtype)
        self._before = self.duals.copy()
        self._lists: dict[int, list[tuple[int, int]]] = {}
        self._width = 2 * min(searches, SPARE) * time
        self._fallen = 0

    def last_until(self, time: int) -> bool:
        """Return whether a search until ``time`` finds all its edges in the lists."""
        return 2 * (self._fallen + time) <= self._width

    def of(self, u: int) -> list[tuple[int, int]]:
        """Return the listed edges of a vertex: the other end, and twice the weight."""
        found = self._lists.get(u)
        if found is None:
            row = self.doubled[u]
            others = (row - self._start >= self._before[u] - self._width).nonzero()[0]
            found = [edge for edge in zip(others.tolist(), row[others].tolist(), strict=True) if edge[1]]
            self._lists[u] = found
        return found

    def of_all(self, vertices: list[int], own: list[int], time: int) -> list[tuple[int, tuple[int, int]]]:
        """Return the nearest of outer vertices of one node to every vertex not its ``own``, and the edge between them.

        Left out are edges that are not tight until ``time``.
        """
        duals = np.array(self.duals, dtype=np.int64)
        rows = duals[vertices][:, None] - self.doubled[vertices]
        rows[:, own] = FAR
        nearest = rows.argmin(axis=0)
        least = rows[nearest, np.arange(len(duals))]
        others = (least + duals <= 2 * time).nonzero()[0]
        first = np.array(vertices)[nearest[others]]
        edges = zip(others.tolist(), self.doubled[first, others].tolist(), strict=True)
        return list(zip(first.tolist(), edges, strict=True))

    def note_fall(self, u: int) -> None:
        """Note that the dual of a vertex has changed."""
        self._fallen = max(self._fallen, self._before[u] - self.duals[u])
