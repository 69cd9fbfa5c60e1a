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
from muri_opt.rounds.unlike import unlike_rows
from muri_opt.systems.capacity.rooms_in_sets import nodes_inside
from muri_opt.systems.joint.jobs.models import Models
from muri_opt.systems.joint.jobs.plan_ways import LARGEST, MANY_LARGEST, PARTS, SMALLEST, Types
from muri_opt.systems.joint.nodes.regions import Regions

Free = tuple[Ints, Ints, Ints]
"""GPUs, milli-CPUs and MiB of each node."""


class PlanRooms:
    """The plans of the jobs of a round, ready to be looked at in several states of the cluster.

    A node with room for a larger part has room for a smaller one: it is enough to count the nodes for either. Plans
    that need the same in the same regions are counted once.
    """

    def __init__(self, models: Models, regions: Regions) -> None:
        each = [models.plans_of(job) for job in range(len(models))]
        self._count = np.array([len(plans.gpus) for plans in each], dtype=np.int64)
        self._first = np.cumsum(self._count) - self._count
        job = np.repeat(np.arange(len(each)), self._count)
        every = np.concatenate([plans.needs for plans in each])
        number: dict[Types, int] = {None: 0}
        types = np.zeros(len(job), dtype=np.int64)
        for at, plans in enumerate(each):
            if plans.types is not None:
                own = [number.setdefault(some, len(number)) for some in plans.types]
                types[self._first[at] : self._first[at] + len(own)] = own
        where, open_to = np.unique(regions.kind[job] * len(number) + types, return_inverse=True)
        first, self._shape = unlike_rows(np.column_stack([every, open_to]))
        shapes = every[first]
        self._many, self._many_largest = shapes[:, PARTS], shapes[:, MANY_LARGEST]
        self._smallest, self._largest = shapes[:, SMALLEST], shapes[:, LARGEST]
        some_types = [*number]
        of_where = [regions.of_types(code // len(number), some_types[code % len(number)]) for code in where.tolist()]
        place = {region: at for at, region in enumerate(dict.fromkeys(chain.from_iterable(of_where)))}
        self._inside = rows_of_bits([*place], regions.inside.shape[1])
        rows = np.array([place[one] for some in of_where for one in some], dtype=np.int64)
        size = np.array([len(some) for some in of_where], dtype=np.int64)
        begin = np.cumsum(size) - size
        looks = open_to[first]
        self._plan = np.repeat(np.arange(len(shapes)), size[looks])
        """The plan that differs from others, by its number, of each of the ``_regions``."""
        ends = np.cumsum(size[looks])
        self._regions = rows[np.arange(len(self._plan)) + np.repeat(begin[looks] - ends + size[looks], size[looks])]

    def kinds(self, jobs: Sequence[int]) -> int:
        """Return how many plans of some jobs differ in what they need, or where they may start."""
        return len(np.unique(self._shape[self._of(jobs)]))

    def found(self, free: Free, jobs: Sequence[int]) -> list[list[bool]]:
        """Return for each of some jobs which of its plans find room, in its order of them."""
        well: list[bool] = self.found_at_once(free, jobs).tolist()
        return [well[start:end] for start, end in pairwise([0, *np.cumsum(self._count[jobs]).tolist()])]

    def found_at_once(self, free: Free, jobs: Sequence[int]) -> Bools:
        """Return the same, the plans of one job after those of another."""
        differ, alike = np.unique(self._shape[self._of(jobs)], return_inverse=True)
        return self._with_room(free, differ)[alike]

    def _of(self, jobs: Sequence[int]) -> Ints:
        """Return the places of the plans of some jobs."""
        count = self._count[jobs]
        ends = np.cumsum(count)
        return np.arange(int(count.sum())) + np.repeat(self._first[jobs] - ends + count, count)

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
