"""Execution plans as ways to run alone: GPUs on a number of nodes, what each part takes, and how long it takes."""

from __future__ import annotations

from typing import Final, NamedTuple

from muri_opt.errors import InputError
from muri_opt.rounds import Job
from muri_opt.systems.plans.plan_parts import Entry, Part, entries_of

PER_SECOND = 1_000_000_000


class PlanShape(NamedTuple):
    """What a plan needs: ``parts``, one on a node each, the largest first, of GPUs of the ``types``, ``None`` for any.

    It has ``gpus`` in all; one of 0 GPUs runs on CPUs alone.
    """

    gpus: int
    parts: tuple[Part, ...]
    types: tuple[str, ...] | None

    @classmethod
    def of(cls, entry: Entry) -> PlanShape:
        """Return what a plan needs of which it is known what a part takes."""
        _, plan, part, larger = entry
        parts = (part,) * (plan.nodes - (0 if larger is None else larger.number))
        return cls(plan.gpus, parts if larger is None else (larger.part,) * larger.number + parts, plan.types)


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


class RankedPlans(NamedTuple):
    """The plans that a job may run by, the fastest first: their names, periods and shapes."""

    names: tuple[str, ...]
    periods: tuple[int, ...]
    shapes: tuple[PlanShape, ...]

    @property
    def ways(self) -> tuple[PlanWay, ...]:
        """The same, plan by plan."""
        each = zip(self.names, self.periods, self.shapes, strict=True)
        return tuple([PlanWay(name, gpus, period, parts, types) for name, period, (gpus, parts, types) in each])

    @property
    def fastest(self) -> tuple[int, ...]:
        """The shortest period by GPUs, 0 where no plan has so many."""
        found = [0] * (1 + max([shape.gpus for shape in self.shapes]))
        for shape, period in zip(reversed(self.shapes), reversed(self.periods), strict=True):
            found[shape.gpus] = period
        return tuple(found)


NO_PLANS: Final = RankedPlans((), (), ())
"""Those of a job that runs without."""


def ranked_plans(job: Job) -> RankedPlans:
    """Return the plans of a job that need a GPU and are as fast as it was promised; a job that has none is refused.

    >>> plans = (Plan(name="dp2", gpus=2, throughput=4.0), Plan(name="dp1", gpus=1, throughput=2.5))
    >>> ranked = ranked_plans(Job(id="a", gpus=1, plans=plans))
    >>> ranked.names, ranked.periods
    (('dp2', 'dp1'), (250000000, 400000000))
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
    periods, _, _, _, names, shapes = zip(*sorted(found), strict=True)
    return RankedPlans(names, periods, shapes)
