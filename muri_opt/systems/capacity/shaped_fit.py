"""One gang on the nodes where it may start: inside one set of them, in the shape it asks for."""

from __future__ import annotations

from typing import Final

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.shape import NodeRange
from muri_opt.systems.capacity.node_fit import best_fit, nodes_needed
from muri_opt.systems.capacity.node_sets import Demand

NOWHERE: Final = np.iinfo(np.int64).max
"""Nodes that a gang would need where it does not fit."""


def fit_in_sets(room: Ints, gpus: int, demand: Demand, limit: int | None = None) -> Ints | None:
    """Return GPUs per node for a gang of ``gpus`` inside one of its sets of nodes, or ``None`` where it does not fit.

    ``room[s]`` is how many of its GPUs fit on node s, and ``limit`` the most nodes it may be on beside what it asks.
    Of several sets it goes to one where it needs the fewest nodes, and of those to the one with the least room.
    """
    most = min((number for number in (demand.most, limit) if number is not None), default=None)
    nodes = demand.sets[0] if len(demand.sets) == 1 else _best_set(room, gpus, demand, most)
    if nodes is None:
        return None
    here = room[nodes]
    found = None if int(here.sum()) < gpus else shaped_fit(here, gpus, demand.least, most, even=demand.even)
    if found is None:
        return None
    share = np.zeros_like(room)
    share[nodes] = found
    return share


def _best_set(room: Ints, gpus: int, demand: Demand, most: int | None) -> Ints | None:
    """Return the set in which a gang needs the fewest nodes, of these that with the least room, all looked at at once.

    ``None`` where it fits in none.
    """
    if not demand.sets:
        return None
    here = rooms_in_sets(room, demand)
    count = node_counts(here, gpus, demand, most)
    best = np.lexsort((here.sum(axis=1), count))[0]
    return None if count[best] == NOWHERE else demand.sets[best]


def rooms_in_sets(room: Ints, demand: Demand) -> Ints:
    """Return the room of the nodes of each set in a row, with 0 behind those of a smaller set."""
    return np.append(np.maximum(room, 0), 0)[demand.table]


def node_counts(here: Ints, gpus: int, demand: Demand, most: int | None) -> Ints:
    """Return on how few nodes of each set a gang could be, on so many at ``most``.

    It is :data:`NOWHERE` where the gang does not fit; ``here`` is the room of the nodes of each set, as
    :func:`rooms_in_sets` returns it.
    """
    if demand.even:
        count = _even_counts(here, gpus, demand.least, most)
    else:
        reach = np.cumsum(np.sort(here, axis=1)[:, ::-1], axis=1)
        count = np.maximum(demand.least, 1 + (reach < gpus).sum(axis=1))
        sizes = (demand.table >= 0).sum(axis=1)
        largest = np.minimum(sizes, gpus if most is None else min(gpus, most))
        count[(count > largest) | ((here > 0).sum(axis=1) < count)] = NOWHERE
    count[here.sum(axis=1) < gpus] = NOWHERE
    return count


def _even_counts(here: Ints, gpus: int, least: int, most: int | None) -> Ints:
    """Return on how few nodes of each set, which are the rows, there is room for equal parts."""
    found = np.full(len(here), NOWHERE, dtype=np.int64)
    if most is None or most >= least:
        for count in reversed([*NodeRange(least=least, most=most).counts(gpus, even=True)]):
            found[(here >= gpus // count).sum(axis=1) >= count] = count
    return found


def fit_near_first(room: Ints, gpus: int, demand: Demand, limit: int | None = None) -> Ints | None:
    """Return what :func:`fit_in_sets` does, inside one of the parts that the gang prefers if it fits there."""
    near = None if demand.nearby is None else fit_in_sets(room, gpus, demand.nearby, limit)
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
