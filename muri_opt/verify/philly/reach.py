"""How close together a gang could sit: in an empty cluster, or on the nodes where it may start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from muri_opt.verify.amounts import Need, Room, smallest_node_count
from muri_opt.verify.demands import Asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How many nodes of each room an empty cluster has, in all and in each rack; racks alike are listed once."""

    racks: tuple[Counter[Room], ...]
    nodes: Counter[Room]

    @classmethod
    def of(cls, racks: Iterable[Counter[Room]]) -> Layout:
        """Return the layout of these racks."""
        unlike: dict[frozenset[tuple[Room, int]], Counter[Room]] = {}
        nodes: Counter[Room] = Counter()
        for rack in racks:
            unlike[frozenset(rack.items())] = rack
            nodes.update(rack)
        return cls(racks=tuple(unlike.values()), nodes=nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How close together a gang could sit in a cluster: whether it fits, also in one rack, and on how few nodes."""

    fits: bool
    in_rack: bool
    fewest: int

    @classmethod
    def of(cls, layout: Layout, need: Need) -> Reach:
        """Return the reach of a gang in an empty cluster."""
        counts = [smallest_node_count(rack, need) for rack in layout.racks]
        able = [count for count in counts if count is not None]
        if able:
            return cls(fits=True, in_rack=True, fewest=min(able))
        count = smallest_node_count(layout.nodes, need)
        return cls(fits=count is not None, in_rack=False, fewest=count or 0)

    @classmethod
    def asked(cls, asked: Asked, need: Need, rooms: Sequence[Room], racks: Sequence[int]) -> Reach:
        """Return the reach of a gang on the nodes where it may start; one that may start nowhere is together anyway."""
        count = inside_racks(asked, racks).node_count(rooms, need)
        if count is not None:
            return cls(fits=True, in_rack=True, fewest=count)
        count = asked.node_count(rooms, need)
        return cls(fits=count is not None, in_rack=False, fewest=len(rooms) if count is None else count)

    def spread(self, nodes: int, racks: int) -> int:
        """Return how far apart a gang sits on so many nodes of so many racks: 0 together, 1 in a rack, 2 anywhere."""
        if self.in_rack and racks > 1:
            return 2
        if nodes <= self.fewest:
            return 0
        return 1 if self.in_rack else 2


def inside_racks(asked: Asked, racks: Sequence[int]) -> Asked:
    """Return what a job asks that has to be in one rack, too."""
    parts: dict[tuple[int, int], list[int]] = {}
    for place, part in enumerate(asked.parts):
        for node in part:
            parts.setdefault((place, racks[node]), []).append(node)
    return replace(asked, parts=tuple(map(tuple, parts.values())))
