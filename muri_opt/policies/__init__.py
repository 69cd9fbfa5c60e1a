"""The published algorithms: from a round to a decision, without a solver."""

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
