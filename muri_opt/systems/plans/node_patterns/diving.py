"""Whole numbers of patterns from fractions: the largest is rounded up, the program is solved again, and so on.

The diving heuristic of branch and price, without going back.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from muri_opt.modelling import Relax
from muri_opt.rounds import Budget
from muri_opt.systems.plans.node_patterns.master import Key, Master
from muri_opt.systems.plans.node_patterns.residual import Remaining

_WHOLE = 1e-6
"""Fractions up to this are rounding errors of a solver."""


def dive(master: Master, relax: Relax, remaining: Remaining, budget: Budget) -> Counter[Key]:
    """Return a good combination of patterns, and take them from what remains; the budget may end it early."""
    taken: Counter[Key] = Counter()
    keys = list(master.found)
    while not budget.over():
        relaxed = relax(master.program(taken), budget)
        if relaxed is None:
            break
        values = relaxed.values[: len(keys)]
        fractions = [value - taken[key] for key, value in zip(keys, values.tolist(), strict=True)]
        moved = False
        for place in np.argsort(-np.array(fractions), kind="stable").tolist():
            whole = fractions[place] >= 1 - _WHOLE
            if fractions[place] <= _WHOLE or (moved and not whole):
                break
            times = min(remaining.most(keys[place]), int(fractions[place] + _WHOLE) if whole else 1)
            if times > 0:
                remaining.take(keys[place], times)
                taken[keys[place]] += times
                moved = True
        if not moved:
            break
    return taken
