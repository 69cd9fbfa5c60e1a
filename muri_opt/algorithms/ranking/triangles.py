"""Directed triangles: which ones a table of pairs breaks, and what weights of them prove.

Of three jobs, at most two of "a before b", "b before c", "c before a" can hold. So for any weights of directed
triangles, an order's disagreement plus the weight of every triangle for each of its sides that holds is at most its
disagreement plus twice all weights; and the left side is least when each pair is decided alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from muri_opt.algorithms.ranking.program import Floats
from muri_opt.modelling import Ints

_DENOMINATOR = 720720
"""Divisible by all numbers up to 16: multipliers of these programs are mostly such fractions."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Packing:
    """Directed triangles with whole weights over one denominator, and what they prove about a table of pairs.

    ``scaled`` is the bound times the denominator; ``side[a, b]`` is what a before b costs in it, ``least`` what the two
    cost at least. Agreed pairs have one way round only.
    """

    triangles: Ints
    weights: Ints
    denominator: int
    side: Ints
    least: Ints
    scaled: int

    @classmethod
    def of(cls, before: Ints, agreed: NDArray[np.bool_], triangles: Ints, weights: Floats) -> Self:
        """Return the packing with the weights rounded; negative ones are no weights."""
        most = int((before + before.T).max(initial=0)) + 1
        room = most * (len(before) ** 2 + 6 * len(triangles) + 1)
        denominator = max(1, min(_DENOMINATOR, (1 << 60) // room))
        whole = np.rint(np.clip(weights, 0.0, float(most)) * denominator).astype(np.int64)
        kept = whole > 0
        triangles, whole = triangles[kept], whole[kept]
        side = before.T * denominator
        for tail, head in ((0, 1), (1, 2), (2, 0)):
            np.add.at(side, (triangles[:, tail], triangles[:, head]), whole)
        least = np.where(agreed, side, np.where(agreed.T, side.T, np.minimum(side, side.T)))
        scaled = int(np.triu(least, 1).sum()) - 2 * int(whole.sum())
        return cls(triangles=triangles, weights=whole, denominator=denominator, side=side, least=least, scaled=scaled)

    @property
    def bound(self) -> int:
        """The least disagreement the weights leave possible, a whole number."""
        return -(-self.scaled // self.denominator)

    def proves_more(self, other: Packing) -> bool:
        """Return whether the bound, before rounding up, is the higher one."""
        return self.scaled * other.denominator > other.scaled * self.denominator

    def decided(self, value: int) -> NDArray[np.bool_]:
        """Return the pairs that stand a before b in every order of at most the given disagreement."""
        other_way: NDArray[np.bool_] = self.scaled - self.least + self.side.T > value * self.denominator
        return other_way


def greedy_packing(before: Ints, agreed: NDArray[np.bool_], most: int) -> Packing:
    """Return triangles of strict majorities, one after another with as much weight as their sides have left.

    No solver is needed; beyond ``most`` triangles the rest is left aside.
    """
    margin = np.maximum(before - before.T, 0)
    found = broken(np.where(margin > 0, 1.0, 0.0), 0.5)[:most]
    left = margin.tolist()
    weights = np.zeros(len(found))
    for place, (a, b, c) in enumerate(found.tolist()):
        weight = min(left[a][b], left[b][c], left[c][a])
        if weight:
            weights[place] = weight
            left[a][b] -= weight
            left[b][c] -= weight
            left[c][a] -= weight
    return Packing.of(before, agreed, found, weights)


def broken(table: Floats, tolerance: float) -> Ints:
    """Return the triangles (a the least of its jobs) of which more than two sides hold, the worst first."""
    parts, excess = [], []
    for a in range(len(table) - 2):
        inner = table[a, a + 1 :, None] + table[a + 1 :, a + 1 :] + table[None, a + 1 :, a] - 2
        b, c = np.nonzero(inner > tolerance)
        parts.append(np.column_stack([np.full(len(b), a), b + a + 1, c + a + 1]))
        excess.append(inner[b, c])
    if not parts:
        return np.zeros((0, 3), dtype=np.int64)
    order = np.argsort(-np.concatenate(excess), kind="stable")
    return np.concatenate(parts)[order].astype(np.int64)


def spread_out(triangles: Ints, per_side: int) -> Ints:
    """Return some of the triangles, in order, such that no side is in more than ``per_side`` of them."""
    used: dict[tuple[int, int], int] = {}
    kept = []
    for place, (a, b, c) in enumerate(triangles.tolist()):
        sides = ((a, b), (b, c), (c, a))
        if all(used.get(side, 0) < per_side for side in sides):
            kept.append(place)
            for side in sides:
                used[side] = used.get(side, 0) + 1
    return triangles[kept]
