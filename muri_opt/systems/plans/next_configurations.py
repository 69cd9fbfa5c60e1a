"""Which configurations a job may run by next, and what it costs until the job is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Plan
from muri_opt.systems.plans.plan_ladder import Configuration
from muri_opt.systems.plans.plan_rules import PlanRules
from muri_opt.systems.plans.plan_value import MILLION, MOST

HUNDREDTHS: Final = 100


def is_predictable(job: Job) -> bool:
    """Return whether it is known how long a job has to run: an unpredictable job keeps its configuration.

    >>> is_predictable(Job(id="a", gpus=1))
    False
    """
    return job.predictable is not False and job.remaining_iterations is not None


def reads_names(rules: PlanRules) -> bool:
    """Return whether the names of plans must tell configurations."""
    return rules.change in ("same", "neighbours", "configurations") or rules.objective == "service"


def next_names(job: Job, rules: PlanRules, known: Mapping[str, Configuration]) -> frozenset[str] | None:
    """Return the names of the plans a job may run by next, or ``None`` where rules do not restrict names.

    A job keeps what it has or asks for; if it is predictable, ``neighbours`` allows one task or share more or less, or
    one rung where names do not tell tasks, and ``configurations`` any number of them. Without ``switch`` it stays on
    CPUs, or on GPUs.
    """
    bound = rules.change in ("same", "neighbours", "configurations")
    fixed = rules.change == "same" or (rules.counts_time and not is_predictable(job))
    if not bound and not fixed:
        return None
    if job.plan is None:
        raise InputError("plan", "nothing", "the plan it has or asks for: the policy changes it step by step")
    if fixed:
        return frozenset((job.plan,))
    here = known[job.plan]
    if rules.change == "neighbours":
        near = (here, *here.additions(switch=rules.switch), *here.removals(switch=rules.switch))
        return frozenset(configuration.name for configuration in near)
    return frozenset(name for name, other in known.items() if rules.switch or other.kind == here.kind)


def remaining_cost(job: Job, plan: Plan, restart: int, rules: PlanRules, known: Mapping[str, Configuration]) -> int:
    """Return what it costs until a job is done: hundredths of a second or, if so asked, seconds times service units.

    ``restart`` are the microseconds a restart takes; the cost is rounded down. What an unpredictable job has to do
    counts as nothing.
    """
    steps = (job.remaining_iterations or 0) if is_predictable(job) else 0
    numerator, denominator = plan.throughput.as_integer_ratio()
    unit = known[plan.name].units(plan) if rules.objective == "service" else HUNDREDTHS
    cost = unit * (steps * denominator * MILLION + restart * numerator) // (numerator * MILLION)
    if cost > MOST:
        found = f"{job.remaining_iterations} at {plan.throughput:g} a second by plan {plan.name!r}"
        raise InputError("remaining_iterations", found, f"a cost of at most {MOST:,}")
    return cost
