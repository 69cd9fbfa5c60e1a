"""Room for one option: what is free, and what jobs of lower slope give for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from muri_opt.instance.amounts import Ints
from muri_opt.policies.planning.rubick.giving import Step, freed_on
from muri_opt.policies.planning.rubick.slopes import NOTHING
from muri_opt.policies.planning.rubick.state import RESOURCES, State
from muri_opt.policies.planning.seating import Seat

Slopes = tuple[float, float, float]
Amounts = tuple[int, int, int]
Given = dict[int, Seat | None]
"""The seats that others change to, ``None`` for those that stop."""

FORCED: Final = (np.inf, np.inf, np.inf)
"""The slopes of a guaranteed job that does not run yet: above every other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """An option of a job on nodes, what others must change to for it, and what all of that adds to the throughput."""

    option: int
    nodes: Ints
    net: int
    given: Given = field(default_factory=dict)


def move_to(state: State, job: int, option: int, *, forced: bool) -> Move | None:
    """Return how a job gets an option for which others must give, or ``None`` if they need not or do not.

    The job's own seat must be free already (its ``own`` nodes come first). Nodes that have room are used as they are;
    on others, lowest slopes first, jobs give step by step until a part fits. They give only if the slope of the
    receiver is higher than theirs in the resource that is short there, unless it is ``forced``.
    """
    now = state.option(job)
    slopes = FORCED if forced else state.curves.slopes(now, option)
    own = state.seats[job].nodes if job in state.seats else np.empty(0, dtype=np.int64)
    nodes: list[int] = []
    given: Given = {}
    parts = int(state.options.q[option])
    for node in _candidates(state, option, slopes, own, forced=forced):
        more = _made_room(state, job, option, node, slopes, given, forced=forced)
        if more is None:
            continue
        given = more
        nodes.append(node)
        if len(nodes) == parts:
            loss = sum(
                state.curves.loss(state.option(other), NOTHING if seat is None else seat.option)
                for other, seat in given.items()
            )
            net = state.curves.gain(now, option) - loss
            return Move(option=option, nodes=np.array(sorted(nodes), dtype=np.int64), net=net, given=given)
    return None


def _candidates(state: State, option: int, slopes: Slopes, own: Ints, *, forced: bool) -> list[int]:
    """Return the nodes that may have room for a part: those that have it, then by the lowest slope of a job there."""
    part = state.curves.part[option]
    free = (state.free.gpus, state.free.cpus, state.free.memory)
    low, takeable = state.lowest(forced=forced)
    possible = state.options.nodes(option)
    price = np.full(len(possible), -np.inf)
    for resource in reversed(RESOURCES):
        short = free[resource] < part[resource]
        price = np.where(short, np.where(low[resource] < slopes[resource], low[resource], np.inf), price)
        possible = possible & (free[resource] + takeable[resource] >= part[resource])
    room = np.flatnonzero(possible & (price < np.inf))
    if len(room) < state.options.q[option]:
        return []
    mine = np.isin(room, own)
    by_price = np.lexsort((-state.free.gpus[room], price[room], ~mine))
    return list(map(int, room[by_price]))


def _made_room(
    state: State, job: int, option: int, node: int, slopes: Slopes, given: Given, *, forced: bool
) -> Given | None:
    """Return who gives what so that a part fits on a node, beyond what they gave already; ``None`` if they do not."""
    need = state.curves.part[option]
    now: Given = {other: given.get(other, state.seats[other]) for other in state.on_node[node] if other != job}
    has = (int(state.free.gpus[node]), int(state.free.cpus[node]), int(state.free.memory[node]))
    for other in now.keys() & given.keys():
        has = _sum(has, freed_on(state.curves, state.seats[other], given[other], node))
    found = dict(given)
    while True:
        resource = next((r for r in RESOURCES if has[r] < need[r]), None)
        if resource is None:
            return found
        cheapest = _cheapest(state, now, node, resource, forced=forced)
        if cheapest is None or not slopes[resource] > cheapest[1].slope:
            return None
        other, step = cheapest
        has = _sum(has, freed_on(state.curves, now[other], step.seat, node))
        now[other] = found[other] = step.seat


def _cheapest(state: State, now: Given, node: int, resource: int, *, forced: bool) -> tuple[int, Step] | None:
    """Return the job that loses least per unit by giving on a node, and how; of equals the latest gives."""
    best: tuple[int, Step] | None = None
    for other, seat in now.items():
        if seat is None or node not in seat.nodes.tolist():
            continue
        step = state.giving.step(other, seat, node, resource, forced=forced)
        if step is not None and (
            best is None or (step.slope, -state.rank[other]) < (best[1].slope, -state.rank[best[0]])
        ):
            best = other, step
    return best


def _sum(has: Amounts, more: Amounts) -> Amounts:
    return has[0] + more[0], has[1] + more[1], has[2] + more[2]
