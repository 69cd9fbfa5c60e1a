"""What every chapter of the verifier is: the rules and the arithmetic of one kind of decision, on one round."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from msgspec import UNSET
from msgspec.structs import replace

from muri_opt.rounds import (
    INFORMATION,
    Assignment,
    Decision,
    Job,
    LinearDuals,
    Plan,
    Prices,
    Proof,
    Round,
    Violation,
    Waiting,
    WaitingReason,
)
from muri_opt.verify.amounts import need_of
from muri_opt.verify.feasibility import capacity_breaches, listing_breaches, quota_breaches, shape_breaches, taken
from muri_opt.verify.settings import Rules, Setting, chosen

Amounts = tuple[int, int, int]
"""GPUs, milli-CPUs and MiB."""
Bound = tuple[int, Proof]
"""What no decision is worth more than, and who proves it."""


class Chapter(ABC):
    """Decisions of one kind on a round: which rules they keep, what they are worth, and what none of them exceeds.

    A chapter is told by the ``rules`` of a result, which name it and its ``settings``; it knows no policy. ``read``
    makes one object of the settings, ``rules`` of an instance.
    """

    settings: ClassVar[Mapping[str, Setting]] = {}
    honours: ClassVar[frozenset[str]] = INFORMATION
    """Which fields of format 2 its rules check; a round that uses another is refused, not called feasible."""
    sets_apart: ClassVar[bool] = False
    """Whether what may not be stopped or may not start is no part of what is decided (:mod:`.set_apart`)."""
    has_plans: bool = False
    """Whether jobs run by plans."""
    most_jobs: int = 1
    """How many jobs may share GPUs."""
    mixed: bool = False
    """Whether jobs of unequal GPU counts may."""
    has_rates: bool = False
    """Whether jobs that share may run freely, at rates of their own."""

    _held: tuple[Decision, Counter[str]] | None = None

    def __init__(self, round_: Round, rules: Any) -> None:
        self.round_, self.rules = round_, rules
        self.jobs = {job.id: job for job in round_.jobs}

    @classmethod
    @abstractmethod
    def read(cls, settings: Mapping[str, str]) -> object:
        """Return what the settings say, as the chapter needs it; refuse those that contradict each other."""

    @classmethod
    def honoured(cls, rules: Rules) -> frozenset[str]:  # noqa: ARG003 - one that has several orders asks
        """Return which of the fields that it ``honours`` are checked under these rules: all, unless it says so."""
        return cls.honours

    @classmethod
    def of(cls, round_: Round, rules: Rules) -> Chapter:
        """Return the chapter of a round under the rules of a result."""
        return cls(round_, cls.read(chosen(cls.settings, rules)))

    @abstractmethod
    def parts(self, decision: Decision) -> Iterable[tuple[str, int]]:
        """Yield what each assignment adds to the value, with its first job, and what a waiting job takes away."""

    def over_quotas(self, decision: Decision) -> dict[str, tuple[int, int]]:
        """Return the GPUs of tenants above their quota, and what they add to the value, where quotas may be exceeded.

        A job's part counts all its GPUs as within the quota.
        """
        return {}

    def value(self, decision: Decision) -> int:
        """Return what a decision is worth; what no job may do adds nothing, its breach is told elsewhere."""
        return sum(worth for _, worth in self.parts(decision)) + sum(
            value for _, value in self.over_quotas(decision).values()
        )

    def breaches(self, decision: Decision) -> list[Violation]:
        """Return every rule that a decision breaks; an empty list is a feasible decision."""
        found = [*listing_breaches(self.jobs, decision)]
        for place, assignment in enumerate(decision.assignments):
            where = f"assignments[{place}]"
            members = [self.jobs[job] for job in assignment.jobs if job in self.jobs]
            least = self.least_gpus(members, assignment)
            shape = shape_breaches(self.round_, members, assignment, where, most=self.most_jobs, least=least)
            if len(members) > 1 and not self.mixed and len({job.gpus for job in members}) > 1:
                detail = f"GPU counts {[job.gpus for job in members]}"
                shape.append(Violation(rule="equal-gpus", where=where, detail=detail))
            if assignment.rates is not UNSET and (len(members) < 2 or not self.has_rates):
                detail = f"{assignment.rates}; nobody runs freely with others here"
                shape.append(Violation(rule="rates", where=where, detail=detail))
            found += shape or self.assignment_breaches(members, assignment, where)
        return found or [*self.total_breaches(decision)]

    def decided(self, decision: Decision) -> tuple[Round, Decision]:
        """Return the round that is decided, and the part of a decision that is about it: here all of both."""
        return self.round_, decision

    def least_gpus(self, members: Sequence[Job], assignment: Assignment) -> int:
        """Return the fewest GPUs an assignment may have on a node that it names."""
        return 1

    @abstractmethod
    def assignment_breaches(self, members: Sequence[Job], assignment: Assignment, where: str) -> Iterable[Violation]:
        """Yield what is wrong with one assignment that makes sense in itself."""

    def as_it_is_breaches(self, members: Sequence[Job], assignment: Assignment, where: str) -> Iterable[Violation]:
        """Yield what is wrong with jobs that go on as they are: by default, what is wrong with any."""
        return self.assignment_breaches(members, assignment, where)

    def total_breaches(self, decision: Decision) -> Iterator[Violation]:
        """Yield what is wrong with all assignments together: they must fit nodes and quotas."""
        yield from capacity_breaches(self.round_, self.taken(decision))
        yield from quota_breaches(self.round_, self.held_of_tenants(decision))

    def quota_gpus(self, job: Job, assignment: Assignment) -> int:
        """Return the GPUs that a running job takes of its tenant's quota."""
        return job.gpus

    def held_of_tenants(self, decision: Decision) -> Counter[str]:
        """Return the GPUs that count for the quota of each tenant; of the last decision they are known."""
        known = self._held
        if known is None or known[0] is not decision:
            held: dict[str, int] = {}
            for assignment in decision.assignments:
                for name in assignment.jobs:
                    job = self.jobs[name]
                    tenant = job.tenant or ""
                    held[tenant] = held.get(tenant, 0) + self.quota_gpus(job, assignment)
            known = self._held = decision, Counter(held)
        return known[1]

    @property
    def has_quotas(self) -> bool:
        """Whether no tenant may have more than its quota."""
        return True

    @abstractmethod
    def true_reasons(self, decision: Decision) -> Iterator[tuple[Waiting, WaitingReason]]:
        """Yield for each waiting job of a feasible decision the first rule that keeps it from starting."""

    def change_breaches(self, decision: Decision) -> Iterable[Violation]:
        """Yield what is wrong with the changes that waiting jobs are told would start them."""
        for wait in decision.waiting:
            if wait.changes:
                detail = "no change is checked by these rules"
                yield Violation(rule="waiting-change", where=wait.job, detail=detail)

    def reason_breaches(self, decision: Decision) -> Iterator[Violation]:
        """Yield what is wrong with the reasons and changes that waiting jobs of a feasible decision are told."""
        for wait, true in self.true_reasons(decision):
            if wait.reason != true:
                detail = f"said {wait.reason}; it is {true}"
                yield Violation(rule="waiting-reason", where=wait.job, detail=detail)
        yield from self.change_breaches(decision)

    @abstractmethod
    def bound(self, decision: Decision, prices: Sequence[Prices]) -> Bound | None:
        """Return the best bound that prices, or counting, prove in exact integers; ``None`` where nothing does."""

    @property
    def undecided(self) -> int:
        """How many jobs there are to decide about."""
        return len(self.jobs)

    def quick_bound(self, decision: Decision, prices: Sequence[Prices]) -> Bound | None:
        """Return a bound that is found sooner and may prove less; by default the same."""
        return self.bound(decision, prices)

    def optimum(self, steps: int) -> int | None:
        """Return the value of the best decision by going through all; ``None`` where that takes more ``steps``."""
        return None

    def completed(self, decision: Decision) -> Decision:
        """Return the decision with what may be left out: CPUs, the period of a job alone, who waits and why.

        Who waits is left out as a whole: a list that names some has to name all.
        """
        return self.completed_and_checked(decision)[0]

    def completed_and_checked(self, decision: Decision) -> tuple[Decision, bool]:
        """Return the same, and whether its rules were looked at on the way and none is broken."""
        kept = False
        assignments = tuple(self._completed(assignment) for assignment in decision.assignments)
        if decision.waiting or len(decision.running) == len(self.jobs):
            waiting = decision.waiting
        else:
            silent = [job for job in self.jobs if job not in decision.running]
            waiting = tuple(
                Waiting(job=job, reason=WaitingReason.PRIORITY, detail=UNSAID, remedy=_NO_REMEDY) for job in silent
            )
            whole = Decision(assignments=assignments, waiting=waiting)
            kept = not self.breaches(whole)
            if kept:
                waiting = tuple(replace(wait, reason=true) for wait, true in self.true_reasons(whole))
        same = waiting is decision.waiting and all(
            one is other for one, other in zip(assignments, decision.assignments, strict=True)
        )
        return decision if same else Decision(assignments=assignments, waiting=waiting), kept

    def _completed(self, assignment: Assignment) -> Assignment:
        if assignment.cpus and assignment.period_seconds is not None:
            return assignment
        members = [self.jobs[job] for job in assignment.jobs if job in self.jobs]
        filled: dict[str, object] = {}
        if assignment.period_seconds is None and len(members) == 1:
            period = self.period_alone(members[0], sum(assignment.gpus.values()))
            if period is not None:
                filled["period_seconds"] = period
        cpus = {} if assignment.cpus else self.cpus(members, assignment)
        if cpus:
            filled["cpus"] = cpus
        return replace(assignment, **filled) if filled else assignment

    def sizes(self, job: Job) -> Sequence[int]:
        """Return the GPU counts that a job may run with."""
        return [job.gpus]

    def plan_parts(self, position: int) -> Sequence[tuple[Plan, Amounts]] | None:
        """Return the plans that a job may run by, each with what a part of it takes; ``None`` where it needs none."""
        return None

    def taken(self, decision: Decision) -> Iterable[tuple[str, Amounts]]:
        """Yield what every assignment takes from each of its nodes."""
        return taken(self.jobs, decision)

    def period_alone(self, job: Job, gpus: int) -> float | None:
        """Return how long an iteration of a job that shares with nobody takes."""
        return job.iteration_seconds

    def cpus(self, members: Sequence[Job], assignment: Assignment) -> dict[str, float]:
        """Return the CPUs that the jobs of an assignment need on each node."""
        milli = need_of(members[0]).milli if len(members) == 1 else sum(need_of(job).milli for job in members)
        return {node: gpus * milli / 1000 for node, gpus in assignment.gpus.items()} if milli else {}


UNSAID = "the policy does not say"
_NO_REMEDY = "none was given"


def linear(prices: Iterable[Prices]) -> list[LinearDuals]:
    """Return the multipliers among the prices."""
    return [item for item in prices if isinstance(item, LinearDuals)]


def best_bound(found: Iterable[Bound]) -> Bound | None:
    """Return the least of some bounds, the first of equals."""
    return min(found, key=lambda bound: bound[0], default=None)
