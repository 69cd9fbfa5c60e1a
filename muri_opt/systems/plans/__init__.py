"""Execution plans of a round: what each job may run by, what that is worth, and the program that chooses."""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.systems.plans.decision import plan_decision as plan_decision
    from muri_opt.systems.plans.free_nodes import FreeNodes as FreeNodes
    from muri_opt.systems.plans.next_configurations import is_predictable as is_predictable
    from muri_opt.systems.plans.options import PlanOptions as PlanOptions
    from muri_opt.systems.plans.plan_rules import (
        CHANGES as CHANGES,
        COSTS as COSTS,
        POWERS as POWERS,
        REFERENCES as REFERENCES,
        PlanRules as PlanRules,
        strategy as strategy,
    )
    from muri_opt.systems.plans.policy import PlanPolicy as PlanPolicy
    from muri_opt.systems.plans.program import PlanningFormulation as PlanningFormulation

__all__, __getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.systems.plans.decision": ("plan_decision",),
        "muri_opt.systems.plans.free_nodes": ("FreeNodes",),
        "muri_opt.systems.plans.next_configurations": ("is_predictable",),
        "muri_opt.systems.plans.options": ("PlanOptions",),
        "muri_opt.systems.plans.plan_rules": ("CHANGES", "COSTS", "POWERS", "PlanRules", "REFERENCES", "strategy"),
        "muri_opt.systems.plans.policy": ("PlanPolicy",),
        "muri_opt.systems.plans.program": ("PlanningFormulation",),
    },
)
