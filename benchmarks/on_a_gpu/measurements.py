"""What was measured on one NVIDIA H200 with 16 cores, beside what the package predicts from the stages alone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from muri_opt.systems.muri import best_period, rates_together

FOLDER = Path(__file__).parent
CASES = {"own": "each job its own cores", "shared": "cores shared"}
OWN = {"own": (False, True, False, False), "shared": (False,) * 4}
"""Of which of storage, CPU, GPU and network every job has its own part."""


@dataclass(frozen=True)
class Point:
    """A rate against running alone, or a sum of them: predicted and measured."""

    predicted: float
    measured: float

    @property
    def error(self) -> float:
        """By how much the prediction is above what was measured."""
        return self.predicted / self.measured - 1


@dataclass(frozen=True)
class Case:
    """One set of measurements: stages of each job alone, and groups of them in lock step and running freely."""

    title: str
    own: tuple[bool, ...]
    stages: dict[str, list[float]]
    groups: list[dict[str, Any]]

    @property
    def sizes(self) -> list[int]:
        """How many jobs each group has."""
        return [len(group["jobs"]) for group in self.groups]

    @cached_property
    def step_groups(self) -> list[Point]:
        """The rates of all jobs of a group together, in lock step."""
        return [_total(points) for points in self._step]

    @cached_property
    def free_groups(self) -> list[Point]:
        """The same where they run freely."""
        return [_total(points) for points in self._free]

    @cached_property
    def step(self) -> list[Point]:
        """The rate of every job of every group in lock step."""
        return [point for points in self._step for point in points]

    @cached_property
    def free(self) -> list[Point]:
        """The rate of every job of every group that runs freely."""
        return [point for points in self._free for point in points]

    @cached_property
    def gains(self) -> list[float]:
        """What a group does when it runs freely, over what it does in lock step, both measured."""
        return [free.measured / step.measured for free, step in zip(self.free_groups, self.step_groups, strict=True)]

    def gains_of(self, size: int) -> list[float]:
        """Return the same of groups of one size."""
        return [gain for gain, jobs in zip(self.gains, self.sizes, strict=True) if jobs == size]

    @cached_property
    def _step(self) -> list[list[Point]]:
        found = []
        for group in self.groups:
            period = best_period([self.stages[job] for job in group["jobs"]]).period_seconds
            alone = [sum(self.stages[job]) for job in group["jobs"]]
            found.append([Point(time / period, time / group["coordinated"]) for time in alone])
        return found

    @cached_property
    def _free(self) -> list[list[Point]]:
        found = []
        for group in self.groups:
            stages = [self.stages[job] for job in group["jobs"]]
            measured = [sum(self.stages[job]) / group["free"][job] for job in group["jobs"]]
            found.append([*map(Point, rates_together(stages, self.own), measured)])
        return found


def _total(points: list[Point]) -> Point:
    return Point(sum(point.predicted for point in points), sum(point.measured for point in points))


def case_of(name: str) -> Case:
    """Return the measurements with cores of one's ``own``, or ``shared`` ones."""
    read = json.loads((FOLDER / f"h200_{name}_cores.json").read_text(encoding="utf-8"))
    stages = {job: [round(time, 6) for time in times["median"]] for job, times in read["solo"].items()}
    return Case(title=CASES[name], own=OWN[name], stages=stages, groups=read["groups"])
