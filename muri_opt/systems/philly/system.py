"""Philly, as a system: its policy, its chapter and its program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from muri_opt.rounds.lazy import OnDemand
from muri_opt.systems.system import System

if TYPE_CHECKING:
    from muri_opt.systems.policy import Rules
    from muri_opt.systems.program import Formulation

_UNITS: Final = {
    "lexicographic": "GPUs within quotas first, then the fewest preempted GPUs, then work by age and closeness, "
    "thousandths of a GPU",
    "weighted": "GPUs within quotas less preempted GPUs plus work by age and closeness, thousandths of a GPU",
    "completion": "GPUs within quotas first, then the fewest preempted GPUs, then work by what it is worth for "
    "completion times and by closeness, thousandths of a job",
}


def program(rules: Rules) -> Formulation:
    """Return the program of placed gangs under the rules."""
    from muri_opt.systems.philly.program import PlacementFormulation
    from muri_opt.systems.philly.tenant_rules import TenantRules

    return PlacementFormulation(rules=TenantRules.of(rules))


def unit(rules: Rules) -> str:
    """Return what the value counts."""
    return _UNITS[rules.get("objective", "lexicographic")]


SYSTEM: Final = System(
    name="philly",
    chapter="placement",
    family="tenants",
    policies=OnDemand({"philly": "muri_opt.systems.philly.policy:PhillyPolicy"}),
    program=program,
    unit=unit,
    not_promised={"philly": frozenset({"node-order"})},
)
