"""Which jobs could start at all beside groups that have their places, by what is left on nodes and of quotas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds.amounts import Ints, gpus_that_fit
from muri_opt.rounds.free_capacity import FreeCapacity
from muri_opt.systems.joint.group_value import Group, Place
from muri_opt.systems.joint.models import Models
from muri_opt.systems.joint.places import free_beside
from muri_opt.systems.joint.quotas import Quotas
from muri_opt.systems.joint.regions import Regions
from muri_opt.systems.joint.state import Case

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JobsWithRoom:
    """Jobs of a case by what they need: job j is like the ``alike[j]``-th of those that differ.

    These need ``needs[u]`` milli-CPUs and MiB with each GPU, and are of the ``region[u]``-th kind of where to start,
    which has ``inside[k]``, an array of sets of nodes each. A job that runs by plans is looked at as if it needed
    nothing but GPUs.
    """

    case: Case
    alike: Ints
    needs: Ints
    region: Ints
    inside: tuple[Bools, ...]

    @classmethod
    def of(cls, case: Case) -> JobsWithRoom:
        """Return the jobs of a case."""
        amounts, regions = case.round_.amounts, Regions.of(case.round_)
        needs = np.column_stack([amounts.c, amounts.m, regions.kind])
        needs[_run_by_plans(case.models), :2] = 0
        code = np.zeros(len(needs), dtype=np.int64)
        for column in needs.T:
            known, at = np.unique(column, return_inverse=True)
            code = code * len(known) + at
        _, first, alike = np.unique(code, return_index=True, return_inverse=True)
        unlike = needs[first]
        inside = tuple([regions.nodes_of_each(kind) for kind in range(len(regions.of_kind))])
        return cls(case=case, alike=alike, needs=unlike[:, :2], region=unlike[:, 2], inside=inside)

    def beside(self, placed: Mapping[Group, Place]) -> Ints:
        """Return how many GPUs each job could have at most by itself, 0 if that is fewer than it needs to run."""
        case = self.case
        free = free_beside(case.round_.amounts, case.models, placed)
        most = np.array([self._most(free, at) for at in range(len(self.needs))], dtype=np.int64)[self.alike]
        models, quotas = case.models, Quotas.of(case.round_)
        left = quotas.beside({group: place.gpus for group, place in placed.items()}).left
        over = quotas.counted.cost((left <= 0).astype(np.float64)) > 0
        return np.where((most < models.least[models.kind]) | over, 0, most)

    def _most(self, free: FreeCapacity, at: int) -> int:
        """Return the most GPUs that a job of such needs could have in one set of nodes."""
        cpus, memory = self.needs[at].tolist()
        room = gpus_that_fit((cpus, memory), free.gpus, free.cpus, free.memory)
        rooms = self.inside[self.region.item(at)] @ np.maximum(room, 0)
        return int(rooms.max(initial=0))


def _run_by_plans(models: Models) -> Ints:
    return np.flatnonzero([models.are_planned and models.runs_by_plans(job) for job in range(len(models))])
