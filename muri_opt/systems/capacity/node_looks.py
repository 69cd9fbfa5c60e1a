"""Room for kinds of jobs that are rarely asked for, by a look at the nodes: to keep sets of these takes longer."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from muri_opt.rounds.amounts import Ints, gpus_that_fit
from muri_opt.rounds.node_bits import Bits, nodes_of

Kind = tuple[int, int]
"""Milli-CPUs and MiB with each GPU."""
_NEVER: Final = 1 << 62
_FEW: Final = 40
"""Nodes up to which they are looked at one by one."""
_AT_ONCE: Final = 16
"""How many times as fast nodes are looked at all at once, beyond what ``_FEW`` of them take one by one."""
_LOOKS: Final = 320
"""How many nodes are looked at for a kind, one by one, and in a larger cluster as many as it has: to make sets of them
takes about as long."""


class _Nodes(NamedTuple):
    """Nodes by number, in a list and as an array, and what a look at them takes."""

    listed: list[int]
    places: Ints
    cost: int


class NodeLooks:
    """Looks at nodes among some, as bits, for kinds of jobs: at what is ``free`` there now, and has ``changed``.

    ``free`` are the GPUs, milli-CPUs and MiB of each node, ``changed`` the nodes whose numbers changed, in turn; both
    go on changing.
    """

    def __init__(self, free: list[list[int]], changed: list[int]) -> None:
        self._free, self._changed = free, changed
        self._most = max(_LOOKS, len(free[0]))
        self._spent: dict[Kind, int] = {}
        self._nodes: dict[Bits, _Nodes] = {}
        self._now = np.zeros((3, 0), dtype=np.int64)
        self._seen = -1
        """How many of the changes ``_now`` knows of, -1 before it was read."""

    def may(self, kind: Kind, among: Bits) -> bool:
        """Return whether a look at some nodes for a kind takes less than to keep sets for it, and count the look."""
        spent = self._spent.get(kind, 0) + self._among(among).cost
        if spent > self._most:
            return False
        self._spent[kind] = spent
        return True

    def tightest(self, kind: Kind, gpus: int, among: Bits) -> int | None:
        """Return the node with the least room that holds so many GPUs, the first of equal ones."""
        nodes = self._among(among)
        if len(nodes.listed) > _FEW:
            fits = self._fits(kind, nodes.places)
            room = np.where(fits < gpus, _NEVER, fits)
            at = int(room.argmin())
            return None if room[at] == _NEVER else nodes.listed[at]
        (free, cpus, memory), (milli, mib) = self._free, kind
        found, least = None, _NEVER
        for node in nodes.listed:
            fit = free[node]
            if fit < gpus:
                continue
            if milli and fit * milli > cpus[node]:
                fit = cpus[node] // milli
            if mib and fit * mib > memory[node]:
                fit = memory[node] // mib
            if gpus <= fit < least:
                found, least = node, fit
        return found

    def room(self, kind: Kind, among: Bits) -> int:
        """Return how many GPUs fit on some nodes in all."""
        nodes = self._among(among)
        if len(nodes.listed) > _FEW:
            return int(np.maximum(self._fits(kind, nodes.places), 0).sum())
        (free, cpus, memory), (milli, mib) = self._free, kind
        room = 0
        for node in nodes.listed:
            fit = free[node]
            if fit > 0:
                if milli and fit * milli > cpus[node]:
                    fit = cpus[node] // milli
                if mib and fit * mib > memory[node]:
                    fit = memory[node] // mib
                room += max(fit, 0)
        return room

    def _among(self, among: Bits) -> _Nodes:
        if among not in self._nodes:
            places = nodes_of(among, len(self._free[0]))
            cost = len(places) if len(places) <= _FEW else _FEW + len(places) // _AT_ONCE
            self._nodes[among] = _Nodes(places.tolist(), places, cost)
        return self._nodes[among]

    def _fits(self, kind: Kind, places: Ints) -> Ints:
        """Return how many GPUs of a kind fit on each of some nodes."""
        gpus, cpus, memory = self._read().take(places, axis=1)
        return gpus_that_fit(kind, gpus, cpus, memory)

    def _read(self) -> Ints:
        """Return what is free now as an array."""
        count = len(self._changed)
        since = set(self._changed[self._seen :]) if self._seen >= 0 else None
        if since is None or 4 * len(since) > len(self._free[0]):
            self._now = np.array(self._free, dtype=np.int64)
        else:
            for node in since:
                self._now[:, node] = [own[node] for own in self._free]
        self._seen = count
        return self._now
