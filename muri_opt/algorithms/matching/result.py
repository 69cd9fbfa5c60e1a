"""A matching and its dual solution: everything needed to check that no matching is heavier.

Weak duality: the duals cover every edge, so no matching is heavier than half their total; the matching found is as
heavy as that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Blossom:
    """An odd set of vertices and its dual variable, in halves of a weight unit.

    >>> max_weight_matching([[0, 6, 6], [6, 0, 6], [6, 6, 0]]).blossoms
    (Blossom(vertices=(0, 1, 2), dual=12),)
    """

    vertices: tuple[int, ...]
    dual: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Matching:
    """Partner of each vertex (-1: none), total weight, and the duals that prove it largest.

    Duals are whole numbers of halves of a weight unit: for every pair ``vertex_duals[u] + vertex_duals[v]`` plus the
    duals of all blossoms that hold both is at least twice the weight; and the sum of the vertex duals plus
    ``dual * (size - 1) / 2`` of every blossom is twice ``value``. By weak duality no matching is heavier.

    >>> found = max_weight_matching([[0, 7], [7, 0]])
    >>> found.value, int(found.vertex_duals.sum())
    (7, 14)
    """

    mate: Ints
    value: int
    vertex_duals: Ints
    blossoms: tuple[Blossom, ...]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The matched pairs, each with its smaller vertex first, in order."""
        return [(u, v) for u, v in enumerate(self.mate.tolist()) if u < v]
