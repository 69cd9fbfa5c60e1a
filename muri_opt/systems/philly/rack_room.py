"""On how few nodes of each rack a gang has room."""

from __future__ import annotations

from typing import Final

import numpy as np

from muri_opt.rounds.amounts import Ints

NEVER: Final = 1 << 40
"""Stands for the nodes of a rack that cannot hold a gang, however many they are."""


class RackRoom:
    """Room for a gang on the nodes of each rack, the roomiest first."""

    def __init__(self, room: Ints, rack: Ints, racks: int) -> None:
        order = np.lexsort((-room, rack))
        size = np.bincount(rack, minlength=racks).astype(np.int64)
        first = np.concatenate([[0], np.cumsum(size)[:-1]]).astype(np.int64)
        reach = np.concatenate([[0], np.cumsum(room[order])]).astype(np.int64)
        self.size, self.first = size, first
        self.reach: Ints = reach[1:] - np.repeat(reach[first], size)

    def nodes(self, gpus: Ints) -> Ints:
        """Return how few nodes of each rack hold each of these numbers of GPUs; a rack is a row."""
        # All racks are searched as one rising list: each rack is lifted above the one before it.
        lift = int(max(self.reach.max(initial=0), gpus.max(initial=0))) + 1
        rack = np.arange(len(self.size))
        lifted = self.reach + np.repeat(rack * lift, self.size)
        wanted = np.maximum(gpus, 0)[None, :] + (rack * lift)[:, None]
        below = np.searchsorted(lifted, wanted) - self.first[:, None]
        needed = np.where(below < self.size[:, None], below + 1, NEVER)
        return np.where(gpus[None, :] <= 0, 0, needed)

    def most(self, nodes: int) -> int:
        """Return the most GPUs on so many nodes of one rack."""
        taken = np.minimum(self.size, nodes)
        return int(self.reach[(self.first + taken - 1)[taken > 0]].max(initial=0))
