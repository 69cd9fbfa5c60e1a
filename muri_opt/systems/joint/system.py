"""The joint round, as a system: its policies, its chapter and its program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from muri_opt.rounds.lazy import OnDemand
from muri_opt.systems.system import System

if TYPE_CHECKING:
    from muri_opt.systems.policy import Rules
    from muri_opt.systems.program import Formulation


def program(rules: Rules) -> Formulation:
    """Return the program of the joint round under the rules."""
    from muri_opt.systems.joint.program.formulation import JointFormulation
    from muri_opt.systems.joint.rules import JointRules

    return JointFormulation(rules=JointRules.of({key: value for key, value in rules.items() if key != "chapter"}))


_UNITS: Final = {
    "known": "work by what it is worth for completion times, millionths of a job",
    "attained": "work by what it is worth for completion times, as far as attained service tells, millionths of a job",
}


def unit(rules: Rules) -> str:
    """Return what the value counts."""
    return _UNITS[rules.get("lengths", "known")]


SYSTEM: Final = System(
    name="joint",
    chapter="joint",
    family="scaling",
    policies=OnDemand(
        {
            "joint-s": "muri_opt.systems.joint.policy:JointPolicy",
            "joint-l": "muri_opt.systems.joint.guessed_lengths:GuessedLengthsPolicy",
        }
    ),
    program=program,
    unit=unit,
    not_promised=dict.fromkeys(("joint-s", "joint-l"), frozenset({"node-order", "waiting-removed", "more-capacity"})),
)
