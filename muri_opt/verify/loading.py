"""Which modules check the answers of a policy: they are imported when they are used, or here beforehand."""

from __future__ import annotations

from importlib import import_module

from muri_opt.verify.policy_rules import rules_of

_ELASTIC = ("afs.dual_bound", "afs.rules")
_PLANS = ("plans.dual_bound", "plans.counting", "plans.optimum", "plans.rules", "plans.menu")
_PLACEMENT = (
    "philly.dual_bound",
    "philly.breaches",
    "philly.counting",
    "philly.optimum",
    "philly.job_status",
    "philly.reasons",
)
_SHARING = ("muri.value", "muri.dual_bound")


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
            import_module(f"muri_opt.verify.{name}")
