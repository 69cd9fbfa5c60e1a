"""How close together gangs could sit if all jobs were gone that anybody may touch: what is left out even then."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from muri_opt.verify.amounts import Need, Room, smallest_node_count
from muri_opt.verify.philly.job_status import Layout, Reading, Stand, counted_rooms


class Way(NamedTuple):
    """The spreads that rooms allow, the fewest GPUs on each node of a gang that sits together, the most on any node."""

    spreads: tuple[int, ...]
    least: int
    most: int


class Ways:
    """What gangs could have of rooms without the jobs nobody can touch; equal needs are looked at once."""

    def __init__(self, reading: Reading, rooms: Iterable[Room]) -> None:
        self._layout = Layout.of(counted_rooms(reading.racks, rooms).values())
        self._known: dict[Need, Way] = {}

    def of(self, stand: Stand) -> Way:
        """Return how a job may sit that starts or is moved."""
        if stand.need not in self._known:
            self._known[stand.need] = self._look(stand)
        found = self._known[stand.need]
        return found._replace(spreads=tuple(spread for spread in found.spreads if spread <= stand.level))

    def _look(self, stand: Stand) -> Way:
        need, reach = stand.need, stand.reach
        everywhere = smallest_node_count(self._layout.nodes, need)
        counts = [smallest_node_count(rack, need) for rack in self._layout.racks] if reach.in_rack else []
        able = [count for count in counts if count is not None]
        closest = min(able, default=None) if reach.in_rack else everywhere
        spreads = [0] if closest is not None and closest <= reach.fewest else []
        spreads += [1] if able else []
        spreads += [2] if everywhere is not None else []
        most = max((room.holds(need) for room in self._layout.nodes), default=0)
        # A gang on at most so many nodes has on each of them what the others, however full, cannot hold.
        return Way(tuple(spreads), max(1, need.gpus - (reach.fewest - 1) * most), most)
