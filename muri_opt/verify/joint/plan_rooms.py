"""What nodes have for gangs, and for plans, that may start in some parts of the cluster."""

from __future__ import annotations

from collections.abc import Sequence

from muri_opt.rounds import Round
from muri_opt.verify.amounts import Room
from muri_opt.verify.counted_parts import CountedParts
from muri_opt.verify.joint.plans import PlanEntry
from muri_opt.verify.open_nodes import Parts


class PlanRooms(CountedParts):
    """The ``rooms`` of the nodes of a round; it is asked for plans as well, each of which is for some GPU types."""

    def __init__(self, round_: Round, rooms: Sequence[Room]) -> None:
        super().__init__(rooms)
        self._types = [node.gpu_type for node in round_.cluster.nodes]
        self._of_types: dict[tuple[int, tuple[str, ...]], tuple[Parts, Parts]] = {}
        """Parts, which are kept for their identity, and what there is of them with GPUs of some types."""
        self._plans: dict[tuple[object, ...], bool] = {}

    def can_start_by(self, where: Parts, one: PlanEntry) -> bool:
        """Return whether a job could start by a plan: the nodes of one part have room for all pieces, one on each."""
        plan = one.plan
        key = id(where), plan.types, plan.gpus, plan.nodes, one.piece, one.wide
        if key not in self._plans:
            wide, larger = (one.piece, 0) if one.wide is None else (one.wide, plan.gpus % plan.nodes)
            parts = where if plan.types is None else self._with_types(where, plan.types)
            self._plans[key] = any(
                part.rooms.nodes_with(one.piece) >= plan.nodes and part.rooms.nodes_with(wide) >= larger
                for part in self._differing(parts)
            )
        return self._plans[key]

    def _with_types(self, parts: Parts, types: tuple[str, ...]) -> Parts:
        """Return the nodes of each part that have GPUs of some types."""
        key = id(parts), types
        if key not in self._of_types:
            some = (tuple(node for node in part if self._types[node] in types) for part in parts)
            self._of_types[key] = parts, tuple(some)
        return self._of_types[key][1]
