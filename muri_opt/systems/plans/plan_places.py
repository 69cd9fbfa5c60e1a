"""Where the parts of plans may be: sets of nodes, each a *kind* of place that options are for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Job, Plan, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.capacity.node_sets import Demand, node_sets
from muri_opt.systems.plans.plan_parts import Entry, Part, is_home, nodes_with_room

Bools = NDArray[np.bool_]


class PlanPlaces:
    """The kinds of places of a round: kind 0 are all nodes, then come those of each GPU type, then what jobs ask for.

    Where jobs ask for nothing, a plan is for the nodes of its GPU type. Else all parts of it are inside one of the sets
    of nodes that its job may start in, which never have two GPU types: a plan of one part has one kind of place for all
    of these sets together, a plan of several parts one for each set, and one on too few or too many nodes has none.
    """

    def __init__(self, round_: Round) -> None:
        self._round = round_
        self._types = [node.gpu_type for node in round_.cluster.nodes]
        self._asked = node_sets(round_)
        self._rows: list[Bools] = []
        self._known: dict[bytes, int] = {}
        everywhere = self._row(np.ones(len(self._types), dtype=np.bool_))
        self._of_types: dict[tuple[str, ...] | None, int | None] = {None: everywhere}
        for gpu_type in dict.fromkeys(self._types):
            if gpu_type is not None:
                self._of_types[gpu_type,] = self._row(self._mask((gpu_type,)))
        self._able: dict[tuple[int, Part], int] = {}
        self._sets: dict[tuple[int, tuple[str, ...] | None, bool], tuple[int, ...]] = {}

    @property
    def are_asked(self) -> bool:
        """Whether jobs may not start just anywhere."""
        return self._asked is not None

    @property
    def hosts(self) -> Bools:
        """``[k, s]``: whether a part of an option of kind k may be on node s."""
        return np.array(self._rows, dtype=np.bool_).reshape(len(self._rows), len(self._types))

    def by_type(self, plan: Plan) -> int | None:
        """Return the kind of all nodes of the GPU types that a plan is for, or ``None`` where there are none.

        A job that runs there may stay there, whatever it asks of a start.
        """
        return self.of_types(plan.types)

    def of_types(self, types: tuple[str, ...] | None) -> int | None:
        """Return the kind of all nodes of some GPU types, or ``None`` where there are none."""
        if types not in self._of_types:
            mask = self._mask(types or ())
            self._of_types[types] = self._kind(mask) if mask.any() else None
        return self._of_types[types]

    def kinds(self, position: int, entry: Entry) -> tuple[int, ...]:
        """Return the kinds of places where a job may start by a plan, of those that have room in the empty cluster."""
        wanted = self._wanted(position, entry.plan)
        return tuple(kind for kind in wanted if self._holds(kind, entry))

    def keeps(self, job: Job, entry: Entry) -> bool:
        """Return whether a running job has room for a plan where it is, whatever it asks of a start."""
        kind = self.by_type(entry.plan)
        if kind is None or not is_home(job, entry):
            return False
        place = self._round.cluster.node_index
        held = self._inside([place[node] for node in job.placement or ()])
        if entry.larger is not None:
            most = self._inside([place[node] for node, gpus in (job.placement or {}).items() if gpus > entry.part.gpus])
            if nodes_with_room(self._round, entry.larger.part, most) < entry.larger.number:
                return False
        return nodes_with_room(self._round, entry.part, held & self._rows[kind]) == entry.plan.nodes

    def _wanted(self, position: int, plan: Plan) -> tuple[int, ...]:
        kind = self.by_type(plan)
        if kind is None:
            return ()
        if self._asked is None:
            return (kind,)
        shape = self._round.jobs[position].nodes
        if shape is not None and not shape.least <= plan.nodes <= (shape.most or plan.nodes):
            return ()
        key = int(self._asked.kind[position]), plan.types, plan.nodes == 1
        if key not in self._sets:
            self._sets[key] = self._parts(self._asked.of(position), self._rows[kind], together=plan.nodes == 1)
        return self._sets[key]

    def _parts(self, demand: Demand, here: Bools, *, together: bool) -> tuple[int, ...]:
        """Return the kinds of the sets of nodes that jobs may start in, as far as they are ``here``."""
        masks = [self._inside(nodes) & here for nodes in demand.sets]
        masks = [mask for mask in masks if mask.any()]
        if together and masks:
            masks = [np.logical_or.reduce(masks)]
        return tuple(self._kind(mask) for mask in masks)

    def _holds(self, kind: int, entry: Entry) -> bool:
        """Return whether the nodes of a kind have room for all parts of a plan in the empty cluster."""
        if self._count(kind, entry.part) < entry.plan.nodes:
            return False
        return entry.larger is None or self._count(kind, entry.larger.part) >= entry.larger.number

    def _count(self, kind: int, part: Part) -> int:
        """Return how many nodes of a kind have room for a part in the empty cluster."""
        if (kind, part) not in self._able:
            self._able[kind, part] = nodes_with_room(self._round, part, self._rows[kind])
        return self._able[kind, part]

    def _inside(self, nodes: Ints | list[int]) -> Bools:
        mask = np.zeros(len(self._types), dtype=np.bool_)
        mask[nodes] = True
        return mask

    def _mask(self, types: tuple[str, ...]) -> Bools:
        return np.array([gpu_type in types for gpu_type in self._types], dtype=np.bool_)

    def _kind(self, mask: Bools) -> int:
        """Return the kind of some nodes, a new one if it is not known."""
        known = self._known.get(mask.tobytes())
        return self._row(mask) if known is None else known

    def _row(self, mask: Bools) -> int:
        self._known.setdefault(mask.tobytes(), len(self._rows))
        self._rows.append(mask)
        return len(self._rows) - 1
