"""Where the parts of plans may be, by the verifier's own reading: sets of nodes that all parts of a job are inside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from muri_opt.rounds import Job, Round
from muri_opt.verify.demands import Asked, asked_of
from muri_opt.verify.plans.plan_parts import Entry, Ints, NodeAmounts, Piece, nodes_with_room

Spot = frozenset[int]
"""Positions of nodes."""


@dataclass(frozen=True, kw_only=True)
class Places:
    """The nodes of a round, what they have left, and what jobs ask of them; ``None`` where no job asks for anything."""

    floor: NodeAmounts
    asked: dict[str, Asked] | None
    _spots: dict[tuple[object, ...], tuple[Spot, ...]] = field(default_factory=dict)
    _counts: dict[tuple[Spot, Piece], int] = field(default_factory=dict)
    _free: dict[Spot, Ints] = field(default_factory=dict)
    """What the nodes of a set have left, a row for each amount."""

    @classmethod
    def of(cls, round_: Round) -> Places:
        """Return the empty cluster."""
        return cls(floor=NodeAmounts.of(round_), asked=asked_of(round_))

    def spots(self, job: Job, entry: Entry) -> tuple[Spot, ...]:
        """Return the sets of nodes that a job may start by a plan in, whatever is free there.

        Each is of one GPU type, and in one unit of a level if the job asks for that; they are one for a plan on a
        single node. Where no job asks for anything, it is all nodes of the plan's GPU type.
        """
        types, alone, shape = entry.plan.types, entry.plan.nodes == 1, job.nodes
        if shape is not None and (
            entry.plan.nodes < shape.least or entry.plan.nodes > (shape.most or entry.plan.nodes)
        ):
            return ()
        parts = None if self.asked is None else self.asked[job.id].parts
        key = types, alone, None if parts is None else id(parts)
        if key not in self._spots:
            fit = {place for place, kind in enumerate(self.floor.types) if types is None or kind in types}
            every = [fit] if parts is None else [fit.intersection(part) for part in parts]
            together = [set[int]().union(*every)] if alone else every
            self._spots[key] = tuple(frozenset(part) for part in together if part)
        return self._spots[key]

    def open_spots(self, job: Job, entry: Entry) -> tuple[Spot, ...]:
        """Return those of the sets that have room for all parts of the plan now."""
        return tuple(spot for spot in self.spots(job, entry) if self.holds(spot, entry))

    def holds(self, spot: Spot, entry: Entry) -> bool:
        """Return whether there is room for all parts of a plan now; a node for a larger one is one for a smaller."""
        if self.count(spot, entry.piece) < entry.plan.nodes:
            return False
        return entry.wide is None or self.count(spot, entry.wide) >= entry.plan.gpus % entry.plan.nodes

    def count(self, spot: Spot, piece: Piece) -> int:
        """Return how many of the nodes have room for a piece now."""
        found = self._counts.get((spot, piece))
        if found is None:
            found = self._counts[spot, piece] = nodes_with_room(self._left(spot), piece)
        return found

    def gpus(self, spot: Spot) -> int:
        """Return the free GPUs of nodes."""
        return int(self._left(spot)[0].sum())

    def _left(self, spot: Spot) -> Ints:
        if spot not in self._free:
            self._free[spot] = np.ascontiguousarray(self.floor.free[sorted(spot)].T)
        return self._free[spot]

    def keeps(self, held: Mapping[int, int], entry: Entry) -> bool:
        """Return whether a plan has room on the nodes on which a job holds so many GPUs, and is for these."""
        types = entry.plan.types
        if entry.wide is not None:
            most = frozenset(node for node, gpus in held.items() if gpus == entry.wide.gpus)
            if self.count(most, entry.wide) < len(most):
                return False
        fit = frozenset(node for node in held if types is None or self.floor.types[node] in types)
        return self.count(fit, entry.piece) == entry.plan.nodes
