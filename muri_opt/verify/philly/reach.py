"""How close together a gang could sit: in an empty cluster, or on the nodes where it may start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from muri_opt.verify.amounts import Need, Room, smallest_node_count
from muri_opt.verify.counted_parts import CountedParts
from muri_opt.verify.demands import Asked
from muri_opt.verify.open_nodes import Parts


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
    def asked(cls, asked: Asked, need: Need, counted: CountedParts, racks: RackParts) -> Reach:
        """Return the reach of a gang on the nodes where it may start; one that may start nowhere is together anyway."""
        count = counted.node_count(racks.inside(asked), need)
        if count is not None:
            return cls(fits=True, in_rack=True, fewest=count)
        count = counted.node_count(asked, need)
        return cls(fits=count is not None, in_rack=False, fewest=len(racks) if count is None else count)

    def spread(self, nodes: int, racks: int) -> int:
        """Return how far apart a gang sits on so many nodes of so many racks: 0 together, 1 in a rack, 2 anywhere."""
        if self.in_rack and racks > 1:
            return 2
        if nodes <= self.fewest:
            return 0
        return 1 if self.in_rack else 2


class RackParts:
    """The parts of the cluster by racks; jobs that ask for the same nodes are told the same objects."""

    def __init__(self, racks: Sequence[int]) -> None:
        self._racks = np.array(racks, dtype=np.int64)
        self._known: dict[int, tuple[Parts, Parts]] = {}

    def __len__(self) -> int:
        """How many nodes there are."""
        return len(self._racks)

    def inside(self, asked: Asked) -> Asked:
        """Return what a job asks that has to be in one rack, too."""
        shared = id(asked.parts)  # kept with what is known, so that no others ever have it
        if shared not in self._known:
            self._known[shared] = asked.parts, tuple(one for part in asked.parts for one in self._apart(part))
        return replace(asked, parts=self._known[shared][1])

    def _apart(self, part: tuple[int, ...]) -> list[tuple[int, ...]]:
        rack = self._racks[[*part]]
        if (rack == rack[:1]).all():
            return [part]
        line = np.argsort(rack, kind="stable")
        ends = np.flatnonzero(np.diff(rack[line])) + 1
        return [tuple(some.tolist()) for some in np.split(np.array(part)[line], ends)]
