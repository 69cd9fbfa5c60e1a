"""Is a matching largest? Weak duality in exact integers, in a few lines of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def matching_breaches(
    weights: NDArray[np.int64],
    mate: NDArray[np.int64],
    value: int,
    vertex_duals: NDArray[np.int64],
    blossoms: Sequence[tuple[Sequence[int], int]],
) -> list[str]:
    """Return what is wrong with a matching and its duals; an empty list proves that no matching is heavier.

    Duals count in halves of a weight unit. A matching takes from every vertex at most its dual, and from a blossom of
    2k + 1 vertices at most k times its dual; so if the duals cover twice the weight of every edge, their total is at
    least twice the weight of any matching. Equality makes this one largest.
    """
    n = len(weights)
    edges = np.maximum(weights, 0)
    np.fill_diagonal(edges, 0)
    found = []
    matched = np.flatnonzero(mate >= 0)
    if not np.array_equal(mate[mate[matched]], matched) or np.any(mate[matched] == matched):
        found.append("partners do not agree")
    elif np.any(edges[matched, mate[matched]] <= 0):
        found.append("a matched pair is no edge")
    elif int(edges[matched, mate[matched]].sum()) != 2 * value:
        found.append(f"the pairs weigh {int(edges[matched, mate[matched]].sum()) // 2}, not {value}")
    total = sum(vertex_duals.tolist())
    if n and vertex_duals.min() < 0:
        found.append("a vertex dual is negative")
    cover = vertex_duals[:, None] + vertex_duals - 2 * edges
    np.fill_diagonal(cover, 0)
    short_u, short_v = np.nonzero(cover < 0)
    short = cover[short_u, short_v]
    for vertices, dual in blossoms:
        if dual < 0 or len(set(vertices)) != len(vertices) or len(vertices) % 2 == 0:
            found.append("a blossom is even or its dual is negative")
        inside = np.zeros(n, dtype=np.bool_)
        inside[list(vertices)] = True
        short = short + dual * (inside[short_u] & inside[short_v])
        total += dual * (len(vertices) // 2)
    if len(short) and short.min() < 0:
        at = int(short.argmin())
        found.append(f"the duals do not cover the edge {short_u[at]}-{short_v[at]}")
    if total != 2 * value:
        found.append(f"the duals total {total}, twice the value is {2 * value}")
    return found


def type_matching_breaches(
    weights: NDArray[np.int64],
    counts: NDArray[np.int64],
    value: int,
    residue: NDArray[np.int64],
    matching: tuple[NDArray[np.int64], int, NDArray[np.int64], Sequence[tuple[Sequence[int], int]]],
    copied_pairs: Sequence[tuple[int, int, int]],
    copied_alone: Sequence[tuple[int, int]],
) -> list[str]:
    """Return what is wrong with a matching of equal vertices; an empty list proves that no matching is heavier.

    The residue is checked as any matching. Copies keep the duals of their originals and join their blossoms: a copied
    pair must have the same blossoms around both ends and a tight edge, so that it adds the same to both totals; a
    vertex copied alone must have dual 0 outside all blossoms. An original and its copy must be covered, too.
    """
    mate, inner, duals, blossoms = matching
    edges = np.maximum(weights, 0)
    inside = edges[np.ix_(residue, residue)]
    np.fill_diagonal(inside, 0)
    found = matching_breaches(inside, mate, inner, duals, blossoms)
    around = [{place for place, (vertices, _) in enumerate(blossoms) if v in vertices} for v in range(len(residue))]
    paid = [sum(blossoms[place][1] for place in places) for places in around]
    total, used = inner, np.bincount(residue, minlength=len(counts))
    for u, v, times in (*copied_pairs, *((u, u, times) for u, times in copied_alone)):
        for end in {u, v}:
            if times < 0 or 2 * int(duals[end]) + paid[end] < 2 * int(edges[residue[end], residue[end]]):
                found.append(f"vertex {end} and its copy are not covered")
    for u, v, times in copied_pairs:
        weight = int(edges[residue[u], residue[v]])
        if around[u] != around[v] or int(duals[u]) + int(duals[v]) + paid[u] != 2 * weight or weight <= 0:
            found.append(f"copies of {u} and {v} are not tight")
        total += times * weight
        np.add.at(used, residue[[u, v]], times)
    for u, times in copied_alone:
        if duals[u] != 0 or around[u]:
            found.append(f"copies of {u} alone are not free")
        used[residue[u]] += times
    if not np.array_equal(used, counts):
        found.append("the vertices do not add up to the counts")
    if total != value:
        found.append(f"the pairs weigh {total}, not {value}")
    return found
