"""The published algorithms: from a round to a decision, without a solver."""

from typing import TYPE_CHECKING

from muri_opt.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.policies.base import Policy
    from muri_opt.policies.elastic import ElasticPolicy
    from muri_opt.policies.gangs import FifoPolicy, GangPolicy
    from muri_opt.policies.muri import MuriPolicy
    from muri_opt.policies.philly import PhillyPolicy
    from muri_opt.policies.planning import PlanPolicy
    from muri_opt.policies.registry import POLICIES, policy_from
    from muri_opt.policies.tiresias import TiresiasPolicy

__all__ = [
    "POLICIES",
    "ElasticPolicy",
    "FifoPolicy",
    "GangPolicy",
    "MuriPolicy",
    "PhillyPolicy",
    "PlanPolicy",
    "Policy",
    "TiresiasPolicy",
    "policy_from",
]

__getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.policies.base": ("Policy",),
        "muri_opt.policies.elastic": ("ElasticPolicy",),
        "muri_opt.policies.gangs": ("FifoPolicy", "GangPolicy"),
        "muri_opt.policies.muri": ("MuriPolicy",),
        "muri_opt.policies.philly": ("PhillyPolicy",),
        "muri_opt.policies.planning": ("PlanPolicy",),
        "muri_opt.policies.registry": ("POLICIES", "policy_from"),
        "muri_opt.policies.tiresias": ("TiresiasPolicy",),
    },
)
