"""Policy ``rubick``: plans and resources together, from the jobs they speed up least to those they speed up most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import ClassVar

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.quantities import microseconds
from muri_opt.systems.history import JobHistory, end_of_patience
from muri_opt.systems.plans.options import PlanOptions
from muri_opt.systems.plans.plan_rules import BY_WORTH, CHANGES, PlanRules
from muri_opt.systems.plans.policy import RESTARTS, SECONDS, ThroughputPolicy
from muri_opt.systems.plans.restart_gate import may_restart
from muri_opt.systems.policy import Allowed, Span
from muri_opt.systems.rubick.algorithm import Reallocation
from muri_opt.systems.rubick.state import State


@dataclass(frozen=True, slots=True, kw_only=True)
class RubickPolicy(ThroughputPolicy):
    """Rubick's published algorithm, in ``algorithm.py``: serve jobs by slope, shrink the lowest to grow a higher one.

    ``change`` says what may differ from what a job asks for: ``both`` plan and resources, ``plans`` (Rubick-E),
    ``resources`` (Rubick-R) or ``neither`` (Rubick-N). A running job restarts only if it keeps the part ``gate`` of its
    run time, or to let a guaranteed job start. A best-effort job that waited longer than ``patience`` seconds comes
    before the others and is not evicted for them.

    ``objective`` is the ``throughput`` of all jobs, or what that is worth for ``completion`` times: jobs are ranked by
    the service they have left, and by ``completion-attained`` by what they have had. The algorithm goes by it as well.

    ``restarts=gate`` is as ``pay``, and the gate counts in the value: a job that may not restart is worth nothing by a
    restart, and that it stays where it is outweighs all throughput, whoever decides.

    Every change adds throughput in total or starts a guaranteed job, so no decision is worth less than the present
    allocation. Where the publication is silent: slopes count the time of a restart as lost throughput and look past
    the next GPU to the steepest rise; a job takes the option with the highest net gain; CPUs change without a restart.

    >>> sorted(policy_from("rubick").decide(shipped_round("toy/five-plans"), 0).running)
    ['a', 'b', 'd', 'e']
    """

    change: str = "both"
    gate: str = "0.97"
    patience: str = "inf"
    objective: str = "throughput"

    own_name: ClassVar[str] = "rubick"
    choices: ClassVar[Mapping[str, Allowed]] = {
        "change": CHANGES,
        **ThroughputPolicy.choices,
        "gate": Span(0, 1),
        "restarts": (*RESTARTS, "gate"),
        "patience": Span(0, SECONDS, words=("inf",)),
        "objective": ("throughput", *BY_WORTH),
    }

    @property
    def plan_rules(self) -> PlanRules:
        """Which plans a job may run by, and their worth: nothing by a restart where the gate counts and is shut."""
        horizon, gate = microseconds(float(self.horizon)), self.gate if self.restarts == "gate" else None
        return PlanRules(
            change=self.change, reference=self.reference, horizon=horizon, gate=gate, objective=self.objective
        )

    def wakes(self, running: JobHistory, waiting: JobHistory) -> float:
        """Return when the patience of a waiting job ends."""
        return inf if self.patience == "inf" else end_of_patience(microseconds(float(self.patience)), waiting)

    @property
    def looks_at_clock(self) -> bool:
        """It is done soon after its time is over."""
        return True

    def choose(self, round_: Round, options: PlanOptions, seed: int, until: float = inf) -> Mapping[int, Ints]:
        """Return the nodes of each option that runs.

        Running jobs start where they are; the rest is the paper's algorithm.
        """
        starving = self._starving(round_, options)
        state = State(round_, options, self._firm(round_), starving)
        state.keep_present()
        Reallocation(state, until).run()
        return state.chosen

    def _firm(self, round_: Round) -> set[int]:
        gate = Fraction(self.gate)
        running = (place for place, job in enumerate(round_.jobs) if job.state == "running" and job.placement)
        return {place for place in running if not may_restart(round_.jobs[place], gate)}

    def _starving(self, round_: Round, options: PlanOptions) -> set[int]:
        if self.patience == "inf":
            return set()
        patience = microseconds(float(self.patience))
        return {
            place
            for place, job in enumerate(round_.jobs)
            if job.state == "waiting"
            and not options.guaranteed[place]
            and microseconds(job.waiting_seconds or 0.0) > patience
        }
