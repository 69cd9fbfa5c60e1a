"""From a plan to values of the program and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import Values
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.defragment.goal import Goal
from muri_opt.systems.defragment.moves_state import Plan
from muri_opt.systems.defragment.program import Program
from muri_opt.systems.defragment.running_jobs import Start


def encoded(start: Start, goal: Goal, program: Program, plan: Plan) -> Ints:
    """Return the values of a plan; what ends on nodes that cannot be told apart is put in the order of the program."""
    nodes = len(start.room)
    ends, spread, hosts = (
        start.count.copy(),
        np.zeros((len(start.spread), nodes), dtype=np.int64),
        np.zeros_like(goal.most),
    )
    for j, t in zip(start.single, start.of_type, strict=True):
        if j in plan.moved:
            ends[t, next(iter(start.held[j]))] -= 1
            ends[t, next(iter(plan.moved[j]))] += 1
    stays = np.zeros(nodes, dtype=np.bool_)
    for i, j in enumerate(start.spread):
        if j in plan.moved:
            spread[i, list(plan.moved[j])] = list(plan.moved[j].values())
        else:
            stays[list(start.held[j])] = True
    hosts[list(plan.hosts)] = list(plan.hosts.values())
    empty = ~stays & ~ends.any(axis=0) & ~spread.any(axis=0)
    chosen = goal.able & (empty if goal.job is None else hosts > 0)
    source = np.arange(nodes)
    for alike in start.kinds():
        source[alike] = sorted(alike, key=lambda s: not chosen[s])
    ends, spread, hosts, chosen = ends[:, source], spread[:, source], hosts[source], chosen[source]
    values = np.zeros(program.model.column_count, dtype=np.int64)
    moved = np.array([j in plan.moved for j in start.spread], dtype=np.int64)
    for table, found in (
        (program.d, np.maximum(start.count - ends, 0)),
        (program.a, np.maximum(ends - start.count, 0)),
        (program.x, moved),
        (program.v, spread),
        (program.w, spread > 0),
        (program.y, chosen),
        (program.p, hosts),
        (program.m, _insides(start, spread, program.m)),
        (program.q, _inside_of(start.parts(goal.job), hosts)[: len(program.q)] if goal.job is not None else program.q),
    ):
        values[table[table >= 0]] = found[table >= 0]
    return values


def _insides(start: Start, spread: Ints, columns: Ints) -> Ints:
    """Return in which of its sets of nodes each spread job is that moves."""
    found = np.zeros_like(columns)
    for i, j in enumerate(start.spread):
        inside = _inside_of(start.parts(j), spread[i])
        found[i, : len(inside)] = inside[: found.shape[1]]
    return found


def _inside_of(parts: Sequence[NDArray[np.bool_]], share: Ints) -> Ints:
    return np.array([share[part].any() for part in parts], dtype=np.int64)


def decoded(start: Start, program: Program, values: Values) -> Plan:
    """Return the plan of values that satisfy the program."""
    whole = np.append(np.rint(values).astype(np.int64), 0)  # a position of -1 finds the 0
    moved = single_moves(start, whole[program.a] - whole[program.d])
    for i, j in enumerate(start.spread):
        share = whole[program.v[i]]
        if whole[program.x[i]] and (end := {int(s): int(share[s]) for s in np.flatnonzero(share)}) != start.held[j]:
            moved[j] = end
    hosts = whole[program.p]
    return Plan(moved=dict(sorted(moved.items())), hosts={int(s): int(hosts[s]) for s in np.flatnonzero(hosts)})


def single_moves(start: Start, net: Ints) -> dict[int, dict[int, int]]:
    """Return who goes where if ``net[t, s]`` jobs of a type enter a node; which of a type leave it is all the same."""
    entering = [np.repeat(np.arange(net.shape[1]), np.maximum(more, 0)).tolist()[::-1] for more in net]
    leaving = np.maximum(-net, 0).tolist()
    moved: dict[int, dict[int, int]] = {}
    for j, t in zip(start.single, start.of_type, strict=True):
        s = next(iter(start.held[j]))
        if leaving[t][s]:
            leaving[t][s] -= 1
            moved[j] = {entering[t].pop(): int(start.size[j, 0])}
    return moved
