"""Muri, as a system: its policies, its chapter and its program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from muri_opt.rounds.lazy import OnDemand
from muri_opt.systems.system import System

if TYPE_CHECKING:
    from muri_opt.systems.policy import Rules
    from muri_opt.systems.program import Formulation

_PLACED: Final = frozenset({"node-order", "more-capacity"})
"""What goes by the order in which nodes are filled."""
_UNITS: Final = {
    "efficiency": "efficiency of all groups, parts per million",
    "gpu-time": "GPU time saved per second, millionths of a GPU",
    "progress": "speed of jobs against running alone, weighted by GPUs and rank, thousandths",
    "completion": "work by what it is worth for completion times, millionths of a job",
}


def program(rules: Rules) -> Formulation:
    """Return the program of groups under the rules."""
    from muri_opt.systems.muri.group_values import GroupRules
    from muri_opt.systems.muri.program import GroupingFormulation

    return GroupingFormulation(rules=GroupRules.of(rules))


def unit(rules: Rules) -> str:
    """Return what the value counts."""
    return _UNITS[rules.get("objective", "efficiency")]


SYSTEM: Final = System(
    name="muri",
    chapter="grouping",
    family="stages",
    policies=OnDemand(dict.fromkeys(("muri-s", "muri-l"), "muri_opt.systems.muri.policy:MuriPolicy")),
    program=program,
    unit=unit,
    not_promised=dict.fromkeys(("muri-s", "muri-l"), _PLACED | {"waiting-removed"}),
)
