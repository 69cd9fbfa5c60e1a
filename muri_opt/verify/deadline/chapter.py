"""The chapter *deadline*: every job has a share that it may have, and those in time count before all else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isclose
from typing import ClassVar, Final

from muri_opt.rounds import (
    INFORMATION,
    Assignment,
    Decision,
    Job,
    Prices,
    Proof,
    Round,
    Violation,
    Waiting,
    WaitingReason,
)
from muri_opt.rounds.field_groups import PLACES, STATES
from muri_opt.verify.amounts import Need, micro, need_of
from muri_opt.verify.chapter import Bound, Chapter
from muri_opt.verify.deadline.optimum import counted_bound, enumerated_optimum, stay_gpus
from muri_opt.verify.deadline.shares import shares_of
from muri_opt.verify.deadline.value import values_of
from muri_opt.verify.demands import asked_of, pinned_breaches, start_breaches
from muri_opt.verify.feasibility import capacity_breaches, cpu_breaches, quota_breaches
from muri_opt.verify.gangs.asked_reasons import asked_reasons
from muri_opt.verify.settings import Setting
from muri_opt.verify.waiting_reasons import true_reasons

HONOURED: Final = INFORMATION | PLACES | STATES | {"job.deadline", "job.priority", "tenant.parent"}


class DeadlineChapter(Chapter):
    """Shares within nodes and quotas; the round is decided again after the ``interval`` of the rules."""

    settings: ClassVar[Mapping[str, Setting]] = {"interval": Setting(usual="300", least=1, most=1e9)}
    honours: ClassVar[frozenset[str]] = HONOURED

    def __init__(self, round_: Round, rules: int) -> None:
        super().__init__(round_, rules)
        self.rules: int = rules
        self._asked = asked_of(round_)
        self._shares = shares_of(round_)

    @classmethod
    def read(cls, settings: Mapping[str, str]) -> int:
        """Return the interval in microseconds."""
        return micro(float(settings["interval"]))

    def parts(self, decision: Decision) -> Iterable[tuple[str, int]]:
        """Yield what each share is worth."""
        values = values_of(self.round_, self.rules)
        for one in decision.assignments:
            for name in one.jobs[:1]:
                if name in values:
                    stays = self._stays(self.jobs[name], one)
                    yield name, values.worth(name, sum(one.gpus.values()), stays=stays)

    def _stays(self, job: Job, assignment: Assignment) -> bool:
        """Return whether a job goes on just as it is."""
        return self._shares.home(job) is not None and dict(assignment.gpus) == dict(job.placement or {})

    def assignment_breaches(self, members: Sequence[Job], assignment: Assignment, where: str) -> list[Violation]:
        """Return why a job may not have its share, or not there, or does not have its CPUs."""
        found = [breach for job in members for breach in self._share_breaches(job, assignment, where)]
        for job in members if self._asked is not None else ():
            found += start_breaches(self.round_, job, assignment, where)
        return [*found, *cpu_breaches(members, assignment, where)]

    def _share_breaches(self, job: Job, assignment: Assignment, where: str) -> Iterator[Violation]:
        given, sizes = sum(assignment.gpus.values()), self._shares.sizes(job)
        if given not in sizes:
            detail = f"job {job.id!r} has {given} GPUs; it may have {sizes[0] if sizes else 'none'} to {[*sizes[-1:]]}"
            yield Violation(rule="share", where=where, detail=detail)
            return
        held = sum((job.placement or {}).values())
        if job.stays and given != held:
            detail = f"job {job.id!r} runs with {held} GPUs and may not be stopped; it has {given}"
            yield Violation(rule="preemptible", where=where, detail=detail)
        expected, said = self._shares.period(job, given), assignment.period_seconds
        same = said == expected if said is None or expected is None else isclose(said, expected, rel_tol=1e-12)
        if not same:
            detail = f"{said} s; with {given} GPUs an iteration of job {job.id!r} takes {expected} s"
            yield Violation(rule="period", where=where, detail=detail)

    def total_breaches(self, decision: Decision) -> Iterator[Violation]:
        """Yield what does not fit, and who is stopped though nobody may."""
        yield from capacity_breaches(self.round_, self.taken(decision))
        yield from pinned_breaches(self.round_, decision)
        yield from quota_breaches(self.round_, self.held_of_tenants(decision), stay_gpus(self.round_))

    def quota_gpus(self, job: Job, assignment: Assignment) -> int:
        """Return the share: what a job asks for does not count."""
        return sum(assignment.gpus.values())

    def true_reasons(self, decision: Decision) -> Iterator[tuple[Waiting, WaitingReason]]:
        """Yield why each job waits: the least of its shares lets it start."""
        held = self.held_of_tenants(decision)
        if self._asked is None:
            return true_reasons(self.round_, decision, held, self._least)
        return asked_reasons(self.round_, decision, held, self._asked, fewest_nodes=False, needs=self._least)

    def _least(self, job: Job) -> Need:
        need = need_of(job)
        return Need(gpus=min(self._shares.sizes(job), default=1), milli=need.milli, mebibytes=need.mebibytes)

    def bound(self, decision: Decision, prices: Sequence[Prices]) -> Bound | None:
        """Return the bound by counting GPUs and quotas."""
        return counted_bound(self.round_, values_of(self.round_, self.rules)), Proof.COUNTING

    def optimum(self, steps: int) -> int | None:
        """Return the optimum by enumeration."""
        return enumerated_optimum(self.round_, values_of(self.round_, self.rules), steps=steps)

    def sizes(self, job: Job) -> Sequence[int]:
        """Return the shares that a job may have."""
        return self._shares.sizes(job)

    def period_alone(self, job: Job, gpus: int) -> float | None:
        """Return how long an iteration takes with so many GPUs."""
        return self._shares.period(job, gpus) if gpus in self._shares.sizes(job) else None
