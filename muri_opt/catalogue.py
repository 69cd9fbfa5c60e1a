"""Which exact program belongs to which policy, and what its value counts."""

from __future__ import annotations

from muri_opt.formulations import (
    ConfigurationFormulation,
    Formulation,
    GangFormulation,
    GroupingFormulation,
    GroupRules,
    PlacementFormulation,
    PlanningFormulation,
    SharingFormulation,
)
from muri_opt.policies import ElasticPolicy, GangPolicy, MuriPolicy, PhillyPolicy, PlanPolicy, Policy
from muri_opt.policies.muri import ORDER_OF

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
    """Return the exact program of the round that the policy's algorithm decides."""
    if isinstance(policy, GangPolicy):
        preempt = policy.preempt == "yes"
        return GangFormulation(order=policy.order, objective=policy.objective, nodes=policy.nodes, preempt=preempt)
    if isinstance(policy, MuriPolicy):
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
    if isinstance(policy, ElasticPolicy):
        return SharingFormulation(objective=policy.objective, packing=policy.packing)
    if isinstance(policy, PlanPolicy):
        rules = policy.rules
        by_throughput = rules.objective == "throughput"
        return PlanningFormulation(rules=rules) if by_throughput else ConfigurationFormulation(rules=rules)
    if isinstance(policy, PhillyPolicy):
        return PlacementFormulation(rules=policy.rules)
    raise TypeError(f"{type(policy).__name__} has no exact program in the catalogue")


def value_unit_of(policy: Policy) -> str:
    """Return what one unit of the policy's value is."""
    if isinstance(policy, MuriPolicy):
        return _GROUP_UNITS[policy.objective]
    if isinstance(policy, ElasticPolicy):
        return _SHARE_UNITS[policy.objective]
    if isinstance(policy, PlanPolicy):
        rules = policy.rules
        if rules.objective in _COST_UNITS:
            return _COST_UNITS[rules.objective]
        fair = "guaranteed jobs first, then what Sia's program gains if jobs do not wait, millionths"
        return _PLAN_UNITS[rules.reference] if rules.power is None else fair
    if isinstance(policy, PhillyPolicy):
        return _PLACEMENT_UNITS[policy.objective]
    if isinstance(policy, GangPolicy):
        return _GANG_UNITS[policy.objective, policy.preempt]
    raise TypeError(f"{type(policy).__name__} has no value in the catalogue")
