"""Nodes filled one after another at given prices.

Sequential knapsacks: each node solves its pricing problem over the jobs that the nodes before it left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from muri_opt.rounds import Budget
from muri_opt.systems.plans.node_patterns.items import Items, NodeFamily
from muri_opt.systems.plans.node_patterns.master import NO_HOME, Key
from muri_opt.systems.plans.node_patterns.patterns import best_pattern
from muri_opt.systems.plans.node_patterns.prices import Prices
from muri_opt.systems.plans.node_patterns.residual import Remaining

_PATTERN = 5e-3
"""Work to find the best pattern of a node."""


def one_by_one(
    items: Items,
    families: Sequence[NodeFamily],
    prices: Prices,
    remaining: Remaining,
    *,
    cells: int,
    budget: Budget,
) -> Counter[Key]:
    """Return patterns for the nodes that remain, each the best beside those before it, and take them.

    Jobs in several parts, homes and quotas are left aside. A pattern is repeated while there are jobs and nodes for it.
    """
    found: Counter[Key] = Counter()
    for place, family in enumerate(families):
        while remaining.nodes[place] and not budget.over():
            budget.spend(_PATTERN)
            count = np.where(items.tenant >= 0, 0, remaining.jobs)
            key = (place, NO_HOME, best_pattern(replace(items, count=count), family, prices, cells=cells))
            if not key[2]:
                break
            times = remaining.most(key)
            found[key] += times
            remaining.take(key, times)
    return found
