"""Equal vertices collapsed into types: an exact, proved matching of any number of them.

The fractional matching over types is a transportation problem of the size of the types alone. Nearly all of its pairs
are fixed; a residue of a few vertices per type is matched by the general algorithm, with its proof. Every fixed pair
then *copies* two vertices of the residue that have its types, a tight edge, and the same blossoms around them: equal
duals, inside the same blossoms. A copied pair pays for itself in the dual total, because its edge is tight, and what
covers the edges of the originals covers those of the copies; only the edge between a copy and its original is new, and
is checked. If some fixed pair has no such originals, the residue is widened, and soon to all vertices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from muri_opt.algorithms.matching.engines import max_weight_matching
from muri_opt.algorithms.matching.result import Ints, Matching
from muri_opt.errors import InputError

WORTHWHILE: Final = 4
"""A residue of more than one vertex in so many is widened to all: several large ones would take longer."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TypeMatching:
    """A matching of equal vertices: a proved matching of a residue, and copies of its vertices.

    ``residue[v]`` is the type of vertex v of ``matching``. ``copied_pairs`` are (u, v, times): so many further pairs of
    a copy of u and a copy of v. ``copied_alone`` are (u, times): so many further unmatched copies of u.

    >>> match_types([[5, 3], [3, 1]], [4, 3]).value
    11
    """

    value: int
    residue: Ints
    matching: Matching
    copied_pairs: tuple[tuple[int, int, int], ...]
    copied_alone: tuple[tuple[int, int], ...]

    def pairs(self, types: int) -> Ints:
        """Return how many pairs there are of each two types; the matrix is symmetric."""
        count = np.zeros((types, types), dtype=np.int64)
        for u, v, times in (*((u, v, 1) for u, v in self.matching.pairs), *self.copied_pairs):
            s, t = self.residue[u], self.residue[v]
            count[s, t] += times
            count[t, s] = count[s, t]
        return count


def match_types(weights: Any, counts: Any) -> TypeMatching:
    """Return a matching of largest weight among ``counts[t]`` equal vertices of each type t, with its proof.

    ``weights[s, t]`` is the weight of a pair of types s and t, ``weights[t, t]`` of a pair inside a type; an entry of
    at most 0 is no edge.

    >>> match_types([[5, 3], [3, 1]], [4, 3]).value
    11
    """
    edges = np.maximum(np.asarray(weights, dtype=np.int64), 0)
    numbers = np.asarray(counts, dtype=np.int64)
    if edges.shape != (len(numbers), len(numbers)) or not np.array_equal(edges, edges.T):
        raise InputError("weights", f"an array of shape {edges.shape}", "a symmetric matrix with a row per type")
    if np.any(numbers < 0):
        raise InputError("counts", str(int(numbers.min())), "numbers of at least 0")
    fixed, alone = _fractional(edges, numbers)
    spare = 1
    while True:
        kept, unpaired = np.maximum(fixed - spare, 0), np.maximum(alone - spare, 0)
        if WORTHWHILE * _left(numbers, kept, unpaired).sum() > numbers.sum():
            kept, unpaired = np.zeros_like(fixed), np.zeros_like(alone)
        found = _copied(edges, numbers, kept, unpaired)
        if found is not None:
            return found
        spare *= 2


def _fractional(edges: Ints, numbers: Ints) -> tuple[Ints, Ints]:
    """Return whole pairs between types, and vertices alone, of an optimal fractional matching."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix, eye, kron, vstack

    size = len(numbers)
    if size == 0:
        return np.zeros((0, 0), dtype=np.int64), numbers
    rows = vstack([kron(eye(size), np.ones((1, size))), kron(np.ones((1, size)), eye(size))])
    sides = np.append(numbers, numbers)
    answer = linprog(-edges.ravel().astype(np.float64), A_ub=csr_matrix(rows), b_ub=sides, method="highs-ds")
    flow = np.rint(answer.x).astype(np.int64).reshape(size, size)
    flow[edges == 0] = 0
    pairs = (flow + flow.T) // 2
    np.fill_diagonal(pairs, np.diag(flow) // 2)
    return pairs, np.maximum(0, numbers - flow.sum(axis=1))


def _left(numbers: Ints, kept: Ints, unpaired: Ints) -> Ints:
    """Return how many vertices of each type are in the residue."""
    return np.asarray(numbers - kept.sum(axis=1) - np.diag(kept) - unpaired)


def _copied(edges: Ints, numbers: Ints, kept: Ints, unpaired: Ints) -> TypeMatching | None:
    """Return the matching with ``kept`` pairs and ``unpaired`` vertices copied from the residue, or ``None``."""
    kind = np.repeat(np.arange(len(numbers)), _left(numbers, kept, unpaired))
    inside = edges[np.ix_(kind, kind)]
    np.fill_diagonal(inside, 0)
    matching = max_weight_matching(inside)
    originals = _Originals(edges, kind, matching)
    pairs = [(originals.pair(s, t), int(kept[s, t])) for s, t in np.argwhere(np.triu(kept)).tolist()]
    single = [(originals.alone(t), int(unpaired[t])) for t in np.flatnonzero(unpaired).tolist()]
    copied_pairs = tuple((*pair, times) for pair, times in pairs if pair is not None)
    copied_alone = tuple((u, times) for u, times in single if u is not None)
    if len(copied_pairs) < len(pairs) or len(copied_alone) < len(single):
        return None
    value = matching.value + int((np.triu(kept) * edges).sum())
    return TypeMatching(
        value=value, residue=kind, matching=matching, copied_pairs=copied_pairs, copied_alone=copied_alone
    )


class _Originals:
    """Which vertices of a residue can be copied."""

    def __init__(self, edges: Ints, kind: Ints, matching: Matching) -> None:
        self.edges, self.kind, self.matching = edges, kind, matching
        member = np.zeros((len(matching.blossoms), len(kind)), dtype=np.bool_)
        for row, blossom in enumerate(matching.blossoms):
            member[row, list(blossom.vertices)] = True
        self.around = np.unique(member, axis=1, return_inverse=True)[1].ravel()
        self.blossomed = member.any(axis=0)
        self.blossom_duals = np.array([blossom.dual for blossom in matching.blossoms], dtype=np.int64) @ member
        own = 2 * matching.vertex_duals + self.blossom_duals
        self.covered = own >= 2 * edges[kind, kind]
        """Whether the edge between a vertex and a copy of it is covered."""

    def pair(self, s: int, t: int) -> tuple[int, int] | None:
        """Return two vertices of types s and t with a tight edge inside the same blossoms."""
        first, second = (np.flatnonzero((self.kind == u) & self.covered) for u in (s, t))
        duals = self.matching.vertex_duals
        reach = duals[first][:, None] + duals[second] + self.blossom_duals[first][:, None]
        good = (reach == 2 * self.edges[s, t]) & (self.around[first][:, None] == self.around[second])
        found = np.argwhere(good)
        return (int(first[found[0, 0]]), int(second[found[0, 1]])) if len(found) else None

    def alone(self, t: int) -> int | None:
        """Return a vertex of type t that pays nothing and is in no blossom."""
        free = (self.kind == t) & self.covered & ~self.blossomed & (self.matching.vertex_duals == 0)
        return int(np.argmax(free)) if free.any() else None
