"""Rubick, as a system: its policies and those it is compared with, its chapter and its program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from muri_opt.rounds.lazy import OnDemand
from muri_opt.systems.system import System

if TYPE_CHECKING:
    from muri_opt.systems.policy import Rules
    from muri_opt.systems.program import Formulation

_UNITS: Final = {
    "best": "guaranteed jobs first, then throughput of all jobs, millionths of the best each could have",
    "requested": "guaranteed jobs first, then throughput of all jobs, millionths of what each asked for",
}
_FAIR: Final = "guaranteed jobs first, then what Sia's program gains if jobs do not wait, millionths"

_BY_WORTH: Final = {
    "completion": "guaranteed jobs first, then work by what it is worth for completion times, millionths of a job",
    "completion-attained": "guaranteed jobs first, then work by what it is worth for completion times, as far as "
    "attained service tells, millionths of a job",
}
_COMPLETIONS: Final = "guaranteed jobs first, then completions of jobs, billionths of one a second"


def program(rules: Rules) -> Formulation:
    """Return the program of plans under the rules."""
    from muri_opt.systems.plans.plan_rules import plan_rules_of
    from muri_opt.systems.plans.program import PlanningFormulation

    return PlanningFormulation(rules=plan_rules_of(rules))


def unit(rules: Rules) -> str:
    """Return what the value counts."""
    objective = rules.get("objective", "throughput")
    if objective != "throughput":
        return _BY_WORTH.get(objective, _COMPLETIONS)
    return _UNITS[rules.get("reference", "best")] if rules.get("power", "none") == "none" else _FAIR


SYSTEM: Final = System(
    name="rubick",
    chapter="planning",
    family="plans",
    policies=OnDemand(
        {
            "rubick": "muri_opt.systems.rubick.policy:RubickPolicy",
            "synergy": "muri_opt.systems.rubick.baselines.synergy:SynergyPolicy",
            "antman": "muri_opt.systems.rubick.baselines.antman:AntManPolicy",
            "sia": "muri_opt.systems.rubick.baselines.sia:SiaPolicy",
            "equal-share": "muri_opt.systems.rubick.baselines.equal_share:EqualSharePolicy",
            "srs": "muri_opt.systems.plans.shortest_service:ShortestServicePolicy",
        }
    ),
    program=program,
    unit=unit,
    not_promised={
        "sia": frozenset({"same-jobs"}),
        "antman": frozenset({"more-capacity"}),
        "synergy": frozenset({"more-capacity", "preempts-for-a-start"}),
        "equal-share": frozenset({"waiting-removed", "more-capacity"}),
        "srs": frozenset({"node-order"}),
    },
)
