"""The edges of a vertex that become tight soon: all that a search of the blossom algorithm has to look at.

How far an edge is from being tight is asked of a whole row of the matrix at once; the few that are near are handed on
one by one. Duals are therefore kept twice, in a list to be read one at a time and in an array.
"""

from __future__ import annotations

import numpy as np

from muri_opt.algorithms.matching.result import Ints

Edge = tuple[int, int, int]
"""Its slack and its two ends."""


class NearEdges:
    """Twice the weights of a graph, and the duals of its vertices in halves of a weight unit.

    The slack of an edge is the duals of its ends less twice its weight.
    """

    def __init__(self, doubled: Ints, duals: Ints) -> None:
        self._doubled = doubled
        self.duals: list[int] = duals.tolist()
        self._array = duals.astype(doubled.dtype)

    def add(self, v: int, amount: int) -> None:
        """Change the dual of a vertex."""
        self.duals[v] += amount
        self._array[v] = self.duals[v]

    def slack(self, u: int, v: int) -> int:
        """Return the slack of one edge."""
        return self.duals[u] + self.duals[v] - int(self._doubled[u, v])

    def slack_of_nearest(self, many: int, vertices: list[int]) -> int:
        """Return the slack up to which one of these vertices has so many edges."""
        slack = self._array[vertices][:, None] - self._doubled[vertices] + self._array
        place = min(many, slack.shape[1]) - 1
        return int(np.partition(slack, place, axis=1)[:, place].max())

    def of(self, u: int, most: int) -> list[Edge]:
        """Return the edges of a vertex that have a slack of at most ``most``, u first."""
        base = self.duals[u]
        beyond = self._array - self._doubled[u]
        others = (beyond <= most - base).nonzero()[0].tolist()
        return [(base + beyond.item(v), u, v) for v in others]

    def of_all(self, vertices: list[int], most: int) -> list[Edge]:
        """Return the same of several vertices: to every other end only the edge of least slack."""
        beyond = self._array[vertices][:, None] - self._doubled[vertices]
        nearest = beyond.argmin(axis=0)
        slack = beyond[nearest, np.arange(len(nearest))] + self._array
        others = (slack <= most).nonzero()[0]
        first = np.array(vertices)[nearest[others]]
        return list(zip(slack[others].tolist(), first.tolist(), others.tolist(), strict=True))
