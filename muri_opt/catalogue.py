"""Which exact program belongs to which policy, and what its value counts."""

from __future__ import annotations

from muri_opt.formulations import Formulation, GangFormulation, GroupingFormulation
from muri_opt.policies import GangPolicy, MuriPolicy, Policy
from muri_opt.policies.muri import ORDER_OF

DEFAULT_POLICY = "fifo"


def formulation_of(policy: Policy) -> Formulation:
    """Return the exact program of the round that the policy's algorithm decides."""
    if isinstance(policy, GangPolicy):
        return GangFormulation(order=policy.name, objective=policy.objective, nodes=policy.nodes)
    if isinstance(policy, MuriPolicy):
        options = policy.options
        return GroupingFormulation(
            order=ORDER_OF[policy.name],
            largest_group=options.largest_group,
            pattern=options.pattern,
            slowdown=options.slowdown,
        )
    raise TypeError(f"{type(policy).__name__} has no exact program in the catalogue")


def value_unit_of(policy: Policy) -> str:
    """Return what one unit of the policy's value is."""
    if isinstance(policy, MuriPolicy):
        return "efficiency of all groups, parts per million"
    if isinstance(policy, GangPolicy) and policy.objective == "lexicographic":
        return "running jobs as binary digits, highest priority first"
    return "GPUs weighted by rank: a GPU of the job of rank r among n counts n - r"
