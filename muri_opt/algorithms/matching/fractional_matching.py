"""The fractional matching: an assignment problem on the symmetric matrix, with its duals.

An optimal assignment of vertices to vertices (a vertex assigned to itself stays alone, for weight 0) falls into cycles:
even ones split into pairs, odd ones leave one vertex over. Its duals a, b give every vertex ``a + b``, which is a
feasible dual solution of the matching in halves of a weight unit, and tight on every edge of every cycle. What is left
to do for an exact matching is to repair the odd cycles, of which there are few.

That vertices of the fractional matching polytope are half-integral is Balinski's theorem (1965); to start the blossom
algorithm from there is due to Derigs and Metz (1986). The assignment itself is by shortest augmenting paths (Jonker and
Volgenant 1987).
"""

from __future__ import annotations

import numpy as np

from muri_opt.algorithms.matching.candidate_edges import AllPairs, NearPairs, assigned_by_candidates
from muri_opt.algorithms.matching.result import Ints
from muri_opt.algorithms.matching.sparse_assignment import Pairs, potentials
from muri_opt.algorithms.matching.start_prices import alike_in_turn, cover_rest, is_easy, lowered_prices, sample_of
from muri_opt.errors import InputError

TINY = 224
"""Graphs up to this size are assigned at once."""
SMALL = 400
"""Up to this size, too, unless they are easy; larger ones by candidates."""
FEW_ROWS = 6
"""Prices to start from may leave pairs of one vertex in so many uncovered."""
EXACT = 1 << 52
"""Sums of weights along a path stay below this, so that the assignment's floating-point arithmetic is exact."""


def fractional_matching(doubled: Ints) -> tuple[Ints, Ints]:
    """Return the assigned partner of every vertex and its dual in halves of a weight unit.

    ``doubled`` are twice the weights: symmetric and not negative, with a zero diagonal.
    """
    n = len(doubled)
    if n and int(doubled.max()) * 2 * n >= EXACT:
        found = int(doubled.max()) // 2
        raise InputError("weights", f"up to {found:,} for {n} vertices", f"at most {EXACT // (4 * n):,}")
    if n <= TINY:
        return _of_all_pairs(doubled, lowered_prices(doubled))
    part = doubled if n <= SMALL else sample_of(doubled)
    prices = lowered_prices(part)
    if is_easy(part, prices):
        prices = prices if n <= SMALL else lowered_prices(doubled)
        partner, duals, found_soon = assigned_by_candidates(doubled, prices, NearPairs(doubled, prices))
        if found_soon:
            return partner, duals
    if n <= SMALL:
        return _of_all_pairs(doubled, prices)
    draw = np.random.default_rng(n)
    partner, duals, found_soon = assigned_by_candidates(doubled, _prices(doubled, draw), AllPairs(doubled, draw))
    return (partner, duals) if found_soon else _of_all_pairs(doubled, duals)


def _prices(doubled: Ints, draw: np.random.Generator) -> Ints:
    """Return good prices to start from: those of half of the vertices, extended to the others.

    It is a half in which every vertex has one like it among the others: where a few kinds of vertices have to share
    each other's partners, prices hang on how many there are of each kind, and are those of the whole only if the kinds
    are in proportion. They are put in any order, so that candidates of a vertex in parts of it are not all of its kind.
    """
    n = len(doubled)
    order = alike_in_turn(doubled, draw)
    half, rest = draw.permutation(order[::2]), order[1::2]
    part = doubled[np.ix_(half, half)]
    prices = np.zeros(n, dtype=np.int64)
    if len(half) <= SMALL:
        prices[half] = _of_all_pairs(part, lowered_prices(part))[1]
    else:
        start = _prices(part, draw)
        prices[half] = assigned_by_candidates(part, start, AllPairs(part, draw), len(half) // FEW_ROWS)[1]
    cover_rest(doubled, half, rest, prices)
    return prices


def _of_all_pairs(doubled: Ints, prices: Ints) -> tuple[Ints, Ints]:
    """Return an optimal assignment and its duals with all pairs as candidates.

    Shortest augmenting paths are slow where everybody wants the same partners, but for prices that are nearly right.
    Duals are found with pairs that are near by these prices; where they have not fallen by more than half of what is
    near, they cover all other pairs, too.
    """
    from scipy.optimize import linear_sum_assignment  # takes longer to load than a small round to decide

    of_kind = prices.astype(doubled.dtype)
    slack = of_kind[:, None] - doubled
    slack += of_kind
    partner = linear_sum_assignment(slack)[1].astype(np.int64)
    everybody = np.arange(len(doubled))
    own = doubled[everybody, partner].astype(np.int64) >> 1
    most = max(0, int(slack[everybody, partner].max()))
    while True:
        near = slack <= most
        near[everybody, everybody] = True
        pairs = Pairs.numbered(doubled, np.flatnonzero(near), np.zeros_like(own))
        duals = potentials(own, partner, -(prices >> 1), pairs)
        fallen = np.flatnonzero(2 * (prices - duals) > most)
        left = duals[fallen][:, None] + duals - doubled[fallen]
        if left.min(initial=0) >= 0:
            return partner, duals
        most = 2 * int((prices - duals).max())
