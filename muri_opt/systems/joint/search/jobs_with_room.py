"""Which jobs could start at all beside groups that have their places, by what is left on nodes and of quotas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds.amounts import Ints, unlike
from muri_opt.rounds.free_capacity import FreeCapacity
from muri_opt.systems.capacity.rooms_in_sets import gpus_inside
from muri_opt.systems.joint.charges.quotas import Quotas
from muri_opt.systems.joint.jobs.group_value import Group, Place
from muri_opt.systems.joint.jobs.models import Models
from muri_opt.systems.joint.nodes.places import free_beside
from muri_opt.systems.joint.nodes.regions import Region, Regions
from muri_opt.systems.joint.nodes.state import Case

Bools = NDArray[np.bool_]
_NOWHERE: Region = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JobsWithRoom:
    """Jobs of a case by what they need: job j is like the ``alike[j]``-th of those that differ.

    These need the ``need[u]``-th of ``needs``, milli-CPUs and MiB with each GPU, and may start in some of the regions
    whose nodes are the rows of ``inside``: those from place ``first[u]`` of ``regions`` on, at least one. A job that
    runs by plans is looked at as if it needed nothing but GPUs.
    """

    case: Case
    alike: Ints
    need: Ints
    needs: Ints
    inside: Bools
    regions: Ints
    first: Ints

    @classmethod
    def of(cls, case: Case) -> JobsWithRoom:
        """Return the jobs of a case."""
        amounts, regions = case.round_.amounts, Regions.of(case.round_)
        asked = np.column_stack([amounts.c, amounts.m])
        asked[_run_by_plans(case.models)] = 0
        needs, of = unlike(asked)
        differ, alike = unlike(np.column_stack([of, regions.kind]))
        number = {_NOWHERE: 0}
        of_kind = [[number.setdefault(one, len(number)) for one in (_NOWHERE, *some)] for some in regions.of_kind]
        each = [of_kind[kind] for kind in differ[:, 1].tolist()]
        sizes = np.array([len(some) for some in each], dtype=np.int64)
        return cls(
            case=case,
            alike=alike,
            need=differ[:, 0],
            needs=needs,
            inside=regions.nodes_of_each([*number]),
            regions=np.array([*chain.from_iterable(each)], dtype=np.int64),
            first=np.cumsum(sizes) - sizes,
        )

    def beside(self, placed: Mapping[Group, Place]) -> Ints:
        """Return how many GPUs each job could have at most by itself, 0 if that is fewer than it needs to run."""
        case = self.case
        free = free_beside(case.round_.amounts, case.models, placed)
        most = self._most(free)[self.alike]
        models, quotas = case.models, Quotas.of(case.round_)
        left = quotas.beside({group: place.gpus for group, place in placed.items()}).left
        over = quotas.counted.cost((left <= 0).astype(np.float64)) > 0
        return np.where((most < models.least[models.kind]) | over, 0, most)

    def _most(self, free: FreeCapacity) -> Ints:
        """Return the most GPUs that each of the jobs that differ could have in one region."""
        if not len(self.first):
            return self.first
        need = np.repeat(self.need, np.diff(self.first, append=len(self.regions)))
        room = gpus_inside((free.gpus, free.cpus, free.memory), self.needs, need, self.inside, self.regions)
        return np.maximum.reduceat(room, self.first)


def _run_by_plans(models: Models) -> Ints:
    return np.flatnonzero([models.are_planned and models.runs_by_plans(job) for job in range(len(models))])
