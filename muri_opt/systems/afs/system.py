"""AFS, as a system: its policies and those it is compared with, its chapter and its program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from muri_opt.rounds.lazy import OnDemand
from muri_opt.rounds.quantities import microseconds
from muri_opt.systems.system import System

if TYPE_CHECKING:
    from muri_opt.systems.policy import Rules
    from muri_opt.systems.program import Formulation

_UNITS: Final = {
    "speed": "speed against one GPU over the root of the seconds left on one, ten-millionths",
    "speed-up": "speed of all jobs, thousandths of that on one GPU each",
    "time": "jobs that run first, then the least remaining time of all, hundredths of a second",
    "jobs-then-speed": "jobs that run first, then speed against one GPU over the root of the seconds left on one",
    "jobs-then-speed-up": "jobs that run first, then the speed of all, thousandths of that on one GPU each",
    "completion": "work by what it is worth for completion times, millionths of a job",
    "completion-attained": "work by what it is worth for completion times, as far as attained service tells, "
    "millionths of a job",
}
USUAL: Final = {"objective": "speed", "packing": "any", "restarts": "ignore", "horizon": "600"}


def program(rules: Rules) -> Formulation:
    """Return the program of shares under the rules."""
    from muri_opt.systems.afs.program import SharingFormulation

    said = USUAL | dict(rules)
    horizon = microseconds(float(said["horizon"])) if said["restarts"] == "pay" else None
    return SharingFormulation(objective=said["objective"], packing=said["packing"], horizon=horizon)


def unit(rules: Rules) -> str:
    """Return what the value counts."""
    return _UNITS[(USUAL | dict(rules))["objective"]]


SYSTEM: Final = System(
    name="afs",
    chapter="sharing",
    family="scaling",
    policies=OnDemand(
        {
            "afs-l": "muri_opt.systems.afs.afs_l:AfsPolicy",
            "afs-p": "muri_opt.systems.afs.afs_p:UnknownLengthPolicy",
            "optimus": "muri_opt.systems.afs.baselines:OptimusPolicy",
            "max-min-elastic": "muri_opt.systems.afs.baselines:MaxMinPolicy",
            "srtf-elastic": "muri_opt.systems.afs.baselines:ShortestFirstPolicy",
        }
    ),
    program=program,
    unit=unit,
    not_promised={
        "afs-l": frozenset({"job-order", "same-jobs"}),
        "optimus": frozenset({"same-jobs"}),
        "srtf-elastic": frozenset({"job-order", "same-jobs", "more-capacity"}),
    },
)
