"""What nodes have for jobs that may start in some parts of the cluster: each part is counted once for all jobs."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.amounts import CountedRooms, Need, Room, empty_rooms, sizes_of, whole
from muri_opt.verify.demands import Asked
from muri_opt.verify.open_nodes import Parts


class _Part(NamedTuple):
    """The nodes, which are kept so that no others ever have their identity; their rooms counted, and their GPUs."""

    nodes: tuple[int, ...]
    rooms: CountedRooms
    gpus: int


class _Parts(NamedTuple):
    """Parts, which are kept likewise; one for each of their counted rooms that differ, and the GPUs of all."""

    parts: Parts
    differing: list[_Part]
    gpus: int


class CountedParts:
    """The ``rooms`` of nodes, counted for each part that is asked for.

    Parts are known by their identity: those of jobs that ask for the same are one object.
    """

    def __init__(self, rooms: Sequence[Room]) -> None:
        numbers = {room: number for number, room in enumerate(dict.fromkeys(rooms))}
        self._rooms, self._sizes = [*numbers], sizes_of(numbers)
        self._kind = np.array([numbers[room] for room in rooms], dtype=np.int64)
        self._of_node = rooms
        self._known: dict[int, _Part] = {}
        self._same: dict[bytes, CountedRooms] = {}
        """Counted rooms of parts by how many nodes of each room they have: most racks are alike."""
        self._together: dict[int, _Parts] = {}
        """What is known of parts together, by their identity."""

    def holding(self, asked: Asked, need: Need) -> list[Counter[int]]:
        """Return how many nodes of each part hold so many GPUs of a job, of any size, by that number."""
        return [self._of(part).rooms.holding(need) for part in asked.parts]

    def node_count(self, asked: Asked, need: Need) -> int | None:
        """Return on how few nodes a job could start, or ``None``."""
        every = self._differing(asked.parts)
        found = (asked.nodes_among(part.rooms.holding(need), need.gpus) for part in every)
        return min((number for number in found if number is not None), default=None)

    def can_start(self, asked: Asked, need: Need) -> bool:
        """Return whether a job could start, on however many nodes; who asks for no shape needs room for all its GPUs.

        Where jobs need very many different amounts that is told sooner than on how few nodes they could start.
        """
        if asked.shaped(need.gpus):
            return self.node_count(asked, need) is not None
        return any(part.rooms.together(need) >= need.gpus for part in self._differing(asked.parts))

    def node_count_with(
        self, asked: Asked, need: Need, changed: Mapping[int, Room], added: Sequence[Room]
    ) -> int | None:
        """Return the same where some nodes, by their positions, have other rooms, and the job may use further ones."""
        any_size, counts = whole(need), list[int]()
        further = Counter([room.holds(any_size) for room in added])
        seen = set[int]()
        for part in asked.parts or ((),):
            rooms = self._of(part).rooms
            here = [node for node in changed if _has(part, node)]
            if not here:
                if id(rooms) in seen:
                    continue
                seen.add(id(rooms))
            holding = rooms.holding(need) + further
            for node in here:
                holding[self._of_node[node].holds(any_size)] -= 1
                holding[changed[node].holds(any_size)] += 1
            found = asked.nodes_among(holding, need.gpus)
            counts += [] if found is None else [found]
        return min(counts, default=None)

    def gpus(self, parts: Parts) -> int:
        """Return the GPUs of all of the parts."""
        return self._all(parts).gpus

    def _differing(self, parts: Parts) -> list[_Part]:
        """Return one of the parts for each of their counted rooms that differ."""
        return self._all(parts).differing

    def _all(self, parts: Parts) -> _Parts:
        known = self._together.get(id(parts))
        if known is None:
            every = [self._of(part) for part in parts]
            unlike = {id(part.rooms): part for part in every}
            gpus = sum([part.gpus for part in every])
            known = self._together[id(parts)] = _Parts(parts, [*unlike.values()], gpus)
        return known

    def _of(self, part: tuple[int, ...]) -> _Part:
        known = self._known.get(id(part))
        if known is None:
            nodes = np.bincount(self._kind[[*part]], minlength=len(self._rooms))
            counts = nodes.tobytes()
            rooms = self._same.get(counts)
            if rooms is None:
                rooms = self._same[counts] = CountedRooms.of_some(self._rooms, self._sizes, nodes)
            known = self._known[id(part)] = _Part(part, rooms, int(nodes @ self._sizes[:, 0]))
        return known


def _has(part: tuple[int, ...], node: int) -> bool:
    """Return whether a node is among those of a part, which are in their order."""
    place = bisect_left(part, node)
    return place < len(part) and part[place] == node


@recalled
def empty_parts(round_: Round) -> CountedParts:
    """Return what the nodes of the empty cluster have."""
    return CountedParts(empty_rooms(round_))
