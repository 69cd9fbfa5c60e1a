"""By which plans a whole decision runs, in columns: one look at all assignments instead of one at each.

It is for decisions in which nothing is wrong. Whatever is not as it should be, or cannot be told in columns, is left to
the rules that look at one assignment after another and say what it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Assignment, Decision, Job, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.plans.menu_columns import MenuColumns

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DecisionRows:
    """Assignment i runs job ``job[i]`` by plan ``plan[i]`` of the columns, at ``home[i]`` on the nodes it holds.

    Part p of all parts is of assignment ``of[p]``, on ``node[p]``.
    """

    job: Ints
    plan: Ints
    home: Bools
    of: Ints
    node: Ints

    def left(self, columns: MenuColumns, free: Ints) -> Ints:
        """Return what all parts leave of what nodes have."""
        taken = np.zeros_like(free)
        np.add.at(taken, self.node, columns.pieces[self.plan[self.of]])
        return free - taken


@recalled
def decision_rows(round_: Round, columns: MenuColumns, decision: Decision) -> DecisionRows | None:
    """Return by which plans jobs run, each by one that it may run by; ``None`` where that cannot be told of all."""
    jobs, nodes = round_.job_index, round_.cluster.node_index
    number = columns.words.number
    told: list[tuple[int, int, int, int, int]] = []
    at: list[int | None] = []
    held: list[bool] = []
    for one in decision.assignments:
        each, position = _each(one), jobs.get(one.jobs[0]) if one.jobs else None
        if each is None or position is None:
            return None
        told.append((position, number(one.plan), len(one.gpus), *each))
        held.append(_is_held(round_.jobs[position], one))
        at += map(nodes.get, one.gpus)
    if None in at:
        return None
    job, name, parts, gpus, milli = np.array(told, dtype=np.int64).reshape(-1, 5).T
    owner, node = np.repeat(np.arange(len(told)), parts), np.array(at, dtype=np.int64)
    count = columns.begin[job + 1] - columns.begin[job]
    mine = np.repeat(np.arange(len(job)), count)
    rows = np.arange(len(mine)) + np.repeat(columns.begin[job] - np.cumsum(count) + count, count)
    fits = (columns.name[rows] == name[mine]) & (columns.parts[rows] == parts[mine]) & columns.open[rows]
    fits &= (columns.pieces[rows, 0] == gpus[mine]) & (columns.pieces[rows, 1] == milli[mine])
    rows, mine = rows[fits], mine[fits]
    outside = np.zeros((len(columns.spots), len(job)), dtype=np.int64)
    for kind in range(len(columns.spots)):  # how many of its nodes are not for plans of the kind
        outside[kind] = np.bincount(owner, weights=~columns.hosts[kind, node], minlength=len(job))
    rows, mine = rows[outside[columns.kind[rows], mine] == 0], mine[outside[columns.kind[rows], mine] == 0]
    if not np.array_equal(mine, np.arange(len(job))):
        return None
    return DecisionRows(
        job=job, plan=rows, home=columns.stays[rows] & np.array(held, dtype=np.bool_), of=owner, node=node
    )


def _each(one: Assignment) -> tuple[int, int] | None:
    """Return the GPUs and milli-CPUs on each node of a job alone; ``None`` where they differ, or something is odd."""
    gpus = list(one.gpus.values())
    if len(one.jobs) != 1 or one.order != (0,) or one.period_seconds is not None or not gpus:
        return None
    if type(gpus[0]) is not int or (len(gpus) > 1 and ({*map(type, gpus)} != {int} or len({*gpus}) > 1)):
        return None
    if not one.cpus:
        return gpus[0], 0
    cpus = list(one.cpus.values())
    same = one.cpus.keys() == one.gpus.keys() and (len(cpus) == 1 or all(each == cpus[0] for each in cpus))
    return (gpus[0], round(cpus[0] * 1000)) if same and 0 <= cpus[0] < 1e12 else None


def _is_held(job: Job, one: Assignment) -> bool:
    """Return whether an assignment is on the nodes that its job holds."""
    return job.state == "running" and job.placement is not None and job.placement.keys() == one.gpus.keys()
