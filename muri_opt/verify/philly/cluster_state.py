"""What is free while jobs are put down and taken away, and whether a gang could sit there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from muri_opt.verify.amounts import Need, Room, smallest_node_count
from muri_opt.verify.counted_parts import CountedParts
from muri_opt.verify.demands import Asked
from muri_opt.verify.philly.job_status import Held, Reading, Stand
from muri_opt.verify.philly.reach import Reach
from muri_opt.verify.philly.rules import APART

Racks = dict[int, Counter[Room]]
"""For each rack how many nodes it has of each room."""


class ClusterState:
    """The nodes of a cluster with the jobs on them, counted by what they have free.

    ``shared`` are nodes that one more gang may share, ``empty`` those without any: a gang that is alone needs these.
    Nodes without a free GPU are not counted.
    """

    def __init__(self, reading: Reading, places: Mapping[int, Held]) -> None:
        self.reading = reading
        self.rooms = list(reading.rooms)
        self.residents: list[set[int]] = [set() for _ in self.rooms]
        self.shared: Racks = {rack: Counter() for rack in reading.racks}
        self.empty: Racks = {rack: Counter() for rack in reading.racks}
        self.places: dict[int, Held] = {}
        self.free_gpus = sum(room.gpus for room in self.rooms)
        """GPUs that nobody has."""
        self._counted: dict[bool | None, CountedParts] = {}
        """What is free for gangs that are alone and for others, and (``None``) at all, until somebody comes or goes."""
        for job, held in places.items():
            self._occupy(job, held, 1)
            self.places[job] = held
        for node in range(len(self.rooms)):
            self._count(node, 1)

    def put(self, job: int, held: Held) -> None:
        """Put a job on nodes, whether there is room or not."""
        self._change(job, held, 1)
        self.places[job] = held

    def take(self, job: int) -> Held:
        """Take a job from its nodes; return where it was."""
        held = self.places.pop(job)
        self._change(job, held, -1)
        return held

    def is_crowded(self, node: int) -> bool:
        """Return whether a node is given more jobs than it has room for, or than may be on it together."""
        alone = any(self._is_alone(job) for job in self.residents[node])
        return not self.rooms[node].possible or (alone and len(self.residents[node]) > 1)

    def could_place(self, stand: Stand, level: int, reach: Reach, extra: tuple[int, Room] | None = None) -> bool:
        """Return whether a gang could sit on what is free, no further apart than ``level``.

        ``reach`` says what is close for it; ``extra`` is one more node, with its rack.
        """
        if level <= APART:
            return False
        need = stand.need
        if stand.asked is not None:
            return extra is None and self._could_place(stand.asked, need, level, reach)
        racks = self.empty if self.reading.tenancy.is_alone(need.gpus) else self.shared
        if extra is not None:
            rack, room = extra
            racks = {**racks, rack: racks.get(rack, Counter()) + Counter([room])}
        if level == 2:
            most = sum(room.holds(need) * nodes for rooms in racks.values() for room, nodes in rooms.items())
            return most >= need.gpus
        if not reach.in_rack:
            everywhere: Counter[Room] = sum(racks.values(), Counter())
            return _sits(everywhere, need, reach.fewest)
        nodes = len(self.rooms) + 1 if level else reach.fewest
        return any(_sits(rooms, need, nodes) for rooms in racks.values())

    def could_place_with(self, asked: Asked, need: Need, level: int, added: Room) -> bool:
        """Return whether a gang could sit on what is free where it may start and a further node like those.

        With it others may be closer together than before: a gang that may not be anywhere must find all on that node.
        """
        if level == 2:
            alone = self.reading.tenancy.is_alone(need.gpus)
            return asked.node_count(self._open_rooms(alone=alone), need, [added]) is not None
        return replace(asked, parts=((),)).node_count([], need, [added]) == 1

    def _open_rooms(self, *, alone: bool) -> list[Room]:
        """Return what is free on each node for a gang that may share it with those that are there."""
        return [
            room._replace(gpus=0) if (residents if alone else any(map(self._is_alone, residents))) else room
            for room, residents in zip(self.rooms, self.residents, strict=True)
        ]

    def _could_place(self, asked: Asked, need: Need, level: int, reach: Reach) -> bool:
        """Return whether a gang could sit on what is free of the nodes where it may start."""
        alone = self.reading.tenancy.is_alone(need.gpus)
        if alone not in self._counted:
            self._counted[alone] = CountedParts(self._open_rooms(alone=alone))
        if reach.in_rack and level < 2:
            asked = self.reading.rack_parts.inside(asked)
        count = self._counted[alone].node_count(asked, need)
        return count is not None and (count <= reach.fewest or level == 2 or (level == 1 and reach.in_rack))

    def free_for(self, asked: Asked | None) -> int:
        """Return the GPUs that nobody has, of the nodes on which a gang may start."""
        if asked is None:
            return self.free_gpus
        if None not in self._counted:
            self._counted[None] = CountedParts(self.rooms)
        return self._counted[None].gpus(asked.parts)

    def _change(self, job: int, held: Held, sign: int) -> None:
        for node in held:
            self._count(node, -1)
        self._occupy(job, held, sign)
        for node in held:
            self._count(node, 1)

    def _occupy(self, job: int, held: Held, sign: int) -> None:
        """Change what nodes have free, and who is on them."""
        self._counted.clear()
        need = self.reading.stands[job].need
        self.free_gpus -= sign * sum(held.values())
        for node, gpus in held.items():
            self.rooms[node] = self.rooms[node].without(need, sign * gpus)
            if sign > 0:
                self.residents[node].add(job)
            else:
                self.residents[node].remove(job)

    def _count(self, node: int, sign: int) -> None:
        room, rack, residents = self.rooms[node], self.reading.racks[node], self.residents[node]
        if room.gpus <= 0:
            return
        if not residents:
            _add(self.empty[rack], room, sign)
        if not any(self._is_alone(job) for job in residents):
            _add(self.shared[rack], room, sign)

    def _is_alone(self, job: int) -> bool:
        return self.reading.tenancy.is_alone(self.reading.stands[job].need.gpus)


def _add(rooms: Counter[Room], room: Room, sign: int) -> None:
    """Count a node more or less of a room; one that no node has is not kept."""
    rooms[room] += sign
    if not rooms[room]:
        del rooms[room]


def _sits(rooms: Counter[Room], need: Need, most: int) -> bool:
    """Return whether a gang can sit on at most so many of the nodes."""
    count = smallest_node_count(rooms, need)
    return count is not None and count <= most
