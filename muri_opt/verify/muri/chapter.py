"""The chapter *grouping*: jobs that interleave their stages on the same GPUs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isclose
from typing import ClassVar

import numpy as np
from msgspec import UNSET

from muri_opt.rounds import Assignment, Decision, Job, Prices, Proof, Round, Violation, Waiting, WaitingReason
from muri_opt.verify.amounts import need_of
from muri_opt.verify.chapter import Bound, Chapter, best_bound
from muri_opt.verify.demands import asked_of, start_breaches
from muri_opt.verify.feasibility import cpu_breaches, gang_breaches, period_breaches
from muri_opt.verify.gangs.asked_reasons import asked_reasons
from muri_opt.verify.muri.counting import counted_bound
from muri_opt.verify.muri.dual_bound import sharing_bound
from muri_opt.verify.muri.enumeration import enumerated_optimum
from muri_opt.verify.muri.periods import Timed
from muri_opt.verify.muri.rules import HONOURED, MEASURED, SETTINGS, Sharing
from muri_opt.verify.muri.timed_groups import timed_groups
from muri_opt.verify.muri.value import Sharers, sharers_of
from muri_opt.verify.settings import Rules, Setting
from muri_opt.verify.sharing_now import going_on
from muri_opt.verify.waiting_reasons import true_reasons, wrong_changes


class GroupChapter(Chapter):
    """Groups of jobs on the GPUs of the largest, at the period of their best or worst order or each at its rate."""

    settings: ClassVar[Mapping[str, Setting]] = SETTINGS
    sets_apart: ClassVar[bool] = True
    honours: ClassVar[frozenset[str]] = HONOURED

    def __init__(self, round_: Round, rules: Sharing) -> None:
        super().__init__(round_, rules)
        self.rules: Sharing = rules
        self._asked = asked_of(round_)
        self._timed: dict[int, Timed] = {}
        """Periods of the groups of the decision that is looked at, by the assignment."""
        self.most_jobs, self.mixed = rules.most_jobs(len(round_.resources)), rules.mixed
        self.has_rates = rules.run != "lock-step"

    @classmethod
    def honoured(cls, rules: Rules) -> frozenset[str]:
        """Return the fields that are checked: measured rates where groups may run freely."""
        return cls.honours if rules.get("run", "lock-step") == "lock-step" else cls.honours | {MEASURED}

    @classmethod
    def read(cls, settings: Mapping[str, str]) -> Sharing:
        """Return how jobs share GPUs."""
        return Sharing.of(settings)

    def parts(self, decision: Decision) -> Iterator[tuple[str, int]]:
        """Yield what each group is worth; one without a period adds nothing."""
        alike: dict[int, list[list[int]]] = {}
        stay: dict[int, list[bool]] = {}
        sharers, all_jobs, index = self._sharers, self.round_.jobs, self.round_.job_index
        kept = going_on(self.round_, decision) if sharers.pays else [False] * len(decision.assignments)
        for assignment, stays in zip(decision.assignments, kept, strict=True):
            jobs = [index[job] for job in assignment.jobs if job in index]
            staged = None not in [all_jobs[job].stage_seconds for job in jobs]
            if staged and 1 <= len(jobs) <= self.most_jobs:
                alike.setdefault(len(jobs), []).append(jobs)
                stay.setdefault(len(jobs), []).append(stays)
        for size, same in alike.items():
            firsts = (self.round_.jobs[group[0]].id for group in same)
            values = sharers.values(np.array(same), kept=np.array(stay[size], dtype=np.bool_))
            yield from zip(firsts, values.tolist(), strict=True)

    def breaches(self, decision: Decision) -> list[Violation]:
        """Return every rule that a decision breaks; periods are worked out for all its groups at once."""
        timed = timed_groups(self.rules, self.jobs, decision)
        self._timed = {id(decision.assignments[place]): times for place, times in timed.items()}
        try:
            return super().breaches(decision)
        finally:
            self._timed = {}

    def assignment_breaches(self, members: Sequence[Job], assignment: Assignment, where: str) -> list[Violation]:
        """Return why a group does not have the GPUs of its largest job, its CPUs and its period, where all may be."""
        found = [*gang_breaches(members, assignment, where, mixed=self.mixed)]
        if self._asked is not None:
            found += [breach for job in members for breach in start_breaches(self.round_, job, assignment, where)]
        found += self._period_breaches(members, assignment, where)
        return [*found, *cpu_breaches(members, assignment, where)]

    def _period_breaches(self, members: Sequence[Job], assignment: Assignment, where: str) -> Iterator[Violation]:
        """Yield why a group does not run at the period of its best or worst order, and in such an order."""
        if len(members) == 1:
            yield from period_breaches(members[0], assignment, where)
        if len(members) < 2:
            return
        if any(job.stage_seconds is None for job in members):
            yield Violation(rule="period", where=where, detail="a job without stage times shares GPUs")
            return
        rates = self._free_rates(members)
        if rates is not None:
            yield from _rate_breaches(assignment, rates, where)
            return
        if assignment.rates is not UNSET:
            yield Violation(rule="rates", where=where, detail=f"{assignment.rates}; the group is in lock step")
        known = self._timed.get(id(assignment))
        period = self.rules.period(members) if known is None else known.period
        if (self.rules.period(members, assignment.order) if known is None else known.in_order) != period:
            extreme = "greatest" if self.rules.worst else "least"
            detail = f"{list(assignment.order)} does not reach the {extreme} period"
            yield Violation(rule="order", where=where, detail=detail)
        slow = self.rules.slowdown(len(members))
        expected = period * slow.numerator / (1_000_000 * slow.denominator)  # of whole numbers it is rounded once
        if assignment.period_seconds is None or not isclose(assignment.period_seconds, expected, rel_tol=1e-12):
            detail = f"{assignment.period_seconds} s; the group takes {expected} s"
            yield Violation(rule="period", where=where, detail=detail)

    def _free_rates(self, members: Sequence[Job]) -> list[float] | None:
        """Return the rate of each job if they are to run freely together."""
        if not self.has_rates:
            return None
        group = np.array([[self.round_.job_index[job.id] for job in members]])
        free = self._sharers.freely(group)
        if free is None or not free[0]:
            return None
        return [rate / 1_000_000 for rate in self._sharers.rates(group)[0].tolist()]

    @property
    def _sharers(self) -> Sharers:
        return sharers_of(self.round_, self.rules)

    def true_reasons(self, decision: Decision) -> Iterator[tuple[Waiting, WaitingReason]]:
        """Yield why each job waits: for GPUs of its own, as joining a group is always open to it."""
        if self._asked is not None:
            held = self.held_of_tenants(decision)
            return asked_reasons(self.round_, decision, held, self._asked, fewest_nodes=False)
        return true_reasons(self.round_, decision, self.held_of_tenants(decision), need_of)

    def change_breaches(self, decision: Decision) -> Iterable[Violation]:
        """Yield changes that would not start the job they are told to."""
        return wrong_changes(self.round_, decision, self.held_of_tenants(decision))

    def bound(self, decision: Decision, prices: Sequence[Prices]) -> Bound | None:
        """Return the best of weak duality, of linear programs and of matchings, and of counting in large rounds."""
        found = [(sharing_bound(self.round_, self.rules, item), item.proof) for item in prices]
        found.append((counted_bound(self.round_, self.rules), Proof.COUNTING))
        return best_bound((bound, proof) for bound, proof in found if bound is not None)

    def optimum(self, steps: int) -> int | None:
        """Return the optimum by enumeration, where jobs ask for certain nodes, have priorities, or pay for changes."""
        plain = self._asked is None and "job.priority" not in self.round_.used_fields
        if plain and not self._sharers.pays:
            return None
        return enumerated_optimum(self.round_, self.rules, steps=steps)


def _rate_breaches(assignment: Assignment, rates: Sequence[float], where: str) -> Iterator[Violation]:
    """Yield why a group that is to run freely does not: it has a rate for each job, no period, and no slots."""
    said = () if assignment.rates is UNSET else tuple(assignment.rates)
    if len(said) != len(rates) or not all(map(isclose, said, rates)):
        yield Violation(rule="rates", where=where, detail=f"{list(said)}; running freely, the jobs have {list(rates)}")
    if assignment.period_seconds is not None:
        detail = f"{assignment.period_seconds} s; a group that runs freely has rates and no period"
        yield Violation(rule="period", where=where, detail=detail)
    if assignment.order != tuple(range(len(rates))):
        detail = f"{list(assignment.order)}; a group that runs freely has no slots, so its jobs are as they are listed"
        yield Violation(rule="order", where=where, detail=detail)
