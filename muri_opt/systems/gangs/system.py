"""Gangs in the order of a list, as a system: its policies, its chapter and its program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from muri_opt.rounds.lazy import OnDemand
from muri_opt.systems.system import System

if TYPE_CHECKING:
    from muri_opt.systems.policy import Rules
    from muri_opt.systems.program import Formulation

_UNITS: Final = {
    ("lexicographic", "no"): "jobs that start as binary digits, the first in the queue first",
    ("lexicographic", "yes"): "running jobs as binary digits, highest priority first",
    ("weighted", "no"): "GPUs of jobs that start, weighted by rank: a GPU of the job of rank r among n that wait "
    "counts n - r",
    ("weighted", "yes"): "GPUs weighted by rank: a GPU of the job of rank r among n counts n - r",
}
USUAL: Final = {"order": "fifo", "objective": "weighted", "nodes": "any", "preempt": "yes", "restarts": "ignore"}


def program(rules: Rules) -> Formulation:
    """Return the program of gangs under the rules."""
    from muri_opt.systems.gangs.program import GangFormulation
    from muri_opt.systems.gangs.tiresias import TiresiasPolicy

    said = USUAL | dict(rules)
    ours = {name: text for name, text in rules.items() if name in TiresiasPolicy.choices}
    order = TiresiasPolicy(name="tiresias", **ours).order if said["order"] == "tiresias" else said["order"]
    return GangFormulation(
        order=order,
        objective=said["objective"],
        nodes=said["nodes"],
        preempt=said["preempt"] == "yes",
        restarts=said["restarts"] == "pay",
    )


def unit(rules: Rules) -> str:
    """Return what the value counts."""
    said = USUAL | dict(rules)
    return _UNITS[said["objective"], said["preempt"]]


SYSTEM: Final = System(
    name="gangs",
    chapter="gangs",
    family="gangs",
    policies=OnDemand(
        {
            "fifo": "muri_opt.systems.gangs.policy:FifoPolicy",
            **dict.fromkeys(("srtf", "srsf", "las", "max-min"), "muri_opt.systems.gangs.policy:GangPolicy"),
            "fair-share": "muri_opt.systems.gangs.policy:FairSharePolicy",
            "tiresias": "muri_opt.systems.gangs.tiresias:TiresiasPolicy",
        }
    ),
    program=program,
    unit=unit,
    not_promised=dict.fromkeys(("max-min", "fair-share"), frozenset({"waiting-removed"})),
)
