"""The chapters *planning* and *configuration*: every job runs by one of its plans, or by one of its configurations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from muri_opt.rounds import (
    INFORMATION,
    Assignment,
    Decision,
    Job,
    Plan,
    Prices,
    Proof,
    Round,
    Violation,
    Waiting,
    WaitingReason,
)
from muri_opt.rounds.field_groups import PLACES, SHAPES, STATES
from muri_opt.verify.amounts import micro
from muri_opt.verify.chapter import Amounts, Bound, Chapter, best_bound, linear
from muri_opt.verify.plans.counting import counted_plans
from muri_opt.verify.plans.dual_bound import planned_bound
from muri_opt.verify.plans.optimum import planned_optimum
from muri_opt.verify.plans.plan_choices import PlanChoices, has_shape, is_for, types_of
from muri_opt.verify.plans.rules import plan_breaches, plan_reasons, taken_by_plans
from muri_opt.verify.plans.rules_at_once import keeps_rules, reasons_at_once
from muri_opt.verify.plans.value import BY_WORTH, Planned
from muri_opt.verify.settings import Setting, one_of


class PlanChapter(Chapter):
    """Plans on nodes with room for all their parts, worth the throughput they give."""

    settings: ClassVar[Mapping[str, Setting]] = {
        "change": one_of("both", "plans", "resources", "neither"),
        "reference": one_of("best", "requested"),
        "horizon": Setting(usual="600", least=1e-6),
        "power": one_of("none", "-0.5", "-1"),
        "objective": one_of("throughput", "completions", *BY_WORTH),
        "gate": Setting(usual="none", least=0.0, most=1.0, words=("none",)),
    }

    honours: ClassVar[frozenset[str]] = INFORMATION | PLACES | SHAPES | STATES | {"job.priority", "tenant.parent"}
    has_plans = True
    sets_apart: ClassVar[bool] = True

    def __init__(self, round_: Round, rules: Planned) -> None:
        super().__init__(round_, rules)
        self.rules: Planned = rules

    @classmethod
    def read(cls, settings: Mapping[str, str]) -> Planned:
        """Return which plans a job may run by, and what they are worth."""
        return Planned(
            change=settings["change"],
            reference=settings["reference"],
            horizon=micro(float(settings["horizon"])),
            power=None if settings["power"] == "none" else settings["power"],
            objective=settings["objective"],
            gate=None if settings["gate"] == "none" else settings["gate"],
        )

    @property
    def menu(self) -> PlanChoices:
        """All ways the jobs of the round may run."""
        return PlanChoices.of(self.round_, self.rules)

    def parts(self, decision: Decision) -> Iterable[tuple[str, int]]:
        """Yield what each job is worth by its plan."""
        menu, firsts = self.menu, [one for one in decision.assignments if one.jobs and one.jobs[0] in self.jobs]
        return ((one.jobs[0], menu.value(self.round_, Decision(assignments=(one,)))) for one in firsts)

    def value(self, decision: Decision) -> int:
        """Return what a decision is worth."""
        return self.menu.value(self.round_, decision)

    def breaches(self, decision: Decision) -> list[Violation]:
        """Return every rule that a decision breaks; most break none, which is seen in one look at all of it."""
        kept = bool(decision.assignments) and keeps_rules(self.round_, self.menu, decision, self.quota_gpus)
        return [] if kept else super().breaches(decision)

    def least_gpus(self, members: Sequence[Job], assignment: Assignment) -> int:
        """Return 0 where a job has the plan it names, if it names one, in a form that needs no GPU."""
        names = {plan.name for job in members for plan in job.plans or () if plan.gpus == 0}
        cpus_only = bool(names) if assignment.plan is None else assignment.plan in names
        return 0 if cpus_only else 1

    def assignment_breaches(self, members: Sequence[Job], assignment: Assignment, where: str) -> list[Violation]:
        """Return why a job may not run by its plan, or not there."""
        positions = [self.round_.job_index[job.id] for job in members]
        return [
            breach
            for position in positions
            for breach in plan_breaches(self.round_, self.menu, position, assignment, where, self.rules)
        ]

    def as_it_is_breaches(self, members: Sequence[Job], assignment: Assignment, where: str) -> Iterator[Violation]:
        """Yield why a job does not go on by the plan that it runs by; what it may change to is not asked."""
        for job in members:
            if assignment.plan != job.plan:
                detail = f"job {job.id!r} runs by {job.plan!r}, and goes on by {assignment.plan!r}"
                yield Violation(rule="plan", where=where, detail=detail)
            elif dict(assignment.cpus) != self.cpus([job], assignment):
                detail = f"{dict(assignment.cpus)} CPUs; the plan takes {self.cpus([job], assignment)}"
                yield Violation(rule="cpus-with-gpus", where=where, detail=detail)

    def taken(self, decision: Decision) -> Iterable[tuple[str, Amounts]]:
        """Yield what every part of a plan takes from its node."""
        return taken_by_plans(self.round_, self.menu, decision)

    def sizes(self, job: Job) -> Sequence[int]:
        """Return the GPU counts of the plans it may run by."""
        return [way.plan.gpus for way in self.menu.ways[self.round_.job_index[job.id]]]

    def plan_parts(self, position: int) -> Sequence[tuple[Plan, Amounts]]:
        """Return the plans of a job whose parts are equal, each with what a part of it takes."""
        return [(plan, piece) for plan, piece, wide in self.menu.entries[position] if wide is None]

    def quota_gpus(self, job: Job, assignment: Assignment) -> int:
        """Return the GPUs it asks for if it has a guarantee; others take nothing of a quota."""
        return job.gpus if job.guarantee is not None else 0

    def true_reasons(self, decision: Decision) -> Iterator[tuple[Waiting, WaitingReason]]:
        """Yield why each job waits."""
        held = self.held_of_tenants(decision)
        found = reasons_at_once(self.round_, self.menu, decision, held)
        return plan_reasons(self.round_, self.menu, decision, held) if found is None else found

    def bound(self, decision: Decision, prices: Sequence[Prices]) -> Bound | None:
        """Return the best of weak duality, and of counting GPUs where that leaves a gap."""
        menu = self.menu
        found = [(planned_bound(self.round_, menu, item), Proof.LINEAR_DUALS) for item in linear(prices)]
        if not found or min(found)[0] > self.value(decision):
            counted = counted_plans(self.round_, menu)
            found += [] if counted is None else [(counted, Proof.COUNTING)]
        return best_bound(found)

    def quick_bound(self, decision: Decision, prices: Sequence[Prices]) -> Bound | None:
        """Return the best of weak duality; of counting only where there are no prices."""
        menu = self.menu
        found = [(planned_bound(self.round_, menu, item), Proof.LINEAR_DUALS) for item in linear(prices)]
        return best_bound(found) or self.bound(decision, prices)

    def optimum(self, steps: int) -> int | None:
        """Return the optimum by enumeration."""
        return planned_optimum(self.round_, self.menu, steps=steps)

    def period_alone(self, job: Job, gpus: int) -> float | None:
        """Return nothing: a plan has a throughput and no period."""
        return None

    def cpus(self, members: Sequence[Job], assignment: Assignment) -> dict[str, float]:
        """Return the CPUs of the parts of the plan that the assignment names, of the one for its GPU type."""
        nodes, types = sorted(assignment.gpus), types_of(self.round_, assignment)
        for job in members[:1]:
            for entry in self.menu.entries[self.round_.job_index[job.id]]:
                if has_shape(entry, assignment) and is_for(entry, types):
                    milli = {node: entry.piece_with(assignment.gpus[node]).milli for node in nodes}
                    return {node: cpus / 1000 for node, cpus in milli.items()} if any(milli.values()) else {}
        return {}


class ConfigurationChapter(PlanChapter):
    """Configurations of servers and workers: the most jobs run, and then with the least remaining time."""

    settings: ClassVar[Mapping[str, Setting]] = {
        "objective": one_of("service", "time"),
        "change": one_of("neighbours", "same", "configurations"),
        "switch": one_of("on", "off"),
    }
    honours: ClassVar[frozenset[str]] = PlanChapter.honours - {"plan.nodes"}

    @classmethod
    def read(cls, settings: Mapping[str, str]) -> Planned:
        """Return which configurations a job may run by, and what they are worth."""
        switch = settings["switch"] == "on"
        return Planned(change=settings["change"], objective=settings["objective"], switch=switch)
