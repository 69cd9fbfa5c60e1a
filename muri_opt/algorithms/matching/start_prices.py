"""Prices of vertices to start an assignment from: lowered from above, or those of some vertices for all.

Prices cover a pair if those of its two vertices are at least twice its weight.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from muri_opt.algorithms.matching.candidate_edges import far_of
from muri_opt.algorithms.matching.result import Ints

LOWERED: Final = 5
"""How often prices are lowered: after that they hardly change."""
PIVOTS: Final = 8
"""By their weights with so many others it is seen which vertices are alike."""
SAMPLE: Final = 200
"""By about so many vertices it is seen if everybody wants the same partners."""
DISTINCT: Final = 0.6
"""The share of vertices that are somebody's best partner where prices lowered from above are nearly right."""
_BLOCK: Final = 1 << 16


def lowered_prices(doubled: Ints) -> Ints:
    """Return even prices that cover all pairs, lowered from half of the best weight of every vertex.

    All prices go at once half of the way to the least that covers the pairs of their vertex. All pairs stay covered by
    that: two least prices and two prices are at least twice the weight of a pair together.
    """
    prices = (doubled.max(axis=1) + 1) // 2
    for _ in range(LOWERED):
        prices = (prices + np.maximum(_covering(doubled, prices), 0) + 1) // 2
    return np.asarray(prices + (prices & 1), dtype=np.int64)


def _covering(doubled: Ints, prices: Ints) -> Ints:
    """Return what every vertex has to pay at least for its pairs to be covered, given the prices of the others."""
    size = max(1, _BLOCK // len(prices))
    return np.concatenate(
        [(doubled[start : start + size] - prices).max(axis=1) for start in range(0, len(prices), size)]
    )


def is_easy(doubled: Ints, prices: Ints) -> bool:
    """Return whether lowered prices are nearly right: if not many want the same partners at them."""
    slack = prices - doubled
    np.fill_diagonal(slack, far_of(doubled))
    wanted = np.bincount(slack.argmin(axis=1))
    return bool(np.count_nonzero(wanted) >= DISTINCT * len(doubled))


def sample_of(doubled: Ints) -> Ints:
    """Return the graph of some of the vertices, by which it is seen if it is easy."""
    every = -(-len(doubled) // SAMPLE)
    return np.ascontiguousarray(doubled[::every, ::every])


def alike_in_turn(doubled: Ints, draw: np.random.Generator) -> Ints:
    """Return the vertices in an order in which neighbours have much the same weights."""
    n = len(doubled)
    pivots = doubled[:, draw.choice(n, PIVOTS, replace=False)]
    order = np.arange(n)
    for level in range(n.bit_length() - 2):  # parts of two or three vertices in the end
        part = (np.arange(n) << level) // n
        order = order[np.lexsort((pivots[order, level % PIVOTS], part))]
    return order


def cover_rest(doubled: Ints, known: Ints, rest: Ints, prices: Ints) -> None:
    """Give the vertices of the ``rest``, in place, the least prices that cover their pairs with the ``known`` ones."""
    among = np.full(len(prices), far_of(doubled), dtype=doubled.dtype)
    among[known] = prices[known]
    size = max(1, _BLOCK // len(prices))
    for start in range(0, len(rest), size):
        some = rest[start : start + size]
        prices[some] = np.maximum(0, (doubled[some] - among).max(axis=1))
