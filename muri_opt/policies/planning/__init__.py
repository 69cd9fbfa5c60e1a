"""Execution plans by the published rules: Rubick, AITurbo, and what they are compared with."""

from muri_opt.policies.planning.aiturbo import AITurboPolicy
from muri_opt.policies.planning.antman import AntManPolicy
from muri_opt.policies.planning.base import PlanPolicy
from muri_opt.policies.planning.equal_share import EqualSharePolicy
from muri_opt.policies.planning.optimus_ps import OptimusTasksPolicy
from muri_opt.policies.planning.rubick import RubickPolicy
from muri_opt.policies.planning.sia import SiaPolicy
from muri_opt.policies.planning.synergy import SynergyPolicy

PLANNING: dict[str, type[PlanPolicy]] = {
    kind.own_name: kind
    for kind in (
        RubickPolicy,
        SynergyPolicy,
        AntManPolicy,
        SiaPolicy,
        EqualSharePolicy,
        AITurboPolicy,
        OptimusTasksPolicy,
    )
}

__all__ = [
    "PLANNING",
    "AITurboPolicy",
    "AntManPolicy",
    "EqualSharePolicy",
    "OptimusTasksPolicy",
    "PlanPolicy",
    "RubickPolicy",
    "SiaPolicy",
    "SynergyPolicy",
]
