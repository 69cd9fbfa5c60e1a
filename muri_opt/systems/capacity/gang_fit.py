"""One gang on the nodes: best fit on one node, else as few nodes as possible."""

from __future__ import annotations

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.capacity.free_capacity import Leftover


def best_fit(room: Ints, gpus: int, held: Ints | None = None) -> Ints | None:
    """Return GPUs per node for a gang of ``gpus``, or ``None`` where it does not fit.

    ``room[s]`` is how many of its GPUs fit on node s. GPUs ``held`` now are kept if they still fit. Otherwise the gang
    goes to the tightest node that holds it whole, or else fills the roomiest nodes, the rest on the tightest that does.

    >>> best_fit(np.array([4, 2, 3]), 3)
    array([0, 0, 3])
    """
    if held is not None and held.sum() == gpus and (held <= room).all():
        return held
    share = np.zeros_like(room)
    left = gpus
    room = room.copy()
    while left > 0:
        enough = np.flatnonzero(room >= left)
        if len(enough):
            s = enough[np.argmin(room[enough])]
            share[s] = left
            return share
        s = np.argmax(room) if len(room) else 0
        if not len(room) or room[s] <= 0:
            return None
        share[s] = room[s]
        left -= int(room[s])
        room[s] = 0
    return share


def nodes_needed(room: Ints, gpus: int) -> int:
    """Return how many of the roomiest nodes together hold ``gpus``; one more than there are where all do not.

    >>> nodes_needed(np.array([4, 2, 3]), 6)
    2
    """
    reach = np.cumsum(np.sort(room)[::-1])
    return int(np.searchsorted(reach, gpus)) + 1


def fewest_nodes(round_: Round, job: int) -> int:
    """Return on how few nodes the job fits in the empty cluster; one more than there are where it does not fit.

    >>> fewest_nodes(shipped_round("toy/two-gangs"), 1)
    2
    """
    amounts = round_.amounts
    return nodes_needed(amounts.most_gpus([job], amounts.G, amounts.C, amounts.M), int(amounts.g[job]))


def held_gpus(round_: Round, job: int) -> Ints | None:
    """Return the GPUs per node a running job holds now, or ``None``.

    >>> held_gpus(shipped_round("toy/three-fragments"), 0)
    array([4, 0, 0])
    """
    placement = round_.jobs[job].placement
    if round_.jobs[job].state != "running" or not placement:
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
    room, gpus = left.room(job), int(round_.amounts.g[job])
    if consolidate:
        limit = min(fewest_nodes(round_, job), len(room))
        if nodes_needed(room, gpus) > limit:
            return None
        held = None if held is None or np.count_nonzero(held) > limit else held
    return best_fit(room, gpus, held)
