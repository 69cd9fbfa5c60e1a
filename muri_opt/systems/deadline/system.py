"""Deadlines, as a system: the policy, its chapter and its program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from muri_opt.rounds.lazy import OnDemand
from muri_opt.systems.system import System

if TYPE_CHECKING:
    from muri_opt.systems.policy import Rules
    from muri_opt.systems.program import Formulation

USUAL: Final = {"interval": "300"}


def program(rules: Rules) -> Formulation:
    """Return the program of deadlines under the rules."""
    from muri_opt.systems.deadline.program import DeadlineFormulation

    return DeadlineFormulation(interval=float((USUAL | dict(rules))["interval"]))


def unit(rules: Rules) -> str:  # noqa: ARG001 - other systems have several
    """Return what the value counts."""
    return (
        "deadlines kept that would be lost, deadlines kept, the earliest of them, then speed in thousandths of one GPU:"
        " each outweighs all after it, and higher priorities all lower ones"
    )


SYSTEM: Final = System(
    name="deadline",
    chapter="deadline",
    family="deadlines",
    policies=OnDemand({"deadline": "muri_opt.systems.deadline.policy:DeadlinePolicy"}),
    program=program,
    unit=unit,
    not_promised={"deadline": frozenset({"node-order"})},
)
