"""The chapter *gangs*: every job has all its GPUs or none, and is worth what its rank says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import ClassVar

from muri_opt.rounds import Assignment, Decision, Job, Prices, Proof, Round, Violation, Waiting, WaitingReason
from muri_opt.rounds.field_groups import SHARES
from muri_opt.verify.amounts import empty_rooms, need_of
from muri_opt.verify.chapter import Bound, Chapter, best_bound, linear
from muri_opt.verify.counted_parts import empty_parts
from muri_opt.verify.demands import Asked, pinned_breaches, start_breaches, starts_of
from muri_opt.verify.feasibility import (
    capacity_breaches,
    cpu_breaches,
    gang_breaches,
    period_breaches,
    quota_breaches,
)
from muri_opt.verify.gangs.asked_reasons import asked_reasons
from muri_opt.verify.gangs.counting import able_jobs, knapsack_bound, prefix_bound
from muri_opt.verify.gangs.dual_bound import dual_bound
from muri_opt.verify.gangs.enumeration import enumerated_optimum
from muri_opt.verify.gangs.rules import HONOURED, SETTINGS, GangRules
from muri_opt.verify.gangs.staying import open_round, staying_breaches
from muri_opt.verify.gangs.tenant_prices import TenantSupply
from muri_opt.verify.gangs.value import Kept, job_values, kept_jobs
from muri_opt.verify.gangs.wishes import is_inside, wishes
from muri_opt.verify.settings import Rules, Setting
from muri_opt.verify.type_quotas import type_breaches, used_by_type, used_of
from muri_opt.verify.waiting_reasons import true_reasons, wrong_changes


class GangChapter(Chapter):
    """Gangs anywhere within GPUs, CPUs, memory and quotas; or on the fewest nodes, or around those that run."""

    settings: ClassVar[Mapping[str, Setting]] = SETTINGS
    honours: ClassVar[frozenset[str]] = HONOURED

    def __init__(self, round_: Round, rules: GangRules) -> None:
        super().__init__(round_, rules)
        self.rules: GangRules = rules
        self._empty = Counter(empty_rooms(round_)) if rules.fewest_nodes else None
        self._asked = starts_of(round_)

    @classmethod
    def read(cls, settings: Mapping[str, str]) -> GangRules:
        """Return how gangs are ranked and what they are worth."""
        return GangRules.of(settings)

    @classmethod
    def honoured(cls, rules: Rules) -> frozenset[str]:
        """Return the fields that are checked: weights and decayed use only where they make the order."""
        return cls.honours if rules.get("order") == "fair-share" else cls.honours - SHARES

    def parts(self, decision: Decision) -> Iterable[tuple[str, int]]:
        """Yield the value of each job that runs, and one more if it is inside a unit that it prefers."""
        values, wished = job_values(self.round_, self.rules), wishes(self.round_, self.rules)
        if not wished:
            return ((job, values[job]) for job in decision.running if job in values)
        of = {job: one.gpus for one in decision.assignments for job in one.jobs if job in values}
        return (
            (job, values[job] * (len(wished) + 1) + (job in wished and is_inside(self.round_, wished[job], gpus)))
            for job, gpus in of.items()
        )

    def assignment_breaches(self, members: Sequence[Job], assignment: Assignment, where: str) -> list[Violation]:
        """Return why a job does not have all its GPUs, CPUs with them, and its own speed."""
        stays = assignment.jobs[0] in self._kept
        empty = None if stays or self._asked is not None else self._empty
        found = [*gang_breaches(members, assignment, where, fewest=empty)]
        if self._asked is not None:
            for job in members:
                found += start_breaches(self.round_, job, assignment, where)
                found += [] if stays else self._fewest_breaches(job, self._asked[job.id], assignment, where)
        found += [breach for job in members for breach in period_breaches(job, assignment, where)]
        return [*found, *cpu_breaches(members, assignment, where)]

    @cached_property
    def _kept(self) -> Kept:
        """The running jobs that must stay where they are."""
        return kept_jobs(self.round_, self.rules)

    def _fewest_breaches(self, job: Job, asked: Asked, assignment: Assignment, where: str) -> Iterator[Violation]:
        """Yield a breach if a gang is on more nodes than it needs, and is not one that may stay there."""
        at_home = asked.must and dict(assignment.gpus) == dict(job.placement or {})
        if not self.rules.fewest_nodes or at_home:
            return
        limit = empty_parts(self.round_).node_count(asked, need_of(job))
        if limit is not None and len(assignment.gpus) > limit:
            detail = f"job {job.id!r} sits on {len(assignment.gpus)} nodes, {limit} would do"
            yield Violation(rule="fewest-nodes", where=where, detail=detail)

    def total_breaches(self, decision: Decision) -> Iterator[Violation]:
        """Yield what does not fit, and who is stopped or moved though nobody may be."""
        kept = kept_jobs(self.round_, self.rules)
        stay = Counter[str]()
        pinned = [job.id for job in self.round_.jobs if job.stays] if self._asked is not None else []
        for job in (self.jobs[name] for name in {*kept, *pinned}):
            stay[job.tenant or ""] += job.gpus
        yield from capacity_breaches(self.round_, self.taken(decision))
        yield from pinned_breaches(self.round_, decision)
        told = {job for job in pinned if self.jobs[job].stays_put}  # by the rules preemptible and movable
        yield from staying_breaches(decision, {job: held for job, held in kept.items() if job not in told})
        yield from quota_breaches(self.round_, self.held_of_tenants(decision), stay)
        if "tenant.quota_by_type" in self.round_.used_fields:
            stays = [(self.jobs[name], self.jobs[name].placement or {}) for name in {*kept, *pinned}]
            yield from type_breaches(self.round_, used_of(self.round_, decision), used_by_type(self.round_, stays))

    def true_reasons(self, decision: Decision) -> Iterator[tuple[Waiting, WaitingReason]]:
        """Yield why each job waits."""
        held, few = self.held_of_tenants(decision), self.rules.fewest_nodes
        if self._asked is not None:
            return asked_reasons(self.round_, decision, held, self._asked, fewest_nodes=few)
        return true_reasons(self.round_, decision, held, need_of, fewest_nodes=few)

    def change_breaches(self, decision: Decision) -> Iterable[Violation]:
        """Yield changes that would not start the job they are told to."""
        held = self.held_of_tenants(decision)
        return wrong_changes(self.round_, decision, held, fewest_nodes=self.rules.fewest_nodes)

    def bound(self, decision: Decision, prices: Sequence[Prices]) -> Bound | None:
        """Return the best of weak duality, the order itself, and counting GPUs where those leave a gap."""
        values, left = job_values(self.round_, self.rules), open_round(self.round_, self.rules)
        asked, wished = self._asked, len(wishes(self.round_, self.rules))
        tenants = None
        if not {"tenant.borrow_gpus", "tenant.quota_by_type"}.isdisjoint(self.round_.used_fields):
            tenants = TenantSupply(self.round_, self.rules)
        able = able_jobs(left, asked)
        found = [
            (dual_bound(left, values, item, asked, tenants, able=able), Proof.LINEAR_DUALS) for item in linear(prices)
        ]
        if self.rules.lexicographic:
            found.append((prefix_bound(left, values, decision, able=able), Proof.COUNTING))
        if not found or min(found)[0] > self.value(decision) // (wished + 1):
            counted = knapsack_bound(left, values, able=able)
            found += [] if counted is None else [(counted, Proof.COUNTING)]
        return best_bound((bound * (wished + 1) + wished, proof) for bound, proof in found)

    def optimum(self, steps: int) -> int | None:
        """Return the optimum by enumeration."""
        return enumerated_optimum(self.round_, self.rules, steps=steps)
