"""Where jobs of many kinds would fit on what is free: a set of nodes is looked at once for all of the same needs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np

from muri_opt.rounds.amounts import Ints, gpus_that_fit
from muri_opt.systems.capacity.node_sets import Demand
from muri_opt.systems.capacity.shaped_fit import fit_in_sets

Needs = tuple[int, int]
"""Milli-CPUs and MiB with each GPU."""


class RoomsInSets:
    """Free GPUs, milli-CPUs and MiB of nodes, which do not change, as room for jobs."""

    def __init__(self, gpus: Ints, cpus: Ints, memory: Ints) -> None:
        self._free = gpus, cpus, memory
        self._rooms: dict[Needs, Ints] = {}
        self._reaches: dict[tuple[Needs, int], tuple[Ints, list[int]]] = {}

    def of(self, needs: Needs) -> Ints:
        """Return how many GPUs of a job fit on each node."""
        if needs not in self._rooms:
            self._rooms[needs] = gpus_that_fit(needs, *self._free)
        return self._rooms[needs]

    def fewest_nodes(self, needs: Needs, gpus: int, demand: Demand, limit: int | None = None) -> int | None:
        """Return on how many nodes :func:`.shaped_fit.fit_in_sets` puts a gang, or ``None`` where it does not fit.

        >>> demand = Demand(sets=(np.arange(3),), least=1, most=None, even=False)
        >>> RoomsInSets(np.array([4, 2, 3]), np.zeros(3), np.zeros(3)).fewest_nodes((0, 0), 6, demand)
        2
        """
        if demand.shaped:
            share = fit_in_sets(self.of(needs), gpus, demand, limit)
            return None if share is None else int(np.count_nonzero(share))
        needed = gpus + 1
        for nodes in demand.sets:
            reach = self._reach(needs, nodes)
            if reach[-1] >= gpus:
                needed = min(needed, bisect_left(reach, gpus) + 1)
        return None if needed > gpus or (limit is not None and needed > limit) else needed

    def _reach(self, needs: Needs, nodes: Ints) -> Sequence[int]:
        """Return how many GPUs the one, two, three roomiest of some nodes hold, and so on."""
        key = needs, id(nodes)
        if key not in self._reaches:
            room = np.sort(np.maximum(self.of(needs)[nodes], 0))[::-1]
            self._reaches[key] = nodes, np.cumsum(room).tolist()  # as long as the nodes are kept, no others have the id
        return self._reaches[key][1]
