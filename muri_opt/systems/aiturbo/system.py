"""AITurbo, as a system: its policy and the one it is compared with, its chapter and its program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from muri_opt.rounds.lazy import OnDemand
from muri_opt.systems.system import System

if TYPE_CHECKING:
    from muri_opt.systems.policy import Rules
    from muri_opt.systems.program import Formulation

_UNITS: Final = {
    "time": "guaranteed jobs first, then jobs that run, then the least remaining time of all, hundredths of a second",
    "service": "guaranteed jobs first, then jobs that run, then the least remaining time of all, seconds times service "
    "units (10 a GPU, 5 a server or worker)",
}


def program(rules: Rules) -> Formulation:
    """Return the program of configurations under the rules."""
    from muri_opt.systems.aiturbo.program import ConfigurationFormulation
    from muri_opt.systems.plans.plan_rules import plan_rules_of

    return ConfigurationFormulation(rules=plan_rules_of(rules))


def unit(rules: Rules) -> str:
    """Return what the value counts."""
    return _UNITS[rules.get("objective", "service")]


SYSTEM: Final = System(
    name="aiturbo",
    chapter="configuration",
    family="configurations",
    policies=OnDemand(
        {
            "aiturbo": "muri_opt.systems.aiturbo.policy:AITurboPolicy",
            "optimus-ps": "muri_opt.systems.aiturbo.optimus_ps:OptimusTasksPolicy",
        }
    ),
    program=program,
    unit=unit,
    not_promised={
        "aiturbo": frozenset({"node-order", "waiting-removed", "more-capacity"}),
        "optimus-ps": frozenset({"alone", "waiting-removed", "more-capacity"}),
    },
)
