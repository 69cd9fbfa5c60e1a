"""The placement of the Tiresias and Muri simulators: first fit on one node, else whole nodes and a remainder."""

from __future__ import annotations

import numpy as np

from muri_opt.rounds.amounts import Ints


def first_fit(room: Ints, gpus: int, whole: Ints) -> Ints | None:
    """Return GPUs per node for a gang of ``gpus``, or ``None`` where it does not fit.

    ``room[s]`` is how many of its GPUs fit on node s now, ``whole[s]`` how many the node has. The first node that holds
    the gang takes it. A gang larger than every node takes completely free nodes in order, and the first other node that
    holds the rest.

    >>> first_fit(np.array([4, 2, 3]), 3, np.array([4, 4, 4]))
    array([3, 0, 0])
    """
    share = np.zeros_like(room)
    rest = gpus
    if len(room) and gpus > whole.max():
        for s in np.flatnonzero((room == whole) & (whole > 0)).tolist():
            if rest < whole[s]:
                break
            share[s] = whole[s]
            rest -= int(whole[s])
    if rest == 0:
        return share
    enough = np.flatnonzero((room >= rest) & (share == 0))
    if not len(enough):
        return None
    share[enough[0]] = rest
    return share
