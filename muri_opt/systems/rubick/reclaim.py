"""Room for one option: what is free, and what jobs of lower slope give for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.rubick.cached_costs import CachedCosts
from muri_opt.systems.rubick.node_occupants import Amounts, Given, Occupants
from muri_opt.systems.rubick.node_prices import Floats
from muri_opt.systems.rubick.state import State

Slopes = tuple[float, float, float]

FORCED: Final = (inf, inf, inf)
"""The slopes of a guaranteed job that does not run yet: above every other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """An option, the slopes of a job that wants it, and per node the first slope of others and what they lose at least.

    That is what the GPUs cost, infinite where they give none; ``least`` is the lowest of all nodes.
    """

    option: int
    slopes: Slopes
    first: Floats
    loss: Floats
    least: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """An option of a job on nodes, what others must change to for it, and what all of that adds to the throughput."""

    option: int
    nodes: Ints
    net: float
    given: Given = field(default_factory=dict)


def offers(
    state: State,
    costs: CachedCosts,
    job: int,
    options: Sequence[int],
    short: NDArray[np.bool_],
    *,
    forced: bool = False,
) -> list[Offer]:
    """Return what a job finds where nodes are ``short`` of room for some options; what it has must be free already."""
    slopes = [FORCED if forced else state.curves.slopes(state.option(job), option) for option in options]
    own = state.own(job)
    first, loss = costs.prices(own, forced=forced).of(
        state.curves.parts[options, 0], np.array(slopes).reshape(-1, 3), short
    )
    first[:, own] = -inf
    loss[:, own] = 0
    least = loss.min(axis=1, initial=inf).tolist()
    return [
        Offer(option=option, slopes=slopes[at], first=first[at], loss=loss[at], least=least[at])
        for at, option in enumerate(options)
    ]


def move_to(
    state: State, costs: CachedCosts, job: int, offer: Offer, above: float = -inf, *, forced: bool = False
) -> Move | None:
    """Return how a job gets an option for which others must give, if that adds more than ``above``, else ``None``.

    The job's own placement must be free already (its nodes come first). Nodes that have room are used as they are; on
    others, lowest slopes first, jobs give step by step until a part fits. They give only if the slope of the receiver
    is higher than theirs in the resource that is short there, unless it is ``forced``. A node where they would lose too
    much is passed over.
    """
    need, parts = state.curves.part[offer.option], int(state.options.q[offer.option])
    net: float = state.curves.gain(state.option(job), offer.option)
    nodes: list[int] = []
    given: Given = {}
    for node in _candidates(state, job, offer, net - above):
        before = costs.occupants(node, job, given, forced=forced)
        after = _with_room(before, need, offer.slopes, net - above + before.loss)
        if after is None:
            continue
        net -= after.loss - before.loss
        given |= after.given
        nodes.append(node)
        if len(nodes) == parts:
            return Move(option=offer.option, nodes=_in_order(state, offer.option, nodes), net=net, given=given)
    return None


def _in_order(state: State, option: int, nodes: list[int]) -> Ints:
    """Return nodes in their order, but those that may have a larger part of the option first, if it has some."""
    if option in state.options.larger:
        wide = state.options.wide_nodes(option)
        nodes = sorted(nodes, key=lambda node: (not wide[node], node))
    else:
        nodes = sorted(nodes)
    return np.array(nodes, dtype=np.int64)


def _candidates(state: State, job: int, offer: Offer, limit: float) -> list[int]:
    """Return the nodes that may have room for a part: the job's own, those that have it, then by the lowest slope."""
    nodes = np.flatnonzero((offer.loss < limit) & state.options.nodes(offer.option))
    if len(nodes) < state.options.q[offer.option]:
        return []
    others = np.ones(len(offer.first))
    others[state.own(job)] = 0
    by_price = np.lexsort((-state.free.gpus[nodes], offer.first[nodes], others[nodes]))
    return list(map(int, nodes[by_price]))


def _with_room(occupants: Occupants, need: Amounts, slopes: Slopes, limit: float) -> Occupants | None:
    """Return who is on a node after giving until a part fits there; ``None`` if they do not give enough."""
    gpus, cpus, memory = need
    while occupants.loss < limit:
        free = occupants.free
        resource = 0 if free[0] < gpus else 1 if free[1] < cpus else 2
        if resource == 2 and free[2] >= memory:
            return occupants
        step = occupants.after(resource)
        if step is None or step[0] >= slopes[resource]:
            return None
        occupants = step[1]
    return None
