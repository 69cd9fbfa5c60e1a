"""Which modules check the answers of a policy: they are imported when they are used, or here beforehand."""

from __future__ import annotations

from importlib import import_module

from muri_opt.verification.rulebook import rules_of

_ELASTIC = ("elastic_bound", "elastic_rules")
_PLANS = ("plan_bound", "plan_counting", "plan_optimum", "plan_rules", "plans")
_PLACEMENT = (
    "placement_bound",
    "placement_breaches",
    "placement_counting",
    "placement_optimum",
    "placement_reading",
    "placement_reasons",
)
_SHARING = ("group_values", "sharing_bound")


def load_rules(policy: str) -> None:
    """Import all that checking an answer of the policy needs, so that no check waits for it."""
    rules = rules_of(policy)
    chapters = (
        (rules.elastic, _ELASTIC),
        (rules.plans, _PLANS),
        (rules.placement, _PLACEMENT),
        (rules.sharing, _SHARING),
    )
    for chapter, modules in chapters:
        for name in modules if chapter is not None else ():
            import_module(f"muri_opt.verification.{name}")
