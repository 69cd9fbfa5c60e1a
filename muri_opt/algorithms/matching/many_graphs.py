"""Many small graphs at once: what is arithmetic of the fractional matching is done for all graphs of one size together.

On graphs of a few dozen vertices an operation on arrays takes as long to begin as to do. Each graph has a matching and
duals that prove it, as :func:`max_weight_matching` finds for it alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

import numpy as np

from muri_opt.algorithms.matching.engines import doubled_weights, made_whole, max_weight_matching
from muri_opt.algorithms.matching.fractional_matching import EXACT
from muri_opt.algorithms.matching.result import Ints, Matching
from muri_opt.algorithms.matching.start_prices import LOWERED

SMALL: Final = 64
"""Vertices up to which graphs are matched together; for larger ones to begin an operation takes no time."""


def match_each(graphs: Sequence[Ints]) -> Iterator[Matching]:
    """Yield the matching of each graph, a symmetric matrix of weights.

    >>> [found.value for found in match_each([np.array([[0, 7], [7, 0]]), np.array([[0, 5], [5, 0]])])]
    [7, 5]
    """
    for size, some in groupby(graphs, key=len):
        alike = [*some]
        if not 0 < size <= SMALL or len(alike) == 1:
            yield from map(max_weight_matching, alike)
            continue
        doubled = np.stack([doubled_weights(weights).astype(np.int64) for weights in alike])
        if int(doubled.max()) * 2 * size >= EXACT:  # refused there
            yield from map(max_weight_matching, alike)
            continue
        yield from map(made_whole, doubled, *_fractional(doubled))


def _fractional(doubled: Ints) -> tuple[Ints, Ints]:
    """Return optimal assignments of graphs, a row each, and their duals."""
    from scipy.optimize import linear_sum_assignment

    prices = _lowered_prices(doubled)
    reduced = prices[:, :, None] + prices[:, None] - doubled
    partners = np.stack([linear_sum_assignment(one)[1] for one in reduced]).astype(np.int64)
    return partners, _duals(doubled >> 1, partners, -(prices // 2))


def _lowered_prices(doubled: Ints) -> Ints:
    """Return even prices that cover all pairs of each graph, lowered from half of the best weight of every vertex."""
    prices = (doubled.max(axis=2) + 1) // 2
    for _ in range(LOWERED):
        covering = (doubled - prices[:, None]).max(axis=2)
        prices = (prices + np.maximum(covering, 0) + 1) // 2
    return np.asarray(prices + (prices & 1), dtype=np.int64)


def _duals(weights: Ints, partners: Ints, start: Ints) -> Ints:
    """Return a + b of optimal assignments: potentials by relaxing the rows that changed until none does.

    Rows are those of all graphs, one graph after another.
    """
    graphs, n = partners.shape
    partner = (partners + n * np.arange(graphs)[:, None]).ravel()
    own, every = np.take_along_axis(weights, partners[:, :, None], axis=2).ravel(), weights.reshape(-1, n)
    v, rows = start.copy(), np.arange(graphs * n)
    for _ in range(2 * n + 2):
        if not len(rows):
            return np.asarray(own + v.ravel()[partner]).reshape(graphs, n) - v
        reach = (own[rows] + v.ravel()[partner[rows]])[:, None] - every[rows]
        begins = np.flatnonzero(np.diff(rows // n, prepend=-1))
        some = rows[begins] // n
        lower = np.minimum(v[some], np.minimum.reduceat(reach, begins, axis=0))
        changed = np.zeros((graphs, n), dtype=np.bool_)
        changed[some] = lower < v[some]
        v[some] = lower
        rows = np.flatnonzero(changed.ravel()[partner])
    raise ArithmeticError("an assignment is not optimal: its potentials do not settle")
