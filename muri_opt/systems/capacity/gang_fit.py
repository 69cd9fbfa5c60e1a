"""One gang on the nodes: where it is if it can, else by best fit, on as few nodes as it may be."""

from __future__ import annotations

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.eligibility import is_lost
from muri_opt.rounds.memoise import recalled
from muri_opt.rounds.stopping import look_at_clock
from muri_opt.systems.capacity.free_capacity import Leftover
from muri_opt.systems.capacity.node_fit import best_fit, nodes_needed
from muri_opt.systems.capacity.node_sets import node_sets
from muri_opt.systems.capacity.shaped_fit import fit_in_sets, fit_near_first, only_where


def fewest_nodes(round_: Round, job: int, gpus: int | None = None) -> int:
    """Return on how few nodes the job fits in the empty cluster; one more than there are where it does not fit.

    It has so many ``gpus``, or those that it asks for.

    >>> fewest_nodes(shipped_round("toy/two-gangs"), 1)
    2
    """
    gpus = int(round_.amounts.g[job]) if gpus is None else gpus
    amounts, sets, known = round_.amounts, node_sets(round_), _known_counts(round_)
    kind = -1 if sets is None else int(sets.kind[job])
    key = gpus, int(amounts.c[job]), int(amounts.m[job]), kind
    if key not in known:
        room = empty_room(round_, job)
        share = None if sets is None else fit_in_sets(room, gpus, sets.of(job))
        if sets is None:
            known[key] = nodes_needed(room, gpus)
        else:
            known[key] = len(room) + 1 if share is None else int(np.count_nonzero(share))
    return known[key]


@recalled
def _known_counts(round_: Round) -> dict[tuple[int, int, int, int], int]:  # noqa: ARG001 - one for each round
    """Return on how few nodes gangs of a round fit, as far as it is known: alike ones are looked at once."""
    return {}


def empty_room(round_: Round, job: int) -> Ints:
    """Return how many GPUs of a job that starts fit on each node of the empty cluster."""
    amounts, sets = round_.amounts, node_sets(round_)
    room = amounts.most_gpus([job], amounts.G, amounts.C, amounts.M)
    return room if sets is None else only_where(room, sets.of(job))


def held_gpus(round_: Round, job: int) -> Ints | None:
    """Return the GPUs per node a running job holds now, or ``None``; on a node that is down it has lost them.

    >>> held_gpus(shipped_round("toy/three-fragments"), 0)
    array([4, 0, 0])
    """
    placement = round_.jobs[job].placement
    if round_.jobs[job].state != "running" or not placement or is_lost(round_, job):
        return None
    held = np.zeros(len(round_.cluster.nodes), dtype=np.int64)
    for node, gpus in placement.items():
        held[round_.cluster.node_index[node]] = gpus
    return held


def place_gang(round_: Round, left: Leftover, job: int, *, consolidate: bool, held: Ints | None = None) -> Ints | None:
    """Return GPUs per node for a gang beside what is placed already, or ``None``; on those ``held`` if it can.

    ``consolidate`` allows no more nodes than the gang would need in the empty cluster.

    >>> round_ = shipped_round("toy/two-gangs")
    >>> place_gang(round_, Leftover(round_), 1, consolidate=True)
    array([4, 2])
    """
    look_at_clock()
    gpus, demand = int(round_.amounts.g[job]), left.demand(job)
    limit = min(fewest_nodes(round_, job), len(left.gpus)) if consolidate else len(left.gpus)
    stays = held is not None and held.sum() == gpus and (not consolidate or np.count_nonzero(held) <= limit)
    if held is not None and stays and left.holds_share(job, held) and left.within_types(job, held):
        return held
    room = left.room(job)
    if demand is not None:
        return fit_near_first(room, gpus, demand, limit)
    if consolidate and nodes_needed(room, gpus) > limit:
        return None
    return best_fit(room, gpus)
