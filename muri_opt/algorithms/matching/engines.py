"""``max_weight_matching``: the exact matching of a dense graph, with its proof.

Edmonds' blossom algorithm from an optimal fractional matching: only vertices that its odd cycles leave over are
searched from, one alternating tree each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from muri_opt.algorithms.matching.alternating_tree import FAR, Search
from muri_opt.algorithms.matching.blossoms import Nodes
from muri_opt.algorithms.matching.fractional_matching import fractional_matching
from muri_opt.algorithms.matching.reference import REFERENCES
from muri_opt.algorithms.matching.result import Blossom, Ints, Matching
from muri_opt.errors import InputError, unknown_name

ENGINES = ("blossom", *REFERENCES)
MANY, NEAR, FURTHER = 40, 512, 2
"""From so many vertices each search first goes one part in so many of the largest dual, then so many times as far."""
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
    edges = _edges(weights)
    if engine in REFERENCES:
        mate = REFERENCES[engine](edges)
        nothing = np.zeros(len(edges), dtype=np.int64)
        return Matching(mate=mate, value=_value(edges, mate), vertex_duals=nothing, blossoms=())
    if engine != "blossom":
        raise unknown_name("engine", engine, ENGINES)
    if not len(edges):
        return Matching(
            mate=np.zeros(0, dtype=np.int64), value=0, vertex_duals=np.zeros(0, dtype=np.int64), blossoms=()
        )
    doubled = np.multiply(edges, 2, out=edges)
    partner, duals = fractional_matching(doubled)
    nodes = Nodes(_split_cycles(partner, duals))
    _match_exposed(doubled, duals, nodes)
    mate = np.where(doubled[np.arange(len(doubled)), nodes.mate] > 0, nodes.mate, -1)
    mate[nodes.mate < 0] = -1
    blossoms = tuple(Blossom(vertices=tuple(c.vertices.tolist()), dual=c.dual) for c in nodes.cycles.values())
    return Matching(mate=mate, value=_value(doubled, mate) // 2, vertex_duals=duals, blossoms=blossoms)


def _match_exposed(doubled: Ints, duals: Ints, nodes: Nodes) -> None:
    """Search from every vertex that is alone and pays for it, in place, until none is.

    Many of them are searched from a little way first, then those that are left further: two that are far apart then
    meet half-way, and two trees of half the depth have far fewer vertices than one.
    """
    roots = np.flatnonzero((nodes.mate < 0) & (duals > 0))
    limit = int(duals.max()) // NEAR if len(roots) > MANY else FAR
    while len(roots):
        for root in roots.tolist():
            if nodes.mate[root] < 0 and duals[root] > 0:
                Search(doubled, duals, nodes, root).run(limit)
        roots = roots[(nodes.mate[roots] < 0) & (duals[roots] > 0)]
        limit = min(FAR, (limit + 1) * FURTHER)


def _split_cycles(partner: Ints, duals: Ints) -> Ints:
    """Return the matching of an assignment: neighbours in even cycles; an odd cycle leaves out its least dual."""
    mate = np.full(len(partner), -1, dtype=np.int64)
    seen = np.zeros(len(partner), dtype=np.bool_)
    for first in range(len(partner)):
        cycle = []
        v = first
        while not seen[v]:
            seen[v] = True
            cycle.append(v)
            v = int(partner[v])
        if len(cycle) % 2:
            at = int(np.argmin(duals[cycle]))
            cycle = (cycle[at:] + cycle[:at])[1:]
        for u, w in zip(cycle[::2], cycle[1::2], strict=True):
            mate[u], mate[w] = w, u
    return mate


def _edges(weights: Any) -> Ints:
    matrix = np.asarray(weights)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError("weights", f"an array of shape {matrix.shape}", "a square matrix")
    if matrix.size and matrix.dtype.kind not in "iu":
        raise InputError("weights", f"values of type {matrix.dtype}", "whole numbers (int64)")
    edges = np.maximum(matrix.astype(np.int64, copy=False), 0)
    if not _is_symmetric(edges):
        u, v = np.argwhere(edges != edges.T)[0].tolist()
        raise InputError(
            f"weights[{u}, {v}]", f"{matrix[u, v]}, but {matrix[v, u]} the other way", "a symmetric matrix"
        )
    np.fill_diagonal(edges, 0)
    return edges


def _is_symmetric(edges: Ints) -> bool:
    """Return whether a square matrix is symmetric, block by block: whole columns would be read from far memory."""
    cuts = range(0, len(edges), _BLOCK)
    return all(
        np.array_equal(edges[i : i + _BLOCK, j : j + _BLOCK], edges[j : j + _BLOCK, i : i + _BLOCK].T)
        for i in cuts
        for j in cuts
        if j <= i
    )


def _value(edges: Ints, mate: Ints) -> int:
    matched = np.flatnonzero(mate >= 0)
    return int(edges[matched, mate[matched]].sum()) // 2
