"""GPUs of one gang per node: best fit on one node, else as few nodes as possible."""

from __future__ import annotations

import numpy as np

from muri_opt.rounds.amounts import Ints

_NEVER = np.iinfo(np.int64).max


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
    while left > 0:
        enough = np.where(room >= left, room, _NEVER)
        s = int(enough.argmin()) if len(room) else 0
        if len(room) and enough[s] < _NEVER:
            share[s] = left
            return share
        s = int(room.argmax()) if len(room) else 0
        if not len(room) or room[s] <= 0:
            return None
        if left == gpus:
            room = room.copy()  # the caller's stays as it is
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
