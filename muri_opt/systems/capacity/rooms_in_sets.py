"""Where jobs of many kinds would fit on what is free: a set of nodes is looked at once for all of the same needs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np

from muri_opt.rounds.amounts import Ints, gpus_that_fit
from muri_opt.rounds.eligibility import Bools
from muri_opt.systems.capacity.node_sets import Demand
from muri_opt.systems.capacity.shaped_fit import fit_in_sets

Needs = tuple[int, int]
"""Milli-CPUs and MiB with each GPU."""
_AT_ONCE = 512
"""Needs and sets of nodes that are looked at together."""


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

    def together(self, needs: Sequence[Needs], inside: Bools) -> list[int]:
        """Return how many GPUs of a job fit on some nodes in all: with ``needs[u]`` on those ``inside[u]``.

        >>> rooms = RoomsInSets(np.array([4, 2, 3]), np.array([8, 1, 9]), np.zeros(3))
        >>> rooms.together([(0, 0), (1, 0)], np.array([[True, True, False], [True, True, True]]))
        [6, 8]
        """
        kinds = {one: place for place, one in enumerate(dict.fromkeys(needs))}
        rooms = np.array([self.of(one) for one in kinds], dtype=np.int64).reshape(len(kinds), inside.shape[1])
        kind, found = np.array([kinds[one] for one in needs], dtype=np.int64), list[int]()
        for start in range(0, len(needs), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            found += np.einsum("us,us->u", rooms[kind[some]], inside[some]).tolist()
        return found

    def hold(self, asked: Sequence[tuple[Needs, int, Demand]]) -> list[bool]:
        """Return whether gangs of so many GPUs fit as their demands ask, on however many nodes; all at once.

        >>> demand = Demand(sets=(np.arange(2), np.array([2])), least=1, most=None, even=False)
        >>> rooms = RoomsInSets(np.array([4, 2, 3]), np.zeros(3), np.zeros(3))
        >>> rooms.hold([((0, 0), 6, demand), ((0, 0), 7, demand)])
        [True, False]
        """
        found = [demand.shaped and self.fewest_nodes(needs, gpus, demand) is not None for needs, gpus, demand in asked]
        plain = [(at, needs, demand.sets) for at, (needs, _, demand) in enumerate(asked) if not demand.shaped]
        sets = {id(nodes): nodes for _, _, some in plain for nodes in some}
        place = {one: row for row, one in enumerate(sets)}
        inside = np.zeros((len(sets), len(self._free[0])), dtype=np.bool_)
        for row, nodes in zip(inside, sets.values(), strict=True):
            row[nodes] = True
        at, of = (
            [at for at, _, some in plain for _ in some],
            [place[id(nodes)] for _, _, some in plain for nodes in some],
        )
        needed = [needs for _, needs, some in plain for _ in some]
        for one, total in zip(at, self.together(needed, inside[np.array(of, dtype=np.int64)]), strict=True):
            found[one] = found[one] or total >= asked[one][1] > 0
        return found

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
