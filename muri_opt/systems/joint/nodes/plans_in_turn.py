"""Where jobs run by plans that are placed in turn: by the fastest plan that finds room for all of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from muri_opt.rounds import Round
from muri_opt.systems.capacity.room_sets import PartAmounts, RoomSets
from muri_opt.systems.joint.jobs.models import Models
from muri_opt.systems.joint.jobs.plan_ways import PlanShape
from muri_opt.systems.joint.nodes.plan_rooms import plan_rooms
from muri_opt.systems.joint.nodes.quota_left import QuotaLeft
from muri_opt.systems.joint.nodes.regions import Region, Regions

_AT_ONCE: Final = 128
"""Jobs that are looked at together."""


class PlansInTurn:
    """Looks for room for the plans of one job after another, while what is free only shrinks."""

    def __init__(self, round_: Round, models: Models) -> None:
        self._round, self._models, self._regions = round_, models, Regions.of(round_)
        self._line: Sequence[int] = ()
        self._place: dict[int, int] = {}
        """The jobs that are expected, in turn, and where each of them is in the line."""
        self._are_unlike: bool | None = None
        """Whether there are more shapes of their plans than jobs, if that was asked."""
        self._fitting: dict[int, list[int]] = {}
        """Which plans of jobs found room when that was last looked at."""
        self._unfit: set[tuple[Sequence[PartAmounts], Region]] = set()
        """Parts of plans for which a region has no room: it stays so."""

    def expect(self, jobs: Sequence[int]) -> None:
        """Say which jobs come next, in turn."""
        self._line, self._place = jobs, {job: at for at, job in enumerate(jobs)}
        self._are_unlike = None

    def fit(self, rooms: RoomSets, job: int, most: int, quota: QuotaLeft) -> tuple[int, list[int]] | None:
        """Return the number of the fastest plan of at most so many GPUs that finds room, and nodes for its parts.

        It has no more GPUs than its job can borrow, if that needs to.
        Where the first plan of a job finds none, that is looked up for all its plans, and those of the next jobs in the
        line: few of them do. Where many plans have the same shape, what found no room is told at once.
        """
        fitting: Sequence[int] | None = self._fitting.get(job)
        if fitting is not None and not fitting:
            return None
        plans = self._models.plans_of(job)
        for number, gpus in enumerate(plans.gpus):
            if gpus <= most and (fitting is None or number in fitting) and quota.can_borrow((job,), gpus):
                nodes = self._nodes(rooms, job, plans.shape(number))
                if nodes is not None:
                    return number, nodes
                if self._look_ahead():
                    fitting = self._fitting_plans(rooms, job)
        return None

    def _look_ahead(self) -> bool:
        if self._are_unlike is None:
            self._are_unlike = plan_rooms(self._models, self._round).kinds(self._line) > len(self._line)
        return self._are_unlike

    def _nodes(self, rooms: RoomSets, job: int, shape: PlanShape) -> list[int] | None:
        for region in self._regions.of_plan(job, shape.types):
            if (shape.parts, region) in self._unfit:
                continue
            parts = rooms.fit_parts(shape.parts, region)
            if parts is not None:
                return [node for node, _ in parts]
            self._unfit.add((shape.parts, region))
        return None

    def _fitting_plans(self, rooms: RoomSets, job: int) -> list[int]:
        """Return which plans of a job found room when that was last looked at: no others ever will."""
        if job not in self._fitting:
            at = self._place[job]
            jobs = self._line[at : at + _AT_ONCE]
            gpus, milli, mib = np.array(rooms.free, dtype=np.int64)
            found = plan_rooms(self._models, self._round).found((gpus, milli, mib), jobs)
            for other, well in zip(jobs, found, strict=True):
                self._fitting[other] = [number for number, one in enumerate(well) if one]
        return self._fitting[job]
