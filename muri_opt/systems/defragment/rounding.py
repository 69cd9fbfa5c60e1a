"""A plan from prices: the columns they called for, each taken by whole nodes.

The program has as many columns as kinds of nodes and things to do there, however many nodes there are.
"""

from __future__ import annotations

import numpy as np

from muri_opt.errors import RefusalError
from muri_opt.modelling import Solve
from muri_opt.rounds import Budget
from muri_opt.systems.defragment.column_generation import master
from muri_opt.systems.defragment.encode_decode import single_moves
from muri_opt.systems.defragment.goal import Goal
from muri_opt.systems.defragment.moves_state import Layout, Plan
from muri_opt.systems.defragment.prices import Column, Pricing
from muri_opt.systems.defragment.running_jobs import Start


def rounded_plan(start: Start, goal: Goal, columns: list[Column], solve: Solve, budget: Budget) -> Plan | None:
    """Return the best plan made of the columns, or ``None``; spread jobs stay where they are."""
    pricing = Pricing(start, goal)
    usable = [column for column in columns if all(good < pricing.types for good, _ in column.flow)]
    try:
        found = solve(master(pricing, usable, None), budget.left(), None)
    except RefusalError:
        return None
    budget.spend(found.work)
    if found.values is None:
        return None
    nodes = [list(alike) for alike in start.kinds()]
    net = np.zeros_like(start.count)
    hosts: dict[int, int] = {}
    for column, number in zip(usable, np.rint(found.values).astype(np.int64).tolist(), strict=True):
        for _ in range(number):
            s = nodes[column.kind].pop()
            for good, amount in column.flow:
                net[good, s] += amount
            if column.share:
                hosts[s] = column.share
    plan = Plan(moved=dict(sorted(single_moves(start, net).items())), hosts=hosts)
    return plan if _fits(start, goal, plan) else None


def _fits(start: Start, goal: Goal, plan: Plan) -> bool:
    """Return whether everything has room, and the waiting job is inside one of its sets of nodes.

    Where contents were many, prices did not look at CPUs and memory, and of sets they know nothing.
    """
    layout = Layout(start)
    for j in plan.moved:
        layout.take(j)
    for j, share in plan.moved.items():
        layout.put(j, share)
    if goal.job is not None:
        if not any(part[list(plan.hosts)].all() for part in start.parts(goal.job)):
            return False
        for s, gpus in plan.hosts.items():
            layout.occupy(s, *(start.unit[goal.job] * gpus).tolist())
    return bool((layout.left >= 0).all())
