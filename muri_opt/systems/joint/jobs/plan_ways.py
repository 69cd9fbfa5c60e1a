"""Execution plans as ways to run alone: GPUs on a number of nodes, what each part takes, and how long it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from muri_opt.errors import InputError
from muri_opt.rounds import Job
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.plans.plan_parts import Entry, Part, entries_of

PER_SECOND = 1_000_000_000
Types = tuple[str, ...] | None
"""GPU types that a plan is for, ``None`` for any."""
NEEDS: Final = 9
"""Columns of what plans need: GPUs and parts in all, how many parts are the largest, and GPUs, milli-CPUs and MiB of
one of these, then those of the smallest part."""
GPUS, PARTS, MANY_LARGEST = range(3)
LARGEST, SMALLEST = slice(3, 6), slice(6, 9)


class PlanShape(NamedTuple):
    """What a plan needs: ``parts``, one on a node each, the largest first, of GPUs of the ``types``, ``None`` for any.

    It has ``gpus`` in all; one of 0 GPUs runs on CPUs alone.
    """

    gpus: int
    parts: tuple[Part, ...]
    types: Types

    @classmethod
    def of(cls, entry: Entry) -> PlanShape:
        """Return what a plan needs of which it is known what a part takes."""
        _, plan, part, larger = entry
        parts = (part,) * (plan.nodes - (0 if larger is None else larger.number))
        return cls(plan.gpus, parts if larger is None else (larger.part,) * larger.number + parts, plan.types)

    @classmethod
    def read(cls, needs: Sequence[int], types: Types) -> PlanShape:
        """Return the same from a row of numbers."""
        gpus, parts, many_largest, *amounts = needs
        large, small = Part(*amounts[:3]), Part(*amounts[3:])
        return cls(gpus, (large,) * many_largest + (small,) * (parts - many_largest), types)

    @property
    def needs(self) -> tuple[int, ...]:
        """The row of numbers."""
        return self.gpus, len(self.parts), self.parts.count(self.parts[0]), *self.parts[0], *self.parts[-1]


class PlanWay(NamedTuple):
    """A plan with what it needs as a :class:`PlanShape` has it; ``period`` are the nanoseconds of what it counts."""

    name: str
    gpus: int
    period: int
    parts: tuple[Part, ...]
    types: tuple[str, ...] | None

    @property
    def split(self) -> tuple[int, ...]:
        """The GPUs of its parts, the fewest first."""
        return tuple(part.gpus for part in reversed(self.parts))


@dataclass(frozen=True, slots=True, eq=False)
class RankedPlans:
    """The plans that a job may run by, the fastest first: their names, periods, GPUs, and what they need.

    That has a row of ``NEEDS`` numbers for each; ``types`` are ``None`` where all plans are for any GPU type.
    """

    names: tuple[str, ...]
    periods: tuple[int, ...]
    gpus: tuple[int, ...]
    needs: Ints
    types: tuple[Types, ...] | None = None
    _shapes: dict[int, PlanShape] = field(default_factory=dict, repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RankedPlans) and self.ways == other.ways

    def __hash__(self) -> int:
        return hash((self.names, self.periods))

    def shape(self, number: int) -> PlanShape:
        """Return what one of the plans needs; it is put together when it is asked for first."""
        known = self._shapes.get(number)
        if known is None:
            types = None if self.types is None else self.types[number]
            known = self._shapes[number] = PlanShape.read(self.needs[number].tolist(), types)
        return known

    @property
    def ways(self) -> tuple[PlanWay, ...]:
        """The plans one by one."""
        each = zip(self.names, self.periods, map(self.shape, range(len(self.names))), strict=True)
        return tuple([PlanWay(name, gpus, period, parts, types) for name, period, (gpus, parts, types) in each])

    @property
    def fastest(self) -> tuple[int, ...]:
        """The shortest period by GPUs, 0 where no plan has so many."""
        found = [0] * (1 + max(self.gpus))
        for gpus, period in zip(reversed(self.gpus), reversed(self.periods), strict=True):
            found[gpus] = period
        return tuple(found)


NO_PLANS: Final = RankedPlans((), (), (), np.zeros((0, NEEDS), dtype=np.int64))
"""Those of a job that runs without."""


def ranked_plans(job: Job) -> RankedPlans:
    """Return the plans of a job that need a GPU and are as fast as it was promised; a job that has none is refused.

    >>> plans = (Plan(name="dp2", gpus=2, throughput=4.0), Plan(name="dp1", gpus=1, throughput=2.5))
    >>> ranked = ranked_plans(Job(id="a", gpus=1, plans=plans))
    >>> ranked.names, ranked.periods, ranked.shape(0).parts
    (('dp2', 'dp1'), (250000000, 400000000), (Part(gpus=2, milli=0, mib=0),))
    """
    found, least = [], 0.0 if job.guarantee is None else job.guarantee.throughput
    for entry in entries_of(job):
        plan = entry.plan
        if plan.gpus and plan.throughput >= least:
            numerator, denominator = plan.throughput.as_integer_ratio()
            period = -(-PER_SECOND * denominator // numerator)
            found.append((period, plan.gpus, plan.nodes, entry.position, plan.name, PlanShape.of(entry)))
    if not found:
        allowed = "a plan of at least 1 GPU, as fast as was guaranteed"
        raise InputError("plans", f"{len(job.plans or ())} plans", allowed)
    periods, gpus, _, _, names, shapes = zip(*sorted(found), strict=True)
    needs = np.array([shape.needs for shape in shapes], dtype=np.int64)
    types = None if all(shape.types is None for shape in shapes) else tuple([shape.types for shape in shapes])
    return RankedPlans(names, periods, gpus, needs, types)
