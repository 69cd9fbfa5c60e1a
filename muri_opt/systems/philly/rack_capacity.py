"""How many nodes of each rack hold a gang, and the smallest further node that would let it start."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Cluster
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.memoise import last_recalled
from muri_opt.systems.philly.cluster_state import ClusterState, Demand
from muri_opt.systems.philly.locality import ANYWHERE, TOGETHER
from muri_opt.systems.philly.rack_room import NEVER, RackRoom

_BLOCK: Final = 1 << 18
"""How many pairs of a rack and a size are looked at in one go."""


def smallest_node(state: ClusterState, job: int, level: int) -> tuple[int, str | None]:
    """Return the fewest GPUs of one further node that let a gang start spread no further than ``level``, and its rack.

    The node has CPUs and memory without limit. It is in a rack of the cluster, or in none. A larger node need not help
    where a smaller one does: with it the gang may have to be together on fewer nodes. So all sizes are looked at, from
    the smallest on. A node with as many GPUs as the gang always helps.
    """
    amounts, locality, gpus = state.amounts, state.status.locality, int(state.amounts.g[job])
    names = locality.racks if None in locality.racks else (*locality.racks, None)
    free = state.room(job)
    least = max(1, gpus - int(free.sum()))
    if level >= ANYWHERE:
        return least, names[0]
    everywhere = np.zeros(len(free), dtype=np.int64)
    rooms = [RackRoom(free, rack, racks) for rack, racks in ((locality.rack, len(names)), (everywhere, 1))]
    known, demand = _known_rooms(locality.cluster), state.demands[job]
    if demand not in known:
        empty = np.minimum(amounts.most_gpus([job], amounts.G, amounts.C, amounts.M), gpus)
        known[demand] = RackRoom(empty, locality.rack, len(names)), RackRoom(empty, everywhere, 1)
    rooms += known[demand]
    most, step = max(1, gpus), max(1, _BLOCK // len(names))
    for start in range(least, most, step):
        sizes = np.arange(start, min(start + step, most), dtype=np.int64)
        helps = _helps(rooms, sizes, gpus, level)
        if helps.any():
            first = int(np.argmax(helps.any(axis=0)))
            return int(sizes[first]), names[int(np.argmax(helps[:, first]))]
    return most, names[0]


@last_recalled
def _known_rooms(cluster: Cluster) -> dict[Demand, tuple[RackRoom, RackRoom]]:  # noqa: ARG001 - one for each cluster
    """Return the room for gangs in each rack of the empty cluster, and in all of it, as far as it is known."""
    return {}


def _helps(rooms: list[RackRoom], sizes: Ints, gpus: int, level: int) -> NDArray[np.bool_]:
    """Return for each rack and size whether the gang starts with a node of that size in that rack."""
    in_rack, anywhere, empty_in_rack, empty_anywhere = (_with_node(room, sizes, gpus) for room in rooms)
    fits_rack = empty_in_rack < NEVER
    fewest = np.where(fits_rack, empty_in_rack, empty_anywhere)
    now = np.where(fits_rack, in_rack, anywhere)
    together = (now < NEVER) & (now <= fewest)
    return together if level == TOGETHER else np.where(fits_rack, in_rack < NEVER, together)


def _with_node(room: RackRoom, sizes: Ints, gpus: int) -> Ints:
    """Return how few nodes of the best rack hold the gang if a node of each size is added to each rack in turn."""
    without = room.nodes(np.array([gpus]))
    added: Ints = np.minimum(without, 1 + room.nodes(gpus - sizes))
    best: Ints = np.minimum(added, without.min())
    return best
