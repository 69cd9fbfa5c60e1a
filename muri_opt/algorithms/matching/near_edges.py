"""The edges of a vertex that become tight soon: all that a search of the blossom algorithm has to look at.

They are few, so that they are listed once for many searches: duals change little meanwhile, and it is known by how much
one has fallen at most. Where they are many, or duals have changed too much, a whole row of the matrix is asked at once.
Duals are therefore kept twice, in a list to be read one at a time and in an array.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from muri_opt.algorithms.matching.result import Ints

AHEAD: Final = 12
"""Edges are listed up to so many times the slack of the search that comes first."""
Edge = tuple[int, int, int]
"""Its slack and its two ends."""
LONG: Final = 32
"""Longer lists on average are not worth it."""
_BLOCK: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Listed:
    """Edges of some vertices: of each by rising slack at the time of the list, with the other end and twice the weight.

    In one list for all and not in one for each, which would be many objects.
    """

    starts: list[int]
    ends: list[int]
    slacks: list[int]
    others: list[int]
    doubled: list[int]


class NearEdges:
    """Twice the weights of a graph, and the duals of its vertices in halves of a weight unit.

    The slack of an edge is the duals of its ends less twice its weight.
    """

    def __init__(self, doubled: Ints, duals: Ints) -> None:
        self._doubled = doubled
        self.duals: list[int] = duals.tolist()
        self._array = duals.astype(doubled.dtype)
        self._changed: list[int] = []
        self._rows = max(1, _BLOCK // max(1, len(doubled)))
        self.list_again(0)

    def add(self, v: int, amount: int) -> None:
        """Change the dual of a vertex while a search goes on."""
        self.duals[v] += amount
        self._changed.append(v)

    def settle(self, v: int, amount: int) -> None:
        """Change the dual of a vertex to what it is between searches."""
        self.add(v, amount)
        fallen = self._listed_at[v] - self.duals[v]
        if fallen > self._fallen:
            self._fallen = fallen

    def prepare(self, limit: int) -> None:
        """List the edges again before searches up to a time if that will soon be needed."""
        if self._most - self._fallen < 2 * limit:
            self.list_again(AHEAD * limit)

    def list_again(self, most: int) -> None:
        """List edges of a slack of at most ``most`` from now on, by blocks of vertices as they are asked for."""
        self._most, self._fallen = most, 0
        self._listed_at = self.duals.copy()
        self._prices = self._now().copy()
        self._blocks: dict[int, list[Listed] | None] = {}

    def _block_of(self, u: int) -> Listed | None:
        """Return the list with the edges of u, or nothing where there would be too many."""
        number = u // self._rows
        if number not in self._blocks:
            self._blocks[number] = self._block(number * self._rows)
        return self._blocks[number]

    def _block(self, start: int) -> Listed | None:
        """Return the list of the vertices from ``start`` on."""
        edges = self._doubled[start : start + self._rows]
        slack = self._prices - edges
        slack += self._prices[start : start + self._rows, None]
        places = np.flatnonzero(slack <= self._most)
        if len(places) > LONG * len(edges):
            return None
        near = slack.ravel()[places]
        rows = places // len(self.duals)
        order = np.lexsort((near, rows))
        places, near = places[order], near[order]
        starts = np.searchsorted(rows, np.arange(len(edges)))
        return Listed(
            starts=starts.tolist(),
            ends=[*starts[1:].tolist(), len(places)],
            slacks=near.tolist(),
            others=(places - rows * len(self.duals)).tolist(),
            doubled=edges.ravel()[places].tolist(),
        )

    def slack(self, u: int, v: int) -> int:
        """Return the slack of one edge."""
        return self.duals[u] + self.duals[v] - int(self._doubled[u, v])

    def of(self, u: int, most: int) -> list[Edge]:
        """Return the edges of a vertex that have a slack of at most ``most``: the slack, u and the other end."""
        base = self.duals[u]
        far = most + self._fallen + self._listed_at[u] - base
        if far <= self._most and (block := self._block_of(u)) is not None:
            return self._listed(u, block, far, most - base)
        beyond = self._now() - self._doubled[u]
        others = (beyond <= most - base).nonzero()[0]
        return [(base + more, u, v) for v, more in zip(others.tolist(), beyond[others].tolist(), strict=True)]

    def of_all(self, vertices: list[int], most: int) -> list[Edge]:
        """Return the same of several vertices; to every other end the edge of least slack is enough."""
        far = most + self._fallen + max(self._listed_at[u] - self.duals[u] for u in vertices)
        if far <= self._most and all(self._block_of(u) is not None for u in vertices):
            return [edge for u in vertices for edge in self.of(u, most)]
        array = self._now()
        beyond = array[vertices][:, None] - self._doubled[vertices]
        nearest = beyond.argmin(axis=0)
        slack = beyond[nearest, np.arange(len(nearest))] + array
        others = (slack <= most).nonzero()[0]
        first = np.array(vertices)[nearest[others]]
        return list(zip(slack[others].tolist(), first.tolist(), others.tolist(), strict=True))

    def _listed(self, u: int, block: Listed, far: int, most: int) -> list[Edge]:
        """Return what is asked of one vertex from a list in which no edge beyond ``far`` is near."""
        duals, slacks, others, doubled = self.duals, block.slacks, block.others, block.doubled
        base, found = duals[u], []
        for at in range(block.starts[u % self._rows], block.ends[u % self._rows]):
            if slacks[at] > far:
                break
            beyond = duals[others[at]] - doubled[at]
            if beyond <= most:
                found.append((base + beyond, u, others[at]))
        return found

    def _now(self) -> Ints:
        """Return the duals as an array."""
        if self._changed:
            self._array[self._changed] = [self.duals[v] for v in self._changed]
            self._changed.clear()
        return self._array
