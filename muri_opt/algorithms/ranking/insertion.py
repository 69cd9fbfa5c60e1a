"""Better orders by small moves: a job goes where it costs least, until no such move helps."""

from __future__ import annotations

import numpy as np

from muri_opt.algorithms.ranking.disagreement import order_cost
from muri_opt.modelling import Ints
from muri_opt.rounds import Budget

_PER_PAIR = 2e-6
"""Work to repair an order after some jobs were moved, for each pair of jobs."""


def improved(before: Ints, order: Ints) -> Ints:
    """Return an order that no single job's move improves; agreed pairs stand in it as agreed.

    The sweeps put every job in turn where it costs least: behind k others it costs what it costs in front, plus
    ``gain[job, other]`` for each of them. For an agreed pair that stands the wrong way round, moving the one in front
    of the other, or the other behind the one, lowers the disagreement (chapter `ranking`).
    """
    gain = before - before.T
    moved = True
    while moved:
        moved = False
        for job in order.tolist():
            here = int(np.flatnonzero(order == job)[0])
            others = np.delete(order, here)
            cost = np.concatenate([[0], np.cumsum(gain[job, others])])
            there = int(np.argmin(cost))
            if cost[there] < cost[here]:
                order = np.insert(others, there, job)
                moved = True
    return order


def kicked(before: Ints, order: Ints, *, kicks: int, budget: Budget) -> Ints:
    """Return the best order met when some jobs are moved at random, the rest repaired, time and again."""
    draw = np.random.default_rng(budget.limits.seed)
    best, least = order, order_cost(before, order)
    for _ in range(kicks):
        if budget.over():
            break
        budget.spend(_PER_PAIR * len(order) ** 2)
        tried = best.tolist()
        for _ in range(2 + len(tried) // 10):
            job = tried.pop(int(draw.integers(len(tried))))
            tried.insert(int(draw.integers(len(tried) + 1)), job)
        found = improved(before, np.array(tried, dtype=np.int64))
        cost = order_cost(before, found)
        if cost <= least:
            best, least = found, cost
    return best
