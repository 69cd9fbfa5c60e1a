"""Execution plans as ways to run alone: GPUs on a number of nodes, what each part takes, and how long it takes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from muri_opt.errors import InputError
from muri_opt.rounds import Guarantee, Job, Plan
from muri_opt.systems.plans.plan_parts import Larger, Part, plan_entries

PER_SECOND = 1_000_000_000
MODELS = 10 << 10
"""Jobs whose ways to run are kept from round to round: those of a large round, at up to two kilobytes each."""


class PlanWay(NamedTuple):
    """A plan at ``position`` among those of its job: ``parts``, one on a node each, the largest first.

    ``period`` are the nanoseconds of what its throughput counts. ``types`` are those of its GPUs, ``None`` for any.
    """

    position: int
    name: str
    gpus: int
    period: int
    parts: tuple[Part, ...]
    types: tuple[str, ...] | None

    @property
    def split(self) -> tuple[int, ...]:
        """The GPUs of its parts, the fewest first."""
        return tuple(part.gpus for part in reversed(self.parts))


def plan_ways(job: Job) -> tuple[PlanWay, ...]:
    """Return the plans of a job that need a GPU and are as fast as it was promised, the fastest first.

    A job that has none is refused.

    >>> plans = (Plan(name="dp2", gpus=2, throughput=4.0), Plan(name="dp1", gpus=1, throughput=2.5))
    >>> [(way.name, way.period) for way in plan_ways(Job(id="a", gpus=1, plans=plans))]
    [('dp2', 250000000), ('dp1', 400000000)]
    """
    return _ways(job.plans or (), job.gpus, job.cpus, job.memory_gib, job.guarantee)


@lru_cache(maxsize=MODELS)
def _ways(
    plans: tuple[Plan, ...], gpus: int, cpus: float | None, memory_gib: float | None, promised: Guarantee | None
) -> tuple[PlanWay, ...]:
    found, least = [], 0.0 if promised is None else promised.throughput
    for position, plan, part, larger in plan_entries(plans, gpus, cpus, memory_gib):
        if plan.gpus and plan.throughput >= least:
            parts = (part,) * plan.nodes if larger is None else _of_two_sizes(part, larger, plan.nodes)
            numerator, denominator = plan.throughput.as_integer_ratio()
            period = -(-PER_SECOND * denominator // numerator)
            found.append(PlanWay(position, plan.name, plan.gpus, period, parts, plan.types))
    if not found:
        raise InputError("plans", f"{len(plans)} plans", "a plan of at least 1 GPU, as fast as was guaranteed")
    return tuple(sorted(found, key=lambda way: (way.period, way.gpus, len(way.parts), way.position)))


def _of_two_sizes(part: Part, larger: Larger, nodes: int) -> tuple[Part, ...]:
    return (larger.part,) * larger.number + (part,) * (nodes - larger.number)


def fastest(ways: Sequence[PlanWay]) -> tuple[int, ...]:
    """Return the shortest period by GPUs, 0 where no plan has so many; the fastest come first."""
    period = [0] * (1 + max([way.gpus for way in ways]))
    for way in reversed(ways):
        period[way.gpus] = way.period
    return tuple(period)
