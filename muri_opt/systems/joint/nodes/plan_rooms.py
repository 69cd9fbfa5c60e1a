"""Which plans of jobs find room for all of their parts, those of many jobs at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.eligibility import Bools
from muri_opt.rounds.memoise import recalled
from muri_opt.rounds.node_bits import rows_of_bits
from muri_opt.systems.capacity.rooms_in_sets import nodes_inside
from muri_opt.systems.joint.jobs.models import Models
from muri_opt.systems.joint.nodes.regions import Region, Regions
from muri_opt.systems.plans.plan_parts import Part

Types = tuple[str, ...] | None
Free = tuple[Ints, Ints, Ints]
"""GPUs, milli-CPUs and MiB of each node."""


class PlanRooms:
    """The plans of the jobs of a round, ready to be looked at in several states of the cluster.

    A node with room for a larger part has room for a smaller one: it is enough to count the nodes for either. Plans
    that need the same in the same regions are counted once.
    """

    def __init__(self, models: Models, regions: Regions) -> None:
        each = [models.plans_of(job).shapes for job in range(len(models))]
        self._count = np.array([*map(len, each)], dtype=np.int64)
        self._first = np.cumsum(self._count) - self._count
        every = [*chain.from_iterable(each)]
        job = np.repeat(np.arange(len(each)), self._count)
        code = np.fromiter(map(id, every), dtype=np.int64, count=len(every))
        code = np.unique(code, return_inverse=True)[1] * len(regions.of_kind) + regions.kind[job]
        _, first, self._shape = np.unique(code, return_index=True, return_inverse=True)
        shapes = [every[at] for at in first.tolist()]
        open_to: dict[tuple[int, Types], tuple[Region, ...]] = {}
        where = list[tuple[Region, ...]]()
        for shape, one in zip(shapes, job[first].tolist(), strict=True):
            key = regions.kinds[one], shape.types
            if key not in open_to:
                open_to[key] = regions.of_plan(one, shape.types)
            where.append(open_to[key])
        self._many = np.array([len(shape.parts) for shape in shapes], dtype=np.int64)
        self._smallest = _rows([shape.parts[-1] for shape in shapes])
        self._largest = _rows([shape.parts[0] for shape in shapes])
        self._many_largest = np.array([shape.parts.count(shape.parts[0]) for shape in shapes], dtype=np.int64)
        place = {region: at for at, region in enumerate(dict.fromkeys(chain.from_iterable(where)))}
        self._inside = rows_of_bits([*place], regions.inside.shape[1])
        self._regions = np.array([place[one] for some in where for one in some], dtype=np.int64)
        self._plan = np.repeat(np.arange(len(shapes)), [len(some) for some in where])
        """The plan that differs from others, by its number, of each of the ``_regions``."""

    def found(self, free: Free, jobs: Sequence[int]) -> list[list[bool]]:
        """Return for each of some jobs which of its plans find room, in its order of them."""
        count = self._count[jobs]
        ends = np.cumsum(count)
        own = self._shape[np.arange(int(count.sum())) + np.repeat(self._first[jobs] - ends + count, count)]
        differ, alike = np.unique(own, return_inverse=True)
        well: list[bool] = self._with_room(free, differ)[alike].tolist()
        return [well[start:end] for start, end in pairwise([0, *ends.tolist()])]

    def _with_room(self, free: Free, plans: Ints) -> Bools:
        """Return which of some plans, by their numbers in ascending order, have room in one of their regions."""
        asked = np.zeros(len(self._many), dtype=np.bool_)
        asked[plans] = True
        looks = np.flatnonzero(asked[self._plan])
        plan, row = self._plan[looks], self._regions[looks]
        enough = nodes_inside(free, self._smallest[plan], self._inside, row) >= self._many[plan]
        two_sizes = np.flatnonzero(enough & (self._many_largest[plan] < self._many[plan]))
        of_two = plan[two_sizes]
        large = nodes_inside(free, self._largest[of_two], self._inside, row[two_sizes])
        enough[two_sizes] = large >= self._many_largest[of_two]
        found = np.zeros(len(self._many), dtype=np.bool_)
        found[plan[enough]] = True
        return found[plans]


@recalled
def plan_rooms(models: Models, round_: Round) -> PlanRooms:
    """Return the plans of the jobs of a round, which have these models."""
    return PlanRooms(models, Regions.of(round_))


def _rows(parts: Sequence[Part]) -> Ints:
    """Return the GPUs, milli-CPUs and MiB of parts."""
    return np.fromiter(chain.from_iterable(parts), dtype=np.int64, count=3 * len(parts)).reshape(-1, 3)
