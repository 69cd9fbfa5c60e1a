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

from muri_opt.algorithms.matching.result import Ints
from muri_opt.errors import InputError

SMALL = 400
"""Graphs up to this size are assigned at once; larger ones start from the duals of a random half."""
EXACT = 1 << 52
"""Sums of weights along a path stay below this, so that the assignment's floating-point arithmetic is exact."""


def fractional_matching(weights: Ints) -> tuple[Ints, Ints]:
    """Return the assigned partner of every vertex and its dual in halves of a weight unit.

    ``weights`` is symmetric and not negative, with a zero diagonal.
    """
    n = len(weights)
    if n and int(weights.max()) * 4 * n >= EXACT:
        raise InputError("weights", f"up to {int(weights.max()):,} for {n} vertices", f"at most {EXACT // (4 * n):,}")
    partner, start = _assign(weights, np.random.default_rng(n))
    return partner, _duals(weights, partner, start)


def _assign(weights: Ints, draw: np.random.Generator) -> tuple[Ints, Ints]:
    """Return an optimal assignment and good, not always feasible, column duals.

    Shortest augmenting paths are slow where everybody wants the same partners. The duals of a random half, extended to
    all vertices and taken off the weights, leave little to do: several times faster there, no slower elsewhere.
    """
    from scipy.optimize import linear_sum_assignment  # takes longer to load than a small round to decide

    n = len(weights)
    if n <= SMALL:
        partner = linear_sum_assignment(weights, maximize=True)[1].astype(np.int64)
        return partner, np.zeros(n, dtype=np.int64)
    order = draw.permutation(n)
    half, rest = order[: n // 2], order[n // 2 :]
    part = weights[np.ix_(half, half)]
    partner, start = _assign(part, draw)
    price = np.zeros(n, dtype=np.int64)
    price[half] = _duals(part, partner, start)
    price[rest] = np.maximum(0, (2 * weights[np.ix_(rest, half)] - price[half]).max(axis=1))
    reduced = 2 * weights - price[:, None] - price
    return linear_sum_assignment(reduced, maximize=True)[1].astype(np.int64), -(price // 2)


def _duals(weights: Ints, partner: Ints, start: Ints) -> Ints:
    """Return a + b of an optimal assignment: potentials by relaxing the rows that changed until none does.

    ``v`` are the negated column duals; any start will do, a good one saves sweeps.
    """
    n = len(weights)
    own = weights[np.arange(n), partner]
    v = start.copy()
    rows = np.arange(n)
    for _ in range(2 * n + 2):
        if not len(rows):
            return own + v[partner] - v
        reach = (own[rows] + v[partner[rows]])[:, None] - weights[rows]
        lower = np.minimum(v, reach.min(axis=0))
        rows = np.flatnonzero((lower < v)[partner])
        v = lower
    raise ArithmeticError("the assignment is not optimal: its potentials do not settle")
