"""``max_weight_matching``: the exact matching of a dense graph, with its proof.

Edmonds' blossom algorithm from an optimal fractional matching: only vertices that its odd cycles leave over are
searched from, one alternating tree each.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

import numpy as np

from muri_opt.algorithms.matching.alternating_tree import Search
from muri_opt.algorithms.matching.blossoms import Nodes
from muri_opt.algorithms.matching.fractional_matching import fractional_matching
from muri_opt.algorithms.matching.near_edges import NearEdges
from muri_opt.algorithms.matching.reference import REFERENCES
from muri_opt.algorithms.matching.result import Blossom, Ints, Matching
from muri_opt.errors import InputError, unknown_name

ENGINES = ("blossom", *REFERENCES)
NEAR = 512
"""The first search from a vertex of a large graph goes one part in so many of the largest dual."""
SOME = 2
"""So many of the vertices to search from are asked how many edges they have that are nearly tight."""
CROWD = 32
"""So many edges of a vertex are looked at first where more are nearly tight."""
NARROW = 1 << 26
"""Below this, weights, prices and their sums fit 32 bits."""
_BLOCK = 128


def max_weight_matching(weights: Any, engine: str = "blossom") -> Matching:
    """Return a matching of largest total weight and the dual solution that proves it.

    ``weights`` is a symmetric int64 matrix; an entry of at most 0 is no edge, the diagonal is ignored. The reference
    engines ``networkx`` and ``rustworkx`` find the same value, far slower, and prove nothing: their duals are zero.

    >>> weights = [[0, 6, 5, 0], [6, 0, 4, 1], [5, 4, 0, 3], [0, 1, 3, 0]]
    >>> found = max_weight_matching(weights)
    >>> found.value, found.mate.tolist()
    (9, [1, 0, 3, 2])
    """
    doubled = doubled_weights(weights)
    if engine in REFERENCES:
        mate = REFERENCES[engine](doubled // 2)
        nothing = np.zeros(len(doubled), dtype=np.int64)
        return Matching(mate=mate, value=_value(doubled, mate), vertex_duals=nothing, blossoms=())
    if engine != "blossom":
        raise unknown_name("engine", engine, ENGINES)
    if not len(doubled):
        return Matching(
            mate=np.zeros(0, dtype=np.int64), value=0, vertex_duals=np.zeros(0, dtype=np.int64), blossoms=()
        )
    return made_whole(doubled, *fractional_matching(doubled))


def made_whole(doubled: Ints, partner: Ints, prices: Ints) -> Matching:
    """Return the matching of a graph of twice the weights, given an optimal fractional one and its duals."""
    near = NearEdges(doubled, prices)
    nodes = Nodes(_split_cycles(partner, prices))
    _match_exposed(near, nodes)
    mate = np.array(nodes.mate, dtype=np.int64)
    mate[doubled[np.arange(len(doubled)), mate] <= 0] = -1
    blossoms = tuple(Blossom(vertices=tuple(sorted(c.vertices)), dual=c.dual) for c in nodes.cycles.values())
    vertex_duals = np.array(near.duals, dtype=np.int64)
    return Matching(mate=mate, value=_value(doubled, mate), vertex_duals=vertex_duals, blossoms=blossoms)


def _match_exposed(near: NearEdges, nodes: Nodes) -> None:
    """Search from every vertex that is alone and pays for it, in place, until none is.

    Each is searched from a little way first, and then half as far again, that with the smallest tree always first: two
    that are far apart meet near the one whose tree grows fast, which is the one that costs. Where a vertex has many
    edges that are nearly tight, the first way is so short that only some of them are looked at.
    """
    mate, duals = nodes.mate, near.duals
    roots = [v for v in range(len(mate)) if mate[v] < 0 < duals[v]]
    if not roots:
        return
    first = min(max(duals) // min(NEAR, 2 + len(duals)), 1 + near.slack_of_nearest(CROWD, roots[:SOME]) // 4)
    waiting = [(0, root, first) for root in roots]
    while waiting:
        _, root, limit = heappop(waiting)
        if mate[root] < 0 < duals[root]:
            search = Search(near, nodes, root, limit)
            search.run()
            heappush(waiting, (len(search.seen), root, limit + limit // 2 + 1))


def _split_cycles(partner: Ints, duals: Ints) -> list[int]:
    """Return the matching of an assignment: neighbours in even cycles; an odd cycle leaves out its least dual."""
    everybody = np.arange(len(partner))
    paired = partner[partner] == everybody
    mate: list[int] = np.where(paired & (partner != everybody), partner, -1).tolist()
    following, price = partner.tolist(), duals.tolist()
    seen = paired.tolist()
    for first in np.flatnonzero(~paired).tolist():
        cycle = []
        v = first
        while not seen[v]:
            seen[v] = True
            cycle.append(v)
            v = following[v]
        if len(cycle) % 2:
            prices = [price[u] for u in cycle]
            at = prices.index(min(prices))
            cycle = (cycle[at:] + cycle[:at])[1:]
        for u, w in zip(cycle[::2], cycle[1::2], strict=True):
            mate[u], mate[w] = w, u
    return mate


def doubled_weights(weights: Any) -> Ints:
    """Return twice the weights, 0 where there is no edge: in half the memory if they are small enough for that."""
    matrix = np.asarray(weights)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError("weights", f"an array of shape {matrix.shape}", "a square matrix")
    if matrix.size and matrix.dtype.kind not in "iu":
        raise InputError("weights", f"values of type {matrix.dtype}", "whole numbers (int64)")
    matrix = matrix.astype(np.int64, copy=False)
    narrow = matrix.max(initial=0) < NARROW
    doubled = np.empty(matrix.shape, dtype=np.int32 if narrow else np.int64)
    for start in range(0, len(matrix), _BLOCK):
        some = doubled[start : start + _BLOCK]
        np.maximum(matrix[start : start + _BLOCK], 0, out=some, casting="unsafe")
        some *= 2
    if not _is_symmetric(doubled):
        u, v = np.argwhere(doubled != doubled.T)[0].tolist()
        raise InputError(
            f"weights[{u}, {v}]", f"{matrix[u, v]}, but {matrix[v, u]} the other way", "a symmetric matrix"
        )
    np.fill_diagonal(doubled, 0)
    return doubled


def _is_symmetric(edges: Ints) -> bool:
    """Return whether a square matrix is symmetric, block by block: whole columns would be read from far memory."""
    cuts = range(0, len(edges), _BLOCK)
    return all(
        np.array_equal(edges[i : i + _BLOCK, j : j + _BLOCK], edges[j : j + _BLOCK, i : i + _BLOCK].T)
        for i in cuts
        for j in cuts
        if j <= i
    )


def _value(doubled: Ints, mate: Ints) -> int:
    """Return the weight of all pairs: each is there twice, with twice its weight."""
    matched = np.flatnonzero(mate >= 0)
    return int(doubled[matched, mate[matched]].sum(dtype=np.int64)) // 4
