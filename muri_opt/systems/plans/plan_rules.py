"""Which of its plans a job may run with, and how a plan is valued."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from muri_opt.rounds.quantities import MICROSECONDS_PER_SECOND, microseconds

CHANGES: Final = ("both", "plans", "resources", "neither")
REFERENCES: Final = ("best", "requested")
POWERS: Final = ("-0.5", "-1")
COSTS: Final = ("service", "time")
COMPLETIONS: Final = "completions"
BY_ATTAINED: Final = "completion-attained"
BY_WORTH: Final = ("completion", BY_ATTAINED)
"""Objectives by which throughput counts as much as it is worth for completion times."""
RANKED: Final = {"completion": ("remaining_iterations",), BY_ATTAINED: ("attained_gpu_seconds",)}
"""What jobs have to say to be ranked by them."""
_DATA_PARALLEL = re.compile(r"(^|-)dp\d+(?=-|$)", flags=re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRules:
    """What a round may change about a job, and what its throughput is worth.

    ``change`` is ``both``, ``plans`` (with the GPUs a job asks for), ``resources`` (with the strategy of the plan it
    names) or ``neither``. Without ``power`` an option is worth its throughput against the ``reference``: the ``best``
    the job could have in the empty cluster, or what it ``requested``; a restart costs its time out of ``horizon``
    microseconds. With ``power`` it is worth what Sia's program gives it.

    Plans may be configurations of servers and workers: then ``change`` may also be ``same`` (the present one),
    ``neighbours`` (that and one task or share more or less) or ``configurations`` (any); without ``switch`` jobs on
    CPUs stay there, and those on GPUs. Under the ``objective`` ``time`` or ``service`` one more job that runs outweighs
    everything else, and then less remaining time is better, as it is or times the service units of the configuration.
    Under ``completions`` an option is worth its part in the rate at which jobs are done: one job by its remaining time.
    Under ``completion`` throughput counts as much as it is worth for completion times, jobs ranked by the service they
    have left, and a restart costs its time out of what a job needs at its fastest where that is less than ``horizon``;
    under ``completion-attained`` jobs are ranked by what they have had.

    With a ``gate`` a running job that may not restart, as it would not keep that part of its run time, is worth nothing
    by an option that restarts it, and that it stays outweighs all throughput; a job that does not say how long it has
    run may restart.

    >>> PlanRules(change="resources").change
    'resources'
    """

    change: str = "both"
    reference: str = "best"
    horizon: int = 600_000_000
    power: str | None = None
    objective: str = "throughput"
    switch: bool = True
    gate: str | None = None

    @property
    def counts_time(self) -> bool:
        """Whether the most jobs are to run and then with the least remaining time, not with the most speed."""
        return self.objective in COSTS


def rules_of_plans(rules: PlanRules) -> dict[str, str]:
    """Return the chapter, *planning* or *configuration*, and its settings that say the same."""
    if rules.counts_time:
        switch = "on" if rules.switch else "off"
        return {"chapter": "configuration", "objective": rules.objective, "change": rules.change, "switch": switch}
    if rules.objective == COMPLETIONS:
        return {"chapter": "planning", "change": rules.change, "objective": rules.objective}
    said = {
        "chapter": "planning",
        "change": rules.change,
        "reference": rules.reference,
        "horizon": repr(rules.horizon / MICROSECONDS_PER_SECOND).removesuffix(".0"),
        "power": rules.power or "none",
    }
    if rules.objective in BY_WORTH:
        said["objective"] = rules.objective
    return said if rules.gate is None else {**said, "gate": rules.gate}


def plan_rules_of(rules: Mapping[str, str]) -> PlanRules:
    """Return what the settings of the chapter *planning* or *configuration* say."""
    if rules["chapter"] == "configuration":
        said = {"objective": "service", "change": "neighbours", "switch": "on", **rules}
        return PlanRules(change=said["change"], objective=said["objective"], switch=said["switch"] == "on")
    usual = {"change": "both", "reference": "best", "horizon": "600", "power": "none", "objective": "throughput"}
    said = {**usual, "gate": "none", **rules}
    return PlanRules(
        objective=said["objective"],
        change=said["change"],
        reference=said["reference"],
        horizon=microseconds(float(said["horizon"])),
        power=None if said["power"] == "none" else said["power"],
        gate=None if said["gate"] == "none" else said["gate"],
    )


def strategy(name: str) -> str:
    """Return the strategy a plan's name tells: without its shape (from ``@``) and its data-parallel degree.

    ``tp4-dp2@1x8c1`` and ``tp4-dp4@2x8c1`` are one strategy on other amounts.

    >>> strategy("tp4-dp2") == strategy("tp4-dp4")
    True
    """
    return _DATA_PARALLEL.sub("", name.partition("@")[0])
