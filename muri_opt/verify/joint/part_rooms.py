"""What nodes have for jobs that may start in some parts of the cluster; equal questions are answered once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.verify.amounts import NO_LIMIT, Need, Room
from muri_opt.verify.joint.plans import PlanEntry
from muri_opt.verify.open_nodes import Parts
from muri_opt.verify.plans.plan_parts import nodes_with_room

Ints = NDArray[np.int64]
Types = tuple[str, ...] | None
"""GPU types that a plan is for, ``None`` for any."""


class PartRooms:
    """The ``rooms`` of the nodes of a round.

    Parts, of which a job may start in one, are known by their identity, and must not go while it is asked: those of
    jobs that ask for the same are one object.
    """

    def __init__(self, round_: Round, rooms: Sequence[Room]) -> None:
        self._types = [node.gpu_type for node in round_.cluster.nodes]
        self._sizes: Ints = np.array([room.sizes for room in rooms], dtype=np.int64).reshape(-1, 3)
        self._rows: dict[tuple[int, Types], list[Ints]] = {}
        self._plans: dict[tuple[object, ...], bool] = {}
        self._needs: dict[tuple[int, Need], bool] = {}
        self._gpus: dict[int, int] = {}

    def hold_plan(self, where: Parts, one: PlanEntry) -> bool:
        """Return whether the nodes of one part have room for all pieces of a plan, one on each."""
        plan = one.plan
        key = id(where), plan.types, plan.gpus, plan.nodes, one.piece, one.wide
        if key not in self._plans:
            wide, larger = (one.piece, 0) if one.wide is None else (one.wide, plan.gpus % plan.nodes)
            self._plans[key] = any(
                nodes_with_room(rows, one.piece) >= plan.nodes and nodes_with_room(rows, wide) >= larger
                for rows in self._rows_of(where, plan.types)
            )
        return self._plans[key]

    def hold(self, where: Parts, need: Need) -> bool:
        """Return whether one part holds a gang, spread over its nodes in any way."""
        key = id(where), need
        if key not in self._needs:
            self._needs[key] = any(_held(rows, need) >= need.gpus for rows in self._rows_of(where, None))
        return self._needs[key]

    def gpus(self, where: Parts) -> int:
        """Return the GPUs of all nodes of some parts."""
        if id(where) not in self._gpus:
            nodes = sorted({node for part in where for node in part})
            self._gpus[id(where)] = min(NO_LIMIT, int(self._sizes[nodes, 0].sum()))
        return self._gpus[id(where)]

    def _rows_of(self, where: Parts, types: Types) -> list[Ints]:
        """Return what the nodes of each part have, of those with GPUs of some types."""
        key = id(where), types
        if key not in self._rows:
            of_types = ([node for node in part if types is None or self._types[node] in types] for part in where)
            self._rows[key] = [self._sizes[nodes] for nodes in of_types]
        return self._rows[key]


def _held(rows: Ints, need: Need) -> int:
    """Return how many GPUs of a gang fit on some nodes, as far as it has them."""
    most = np.minimum(rows[:, 0], need.gpus)
    for at, each in ((1, need.milli), (2, need.mebibytes)):
        if each:
            most = np.minimum(most, rows[:, at] // each)
    return int(np.maximum(most, 0).sum())
