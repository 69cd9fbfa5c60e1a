"""What nodes have for jobs that may start in some parts of the cluster; equal questions are answered once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.verify.amounts import NO_LIMIT, Need, Room, sizes_of
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
        self._sizes: Ints = np.ascontiguousarray(sizes_of(rooms).T)
        self._of_types: dict[tuple[int, Types], list[Ints]] = {}
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
                nodes_with_room(sizes, one.piece) >= plan.nodes and nodes_with_room(sizes, wide) >= larger
                for sizes in self._sizes_of(where, plan.types)
            )
        return self._plans[key]

    def hold(self, where: Parts, need: Need) -> bool:
        """Return whether one part holds a gang, spread over its nodes in any way."""
        key = id(where), need
        if key not in self._needs:
            self._needs[key] = any(_held(sizes, need) >= need.gpus for sizes in self._sizes_of(where, None))
        return self._needs[key]

    def gpus(self, where: Parts) -> int:
        """Return the GPUs of all nodes of some parts."""
        if id(where) not in self._gpus:
            nodes = sorted({node for part in where for node in part})
            self._gpus[id(where)] = min(NO_LIMIT, int(self._sizes[0, nodes].sum()))
        return self._gpus[id(where)]

    def _sizes_of(self, where: Parts, types: Types) -> list[Ints]:
        """Return what the nodes of each part have, of those with GPUs of some types, a row for each amount."""
        key = id(where), types
        if key not in self._of_types:
            of_types = ([node for node in part if types is None or self._types[node] in types] for part in where)
            self._of_types[key] = [self._sizes[:, nodes] for nodes in of_types]
        return self._of_types[key]


def _held(sizes: Ints, need: Need) -> int:
    """Return how many GPUs of a gang fit on some nodes, as far as it has them."""
    most, *others = sizes
    most = np.minimum(most, need.gpus)
    for has, each in zip(others, (need.milli, need.mebibytes), strict=True):
        if each:
            most = np.minimum(most, has // each)
    return int(np.maximum(most, 0).sum())
