"""Matchings by other people's code: independent of ours, for comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from muri_opt.algorithms.matching.result import Ints


def _by_networkx(edges: Ints) -> Ints:
    import networkx

    graph = networkx.Graph()
    graph.add_weighted_edges_from(_listed(edges))
    return _mates(len(edges), networkx.max_weight_matching(graph))


def _by_rustworkx(edges: Ints) -> Ints:
    import rustworkx

    graph = rustworkx.PyGraph()
    graph.add_nodes_from(range(len(edges)))
    graph.add_edges_from(list(_listed(edges)))
    return _mates(len(edges), rustworkx.max_weight_matching(graph, weight_fn=int))


def _listed(edges: Ints) -> Iterable[tuple[int, int, int]]:
    upper, lower = np.nonzero(np.triu(edges))
    return zip(upper.tolist(), lower.tolist(), edges[upper, lower].tolist(), strict=True)


def _mates(n: int, pairs: Iterable[tuple[int, int]]) -> Ints:
    mate = np.full(n, -1, dtype=np.int64)
    for u, v in pairs:
        mate[u], mate[v] = v, u
    return mate


REFERENCES: dict[str, Callable[[Ints], Ints]] = {"networkx": _by_networkx, "rustworkx": _by_rustworkx}
