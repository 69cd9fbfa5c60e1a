"""Which exact program belongs to which policy, and what its value counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from muri_opt.systems.policy import Policy

if TYPE_CHECKING:
    from muri_opt.systems.afs.policy import ElasticPolicy
    from muri_opt.systems.gangs.policy import GangPolicy
    from muri_opt.systems.muri.policy import MuriPolicy
    from muri_opt.systems.philly.policy import PhillyPolicy
    from muri_opt.systems.plans.policy import PlanPolicy
    from muri_opt.systems.program import Formulation

DEFAULT_POLICY = "fifo"
_GROUP_UNITS = {
    "efficiency": "efficiency of all groups, parts per million",
    "gpu-time": "GPU time saved per second, millionths of a GPU",
    "progress": "speed of jobs against running alone, weighted by GPUs and rank, thousandths",
}
_SHARE_UNITS = {
    "speed": "speed against one GPU over the root of the seconds left on one, ten-millionths",
    "speed-up": "speed of all jobs, thousandths of that on one GPU each",
    "time": "jobs that run first, then the least remaining time of all, hundredths of a second",
}
_PLAN_UNITS = {
    "best": "guaranteed jobs first, then throughput of all jobs, millionths of the best each could have",
    "requested": "guaranteed jobs first, then throughput of all jobs, millionths of what each asked for",
}
_COST_UNITS = {
    "time": "guaranteed jobs first, then jobs that run, then the least remaining time of all, hundredths of a second",
    "service": "guaranteed jobs first, then jobs that run, then the least remaining time of all, seconds times service "
    "units (10 a GPU, 5 a server or worker)",
}
_GANG_UNITS = {
    ("lexicographic", "no"): "jobs that start as binary digits, the first in the queue first",
    ("lexicographic", "yes"): "running jobs as binary digits, highest priority first",
    ("weighted", "no"): "GPUs of jobs that start, weighted by rank: a GPU of the job of rank r among n that wait "
    "counts n - r",
    ("weighted", "yes"): "GPUs weighted by rank: a GPU of the job of rank r among n counts n - r",
}
_PLACEMENT_UNITS = {
    "lexicographic": "GPUs within quotas first, then the fewest preempted GPUs, then work by age and closeness, "
    "thousandths of a GPU",
    "weighted": "GPUs within quotas less preempted GPUs plus work by age and closeness, thousandths of a GPU",
}


def formulation_of(policy: Policy) -> Formulation:
    """Return the exact program of the round that the policy's algorithm decides; its module is imported only now."""
    if policy.chapter not in _PROGRAMS:
        raise TypeError(f"{type(policy).__name__} has no exact program in the catalogue")
    program: Formulation = _PROGRAMS[policy.chapter](policy)
    return program


def value_unit_of(policy: Policy) -> str:
    """Return what one unit of the policy's value is."""
    unit: str = _UNITS[policy.chapter](policy)
    return unit


def _gangs(policy: GangPolicy) -> Formulation:
    from muri_opt.systems.gangs.program import GangFormulation

    preempt = policy.preempt == "yes"
    return GangFormulation(order=policy.order, objective=policy.objective, nodes=policy.nodes, preempt=preempt)


def _grouping(policy: MuriPolicy) -> Formulation:
    from muri_opt.systems.muri.group_values import GroupRules
    from muri_opt.systems.muri.policy import ORDER_OF
    from muri_opt.systems.muri.program import GroupingFormulation

    options = policy.options
    return GroupingFormulation(
        rules=GroupRules(
            order=ORDER_OF[policy.name],
            largest_group=options.largest_group,
            pattern=options.pattern,
            slowdown=options.slowdown,
            worst_order=options.worst_order,
            objective=policy.objective,
            sizes=policy.sizes,
        )
    )


def _sharing(policy: ElasticPolicy) -> Formulation:
    from muri_opt.systems.afs.program import SharingFormulation

    return SharingFormulation(objective=policy.objective, packing=policy.packing)


def _planning(policy: PlanPolicy) -> Formulation:
    from muri_opt.systems.aiturbo.program import ConfigurationFormulation
    from muri_opt.systems.plans.program import PlanningFormulation

    rules = policy.rules
    by_throughput = rules.objective == "throughput"
    return PlanningFormulation(rules=rules) if by_throughput else ConfigurationFormulation(rules=rules)


def _placement(policy: PhillyPolicy) -> Formulation:
    from muri_opt.systems.philly.program import PlacementFormulation

    return PlacementFormulation(rules=policy.rules)


def _plan_unit(policy: PlanPolicy) -> str:
    rules = policy.rules
    if rules.objective in _COST_UNITS:
        return _COST_UNITS[rules.objective]
    fair = "guaranteed jobs first, then what Sia's program gains if jobs do not wait, millionths"
    return _PLAN_UNITS[rules.reference] if rules.power is None else fair


_PROGRAMS: dict[str, Callable[[Any], Formulation]] = {
    "gangs": _gangs,
    "grouping": _grouping,
    "sharing": _sharing,
    "planning": _planning,
    "placement": _placement,
}
_UNITS: dict[str, Callable[[Any], str]] = {
    "gangs": lambda policy: _GANG_UNITS[policy.objective, policy.preempt],
    "grouping": lambda policy: _GROUP_UNITS[policy.objective],
    "sharing": lambda policy: _SHARE_UNITS[policy.objective],
    "planning": _plan_unit,
    "placement": lambda policy: _PLACEMENT_UNITS[policy.objective],
}
