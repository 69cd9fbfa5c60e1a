"""How many GPUs of each kind of job fit on every node, as bit sets: the tightest node is found without asking all.

Jobs that need the same CPUs and memory with a GPU are of one kind. For each kind and each number of GPUs the nodes
that have room for exactly so many are the bits of one Python integer; the first of them is its lowest bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from muri_opt.rounds.amounts import Amounts

Parts = list[tuple[int, int]]
"""Nodes, each with GPUs of it."""
Kind = tuple[int, int]
"""Milli-CPUs and MiB with each GPU."""


class RoomSets:
    """What is free on the nodes while shares are placed; the same nodes are found as by :func:`.node_fit.best_fit`."""

    def __init__(self, amounts: Amounts, kinds: Iterable[Kind]) -> None:
        self._gpus: list[int] = amounts.G.tolist()
        self._cpus: list[int] = amounts.C.tolist()
        self._memory: list[int] = amounts.M.tolist()
        self._room: dict[Kind, list[int]] = {}
        self._sets: dict[Kind, dict[int, int]] = {}
        self._changed: list[int] = []
        """Nodes of which something was taken, in turn."""
        self._seen: dict[Kind, int] = dict.fromkeys(kinds, 0)
        """How many of these changes the sets of each kind know of."""
        known: dict[tuple[int, int, int], list[int]] = {}
        for node, has in enumerate(zip(self._gpus, self._cpus, self._memory, strict=True)):
            known.setdefault(has, []).append(node)
        for kind in self._seen:
            room, sets = [0] * len(self._gpus), dict[int, int]()
            for nodes in known.values():
                fits = self._fits(nodes[0], kind)
                for node in nodes:
                    room[node] = fits
                sets[fits] = sets.get(fits, 0) | sum(1 << node for node in nodes)
            self._room[kind], self._sets[kind] = room, sets

    def holds(self, kind: Kind, parts: Iterable[tuple[int, int]]) -> bool:
        """Return whether the nodes have room for these parts of a job."""
        room = self._now(kind)
        return all(gpus <= room[node] for node, gpus in parts)

    def best_fit(self, kind: Kind, gpus: int) -> Parts | None:
        """Return GPUs of nodes for a share, or ``None``: of the tightest that holds it, or the roomiest and a rest."""
        self._now(kind)
        sets, found, used = self._sets[kind], Parts(), 0
        while True:
            open_ = [room for room, nodes in sets.items() if room > 0 and nodes & ~used]
            if not open_:
                return None
            enough = [room for room in open_ if room >= gpus]
            room = min(enough) if enough else max(open_)
            nodes = sets[room] & ~used
            first = nodes & -nodes
            found.append((first.bit_length() - 1, min(room, gpus)))
            if enough:
                return found
            used |= first
            gpus -= room

    def take(self, kind: Kind, parts: Iterable[tuple[int, int]]) -> None:
        """Give a job of this kind these parts."""
        cpus, memory = kind
        for node, gpus in parts:
            self._gpus[node] -= gpus
            self._cpus[node] -= gpus * cpus
            self._memory[node] -= gpus * memory
            self._changed.append(node)

    def _now(self, kind: Kind) -> Sequence[int]:
        """Return the room on each node, with what was taken since the kind was last asked for."""
        room, sets, seen = self._room[kind], self._sets[kind], self._seen[kind]
        if seen == len(self._changed):
            return room
        self._seen[kind] = len(self._changed)
        for node in set(self._changed[seen:]):
            fits = self._fits(node, kind)
            if fits != room[node]:
                bit = 1 << node
                sets[room[node]] ^= bit
                sets[fits] = sets.get(fits, 0) ^ bit
                room[node] = fits
        return room

    def _fits(self, node: int, kind: Kind) -> int:
        fits, (cpus, memory) = self._gpus[node], kind
        if cpus:
            fits = min(fits, self._cpus[node] // cpus)
        if memory:
            fits = min(fits, self._memory[node] // memory)
        return fits
