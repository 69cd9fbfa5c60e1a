"""An answer without a solver: the least occupied nodes first, their jobs to the tightest nodes, the largest first."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from muri_opt.systems.capacity import best_fit
from muri_opt.systems.defragment.goal import Goal
from muri_opt.systems.defragment.moves_state import Layout, Plan
from muri_opt.systems.defragment.running_jobs import Start

_MOST_SUBSETS = 10
"""Movable jobs on a node up to which every set of them is looked at."""
_MOST_FIRST_HOSTS = 50
"""First nodes tried for a job that needs several."""


def greedy_plan(start: Start, goal: Goal) -> Plan | None:
    """Return moves that reach the goal, or ``None`` where this rule finds none."""
    return _emptied(start, goal) if goal.job is None else _held(start, goal, goal.job)


def _emptied(start: Start, goal: Goal) -> Plan | None:
    """Empty nodes in the order of what that costs now; one whose jobs fit nowhere else is passed over."""
    layout = Layout(start)
    nodes = np.flatnonzero(goal.able).tolist()
    order = sorted(nodes, key=lambda s: (sum(start.cost(j) for j in layout.residents[s]), s))
    closed, last = np.zeros(len(goal.able), dtype=np.bool_), np.zeros(len(goal.able), dtype=np.bool_)
    last[order[: goal.chosen]] = True  # these are to be emptied next, so they should take nothing
    missing = goal.chosen
    for s in order:
        if not missing:
            break
        jobs = {j: layout.at[j] for j in sorted(layout.residents[s])}
        for j in jobs:
            layout.take(j)
        closed[s] = True
        if layout.replaced(jobs, closed, last):
            missing -= 1
            continue
        closed[s] = False
        for j, share in jobs.items():
            layout.put(j, share)
    return None if missing else layout.plan({})


def _held(start: Start, goal: Goal, job: int) -> Plan | None:
    """Place the job where the cheapest jobs have to leave, of the sets of nodes it may be in the cheapest."""
    plans = [_held_inside(start, goal.inside(part), job, part) for part in start.parts(job)]
    return min((plan for plan in plans if plan is not None), key=lambda plan: plan.cost(start), default=None)


def _held_inside(start: Start, goal: Goal, job: int, part: NDArray[np.bool_]) -> Plan | None:
    """Place the job on some of the nodes where the cheapest jobs have to leave, and these where they fit best."""
    gpus = int(start.size[job, 0])
    share = best_fit(start.fits(job, start.free) * part, gpus)
    if share is not None and np.count_nonzero(share) <= goal.chosen:
        return Plan(moved={}, hosts={int(s): int(share[s]) for s in np.flatnonzero(share)})
    layout = Layout(start)
    first = _candidates(layout, goal, job, gpus, {})
    for s in first[:_MOST_FIRST_HOSTS] if goal.chosen > 1 else first:
        plan = _made_room(layout, job, _hosts(layout, goal, job, s))
        if plan is not None:
            return plan
    return None


def _hosts(layout: Layout, goal: Goal, job: int, first: int) -> dict[int, int]:
    """Return nodes and shares for the job, the first node given, the others where least has to leave."""
    left = int(layout.start.size[job, 0])
    hosts: dict[int, int] = {}
    s = first
    while True:
        hosts[s] = min(left, int(goal.most[s]))
        left -= hosts[s]
        if not left:
            return hosts
        s = _candidates(layout, goal, job, left, hosts)[0]  # the others can hold the rest, or s were no candidate


def _candidates(layout: Layout, goal: Goal, job: int, left: int, hosts: dict[int, int]) -> list[int]:
    """Return the nodes that can take their share of what is left, by what has to leave; the others must hold the rest.

    There is no choice of fewer GPUs on a node than it can hold: as few nodes as possible leave little slack.
    """
    nodes = [s for s in np.flatnonzero(goal.able).tolist() if s not in hosts]
    rest = goal.chosen - len(hosts) - 1
    largest = sorted((int(goal.most[s]) for s in nodes), reverse=True)
    found = []
    for s in nodes:
        most = int(goal.most[s])
        among = rest > 0 and most >= largest[rest - 1]
        others = sum(largest[: rest + 1]) - most if among else sum(largest[:rest])
        if most + others >= left:
            released = _released(layout, job, s, min(left, most))
            found.append((sum(layout.start.cost(j) for j in released), s))
    return [s for _, s in sorted(found)]


def _released(layout: Layout, job: int, node: int, gpus: int) -> tuple[int, ...]:
    """Return the cheapest jobs that have to leave a node so that it holds so many GPUs of the waiting job."""
    start = layout.start
    lacking = (start.unit[job] * gpus - layout.left[:, node]).tolist()
    if max(lacking) <= 0:
        return ()
    jobs = sorted(layout.residents[node], key=lambda j: (start.cost(j), j))
    gives = {j: (start.unit[j] * max(layout.at[j][node], 1)).tolist() for j in jobs}

    def enough(chosen: tuple[int, ...]) -> bool:
        return all(sum(gives[j][r] for j in chosen) >= lacking[r] for r in range(3))

    if len(jobs) <= _MOST_SUBSETS:
        sets = (chosen for size in range(1, len(jobs) + 1) for chosen in combinations(jobs, size))
        return min((chosen for chosen in sets if enough(chosen)), key=lambda chosen: sum(map(start.cost, chosen)))
    chosen = tuple(jobs)
    for j in reversed(jobs):  # whatever is not needed stays, the dearest first
        without = tuple(other for other in chosen if other != j)
        chosen = without if enough(without) else chosen
    return chosen


def _made_room(layout: Layout, job: int, hosts: dict[int, int]) -> Plan | None:
    """Return the plan with the job on its hosts; without one, the layout is as it was."""
    unit = layout.start.unit[job]
    leaving = {j: layout.at[j] for s, gpus in hosts.items() for j in _released(layout, job, s, gpus)}
    for j in leaving:
        layout.take(j)
    for s, gpus in hosts.items():
        layout.occupy(s, *(unit * gpus).tolist())
    none: NDArray[np.bool_] = np.zeros(len(layout.gpus), dtype=np.bool_)
    if layout.replaced(leaving, none, none):
        return layout.plan(hosts)
    for s, gpus in hosts.items():
        layout.release(s, *(unit * gpus).tolist())
    for j, share in leaving.items():
        layout.put(j, share)
    return None
