"""Which demands may find room: all of them looked at together, and again only where something changed."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.philly.cluster_state import ClusterState
from muri_opt.systems.philly.locality import ANYWHERE, TOGETHER

Bools = NDArray[np.bool_]
_BLOCK: Final = 1 << 20
"""How many pairs of a demand and a node are looked at in one go."""


class DemandFit:
    """The demands of the jobs of a round: GPUs, what goes with them, how far they may spread, what they ask of nodes.

    Job j has demand ``of[j]``, and demand d asks for ``gpus[d]`` GPUs. ``able[d]`` is false only if no job of the
    demand finds room. It is made true for demands that find room again when :meth:`look_again` is called after jobs
    left, and is made false by who tries in vain.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state, status, amounts = state, state.status, state.amounts
        sets = status.sets
        kinds = [0] * len(amounts.g) if sets is None else sets.kind.tolist()
        columns = (amounts.g.tolist(), amounts.c.tolist(), amounts.m.tolist(), status.widest.tolist(), kinds)
        known: dict[tuple[int, ...], int] = {}
        numbers = [known.setdefault(row, len(known)) for row in zip(*columns, strict=True)]
        self.of: Ints = np.array(numbers, dtype=np.int64)
        table = np.array(list(known), dtype=np.int64).reshape(-1, 5)
        self.gpus, self._cpus, self._memory, self._level = table[:, 0], table[:, 1], table[:, 2], table[:, 3]
        first = np.zeros(len(known), dtype=np.int64)
        first[self.of[::-1]] = np.arange(len(self.of))[::-1]
        locality = status.locality
        self._fewest, self._in_rack = locality.fewest[first], locality.in_rack[first]
        limit = status.rules.dedicated
        self._alone = np.zeros(len(known), dtype=np.bool_) if limit is None else self.gpus >= limit
        self.able: Bools = self._level >= TOGETHER
        self._plain = sets is None
        self._seen: Ints = self._room_inputs()
        if self._plain:
            self._start()

    def look_again(self) -> None:
        """Look again at what finds room, after jobs have left nodes."""
        if not self._plain:
            self.able = self._level >= TOGETHER
            return
        nodes = np.flatnonzero((self._seen != self._room_inputs()).any(axis=0))
        if len(nodes):
            self._count(nodes, self._seen[:, nodes], -1)
            self._seen = self._room_inputs()
            self._count(nodes, self._seen[:, nodes], 1)
        self.able = self._finds_room()

    def _start(self) -> None:
        """Count what finds room in each rack."""
        racks, nodes = len(self._state.status.locality.racks), len(self._state.gpus)
        self._sum: Ints = np.zeros((len(self.gpus), racks), dtype=np.int64)
        self._whole: Ints = np.zeros((len(self.gpus), racks), dtype=np.int64)
        step = max(1, _BLOCK // max(1, len(self.gpus)))
        for start in range(0, nodes, step):
            some = np.arange(start, min(start + step, nodes))
            self._count(some, self._seen[:, some], 1)
        self.able = self._finds_room()

    def _room_inputs(self) -> Ints:
        """Return all that room depends on: what is free on each node, and who is alone there."""
        return np.vstack([self._state.left, self._state.alone])

    def _room(self, nodes: Ints, inputs: Ints) -> Ints:
        """Return how many GPUs of each demand fit on each of the nodes, at most all."""
        gpus, cpus, memory, alone = inputs
        need = self.gpus[:, None]
        room: Ints = np.minimum(need, gpus)
        for each, free in ((self._cpus[:, None], cpus), (self._memory[:, None], memory)):
            room = np.where(each > 0, np.minimum(room, free // np.maximum(each, 1)), room)
        if self._state.status.rules.dedicated is not None:
            empty = gpus == self._state.amounts.G[nodes]
            room = np.where(np.where(self._alone[:, None], empty, alone == 0), room, 0)
        return room

    def _count(self, nodes: Ints, inputs: Ints, sign: int) -> None:
        """Add what fits on some nodes to what is counted in their racks."""
        rack = self._state.status.locality.rack[nodes]
        order = np.argsort(rack, kind="stable")
        room = self._room(nodes[order], inputs[:, order])
        racks, first = np.unique(rack[order], return_index=True)
        self._sum[:, racks] += sign * np.add.reduceat(room, first, axis=1)
        self._whole[:, racks] += sign * np.add.reduceat((room >= self.gpus[:, None]).astype(np.int64), first, axis=1)

    def _finds_room(self) -> Bools:
        """Return which demands may find room, as close together as they must be.

        For gangs on several nodes enough free GPUs of a rack, or of the cluster, are taken for room.
        """
        anywhere: Bools = (self._sum.sum(axis=1) >= self.gpus) & (self._level >= TOGETHER)
        in_rack: Bools = np.asarray((self._sum >= self.gpus[:, None]).any(axis=1))
        near = np.where((self._level == TOGETHER) & (self._fewest == 1), self._whole.any(axis=1), in_rack)
        able: Bools = anywhere & (near | (self._level == ANYWHERE) | ~self._in_rack)
        return able
