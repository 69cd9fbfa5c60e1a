"""Which exact program belongs to which policy, and what its value counts."""

from __future__ import annotations

from muri_opt.formulations import Formulation, GangFormulation
from muri_opt.policies import GangPolicy, Policy

DEFAULT_POLICY = "fifo"


def formulation_of(policy: Policy) -> Formulation:
    """Return the exact program of the round that the policy's algorithm decides."""
    if isinstance(policy, GangPolicy):
        return GangFormulation(order=policy.name, objective=policy.objective, nodes=policy.nodes)
    raise TypeError(f"{type(policy).__name__} has no exact program in the catalogue")


def value_unit_of(policy: Policy) -> str:
    """Return what one unit of the policy's value is."""
    if isinstance(policy, GangPolicy) and policy.objective == "lexicographic":
        return "running jobs as binary digits, highest priority first"
    return "GPUs weighted by rank: a GPU of the job of rank r among n counts n - r"
