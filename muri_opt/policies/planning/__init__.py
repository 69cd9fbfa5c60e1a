"""Execution plans by the published rules: Rubick, AITurbo, and what they are compared with."""

from typing import TYPE_CHECKING

from muri_opt.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.policies.planning.aiturbo import AITurboPolicy
    from muri_opt.policies.planning.antman import AntManPolicy
    from muri_opt.policies.planning.base import PlanPolicy
    from muri_opt.policies.planning.equal_share import EqualSharePolicy
    from muri_opt.policies.planning.optimus_ps import OptimusTasksPolicy
    from muri_opt.policies.planning.rubick import RubickPolicy
    from muri_opt.policies.planning.sia import SiaPolicy
    from muri_opt.policies.planning.synergy import SynergyPolicy

__all__ = [
    "AITurboPolicy",
    "AntManPolicy",
    "EqualSharePolicy",
    "OptimusTasksPolicy",
    "PlanPolicy",
    "RubickPolicy",
    "SiaPolicy",
    "SynergyPolicy",
]

__getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.policies.planning.aiturbo": ("AITurboPolicy",),
        "muri_opt.policies.planning.antman": ("AntManPolicy",),
        "muri_opt.policies.planning.base": ("PlanPolicy",),
        "muri_opt.policies.planning.equal_share": ("EqualSharePolicy",),
        "muri_opt.policies.planning.optimus_ps": ("OptimusTasksPolicy",),
        "muri_opt.policies.planning.rubick": ("RubickPolicy",),
        "muri_opt.policies.planning.sia": ("SiaPolicy",),
        "muri_opt.policies.planning.synergy": ("SynergyPolicy",),
    },
)
