"""One gang on the nodes where it may start: inside one set of them, in the shape it asks for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.shape import NodeRange
from muri_opt.systems.capacity.node_fit import best_fit, nodes_needed
from muri_opt.systems.capacity.node_sets import Demand


def fit_in_sets(room: Ints, gpus: int, demand: Demand, limit: int | None = None) -> Ints | None:
    """Return GPUs per node for a gang of ``gpus`` inside one of its sets of nodes, or ``None`` where it does not fit.

    ``room[s]`` is how many of its GPUs fit on node s, and ``limit`` the most nodes it may be on beside what it asks.
    Of several sets it goes to one where it needs the fewest nodes, and of those to the one with the least room.
    """
    most = min((number for number in (demand.most, limit) if number is not None), default=None)
    best: tuple[int, int] | None = None
    share: Ints | None = None
    for nodes in demand.sets:
        here = room[nodes]
        total = int(here.sum())
        if total < gpus:  # of many sets most are full
            continue
        found = shaped_fit(here, gpus, demand.least, most, even=demand.even)
        if found is None:
            continue
        key = int(np.count_nonzero(found)), total
        if best is None or key < best:
            best, share = key, np.zeros_like(room)
            share[nodes] = found
    return share


def fit_near_first(room: Ints, gpus: int, demand: Demand, limit: int | None = None) -> Ints | None:
    """Return what :func:`fit_in_sets` does, inside one of the parts that the gang prefers if it fits there."""
    near = fit_in_sets(room, gpus, replace(demand, sets=demand.near), limit) if demand.near else None
    return fit_in_sets(room, gpus, demand, limit) if near is None else near


def only_where(room: Ints, demand: Demand) -> Ints:
    """Return the room of the nodes on which a gang may start, and none on the others."""
    found = np.zeros_like(room)
    for nodes in demand.sets:
        found[nodes] = room[nodes]
    return found


def shaped_fit(room: Ints, gpus: int, least: int, most: int | None, *, even: bool) -> Ints | None:
    """Return GPUs per node on as few nodes as can be, from ``least`` to ``most`` of them; ``None``: it does not fit.

    >>> shaped_fit(np.array([4, 4, 4]), 4, 2, None, even=True)
    array([2, 2, 0])
    """
    if even:
        return _even_fit(room, gpus, least, most)
    count = max(least, nodes_needed(room, gpus))
    if count > min(len(room), gpus, len(room) if most is None else most) or np.count_nonzero(room > 0) < count:
        return None
    if count > nodes_needed(room, gpus):
        roomiest = np.argsort(-room, kind="stable")[:count]
        share = np.zeros_like(room)
        share[roomiest] = 1
        more = best_fit(room[roomiest] - 1, gpus - count) if gpus > count else 0
        share[roomiest] += 0 if more is None else more
        return share
    return best_fit(room, gpus)


def _even_fit(room: Ints, gpus: int, least: int, most: int | None) -> Ints | None:
    """Return equal parts on the tightest nodes that hold them, on as few nodes as can be."""
    if most is not None and most < least:
        return None
    for count in NodeRange(least=least, most=most).counts(gpus, even=True):
        part = gpus // count
        enough = np.flatnonzero(room >= part)
        if len(enough) >= count:
            share = np.zeros_like(room)
            share[enough[np.argsort(room[enough], kind="stable")][:count]] = part
            return share
    return None
