"""The chapter *joint*: shares of GPUs, and partners on them, decided together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import isclose
from typing import ClassVar

from msgspec.structs import replace as replace_job

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
from muri_opt.verify.amounts import NO_LIMIT, Need, need_of
from muri_opt.verify.chapter import Amounts, Bound, Chapter, best_bound, linear
from muri_opt.verify.demands import asked_of, start_breaches
from muri_opt.verify.feasibility import cpu_breaches, taken
from muri_opt.verify.gangs.asked_reasons import asked_reasons
from muri_opt.verify.joint.bounds import joint_bound
from muri_opt.verify.joint.enumeration import enumerated_joint
from muri_opt.verify.joint.plans import NANO, parts_of, plan_breaches, planned
from muri_opt.verify.joint.reasons import joint_reasons, rooms_left
from muri_opt.verify.joint.rules import SETTINGS, Joint
from muri_opt.verify.joint.timed_groups import timed_groups
from muri_opt.verify.joint.value import Workers, workers_of
from muri_opt.verify.muri.periods import Timed
from muri_opt.verify.plans.plan_choices import is_for, types_of
from muri_opt.verify.settings import Setting
from muri_opt.verify.waiting_reasons import true_reasons


class JointChapter(Chapter):
    """Groups of up to four jobs on GPUs that each of them can have, worth what their work is for completion times."""

    settings: ClassVar[Mapping[str, Setting]] = SETTINGS
    sets_apart: ClassVar[bool] = True
    honours: ClassVar[frozenset[str]] = INFORMATION | PLACES | STATES | {"job.priority", "tenant.parent"}

    def __init__(self, round_: Round, rules: Joint) -> None:
        super().__init__(round_, rules)
        self.rules: Joint = rules
        self._workers: Workers = workers_of(round_, rules)
        self.most_jobs, self.mixed = self._workers.most_jobs, True
        self.has_plans = any(job.plans for job in self._workers.jobs)
        self._asked = asked_of(round_)
        self._timed: tuple[Decision, dict[int, Timed]] | None = None

    @classmethod
    def read(cls, settings: Mapping[str, str]) -> Joint:
        """Return how jobs share and what that is worth."""
        return Joint.of(settings)

    def parts(self, decision: Decision) -> Iterator[tuple[str, int]]:
        """Yield what each group adds; one on GPUs that it cannot have adds nothing."""
        places, timed = self.round_.job_index, self._times_of(decision)
        for assignment in decision.assignments:
            members = [places[job] for job in assignment.jobs if job in places]
            if members:
                known = timed.get(id(assignment))
                period = None if known is None else known.period
                yield assignment.jobs[0], self._workers.value(members, assignment, period)

    def breaches(self, decision: Decision) -> list[Violation]:
        """Return every rule that a decision breaks; periods are worked out for all its groups at once."""
        self._times_of(decision)
        return super().breaches(decision)

    def _times_of(self, decision: Decision) -> dict[int, Timed]:
        """Return the periods of groups by the identity of their assignments; those of the last decision are known."""
        if self._timed is None or self._timed[0] is not decision:
            timed = timed_groups(self._workers, decision)
            self._timed = decision, {id(decision.assignments[place]): times for place, times in timed.items()}
        return self._timed[1]

    def assignment_breaches(self, members: Sequence[Job], assignment: Assignment, where: str) -> list[Violation]:
        """Return why jobs may not share these GPUs, or be there, or do not have their CPUs or their period."""
        places, given = [self.round_.job_index[job.id] for job in members], sum(assignment.gpus.values())
        found = [*self._start_breaches(members, places, assignment, where)]
        if len(members) == 1 and self._workers.jobs[places[0]].plans:
            plans = self._workers.jobs[places[0]].plans
            return [*found, *plan_breaches(self.round_, plans, members[0], assignment, where)]
        if assignment.plan is not None:
            detail = f"{assignment.plan!r}; only a job alone, with plans, runs by one"
            found.append(Violation(rule="plan", where=where, detail=detail))
        for job, place in zip(members, places, strict=True):
            worker = self._workers.jobs[place]
            if given not in worker.by_gpus:
                detail = f"job {job.id!r} has {given} GPUs; it can have {_ranges(worker.by_gpus)}"
                found.append(Violation(rule="share", where=where, detail=detail))
            if len(members) > 1 and worker.stages is None:
                detail = f"job {job.id!r} has no stage times to share by"
                found.append(Violation(rule="partners", where=where, detail=detail))
        if not found:
            found += self._period_breaches(members, places, assignment, where)
        return [*found, *cpu_breaches(members, assignment, where)]

    def _start_breaches(
        self, members: Sequence[Job], places: Sequence[int], assignment: Assignment, where: str
    ) -> Iterator[Violation]:
        """Yield what jobs ask of the nodes where they start; a group that goes on as it is may do so anywhere."""
        first = self._workers.jobs[places[0]]
        same_plan = not first.plans or assignment.plan == first.by
        if self._asked is None or (same_plan and self._workers.goes_on(places, assignment.gpus)):
            return
        for job in members:
            starts = replace_job(job, placement=None) if assignment.gpus == job.placement else job
            yield from start_breaches(self.round_, starts, assignment, where)

    def taken(self, decision: Decision) -> Iterator[tuple[str, Amounts]]:
        """Yield what every assignment takes from each of its nodes, those by a plan what its parts take."""
        for assignment in decision.assignments:
            place = self.round_.job_index[assignment.jobs[0]]
            plan = planned(self.round_, self._workers.jobs[place].plans, assignment)
            if plan is None:
                yield from taken(self.jobs, Decision(assignments=(assignment,)))
            else:
                yield from parts_of(plan, assignment)

    def cpus(self, members: Sequence[Job], assignment: Assignment) -> dict[str, float]:
        """Return the CPUs on each node: those of the plan, if a job has plans."""
        plans = self._workers.jobs[self.round_.job_index[members[0].id]].plans if len(members) == 1 else ()
        if not plans:
            return super().cpus(members, assignment)
        types = types_of(self.round_, assignment)
        named = (one for one in plans if one.plan.name == assignment.plan and is_for(one, types))
        shaped = next((one for one in named if one.has_parts(assignment.gpus.values())), None)
        if shaped is None:
            return {}
        found = {node: shaped.piece_with(gpus).milli / 1000 for node, gpus in assignment.gpus.items()}
        return found if any(found.values()) else {}

    def _period_breaches(
        self, members: Sequence[Job], places: Sequence[int], assignment: Assignment, where: str
    ) -> Iterator[Violation]:
        """Yield why a group does not run at the least period, in an order that reaches it."""
        given = sum(assignment.gpus.values())
        known = None if self._timed is None else self._timed[1].get(id(assignment))
        if known is None:
            period = self._workers.period(places, given)
            reached = len(members) < 2 or self._workers.period(places, given, assignment.order) == period
        else:
            period, reached = self._workers.slowed(known.period, len(members)), known.in_order == known.period
        if not reached:
            detail = f"{list(assignment.order)} does not reach the least period"
            yield Violation(rule="order", where=where, detail=detail)
        said = assignment.period_seconds
        if len(members) == 1 and _timeless(members[0]):
            if said is not None:
                detail = f"{said} s; nothing says how long an iteration of job {members[0].id!r} takes"
                yield Violation(rule="period", where=where, detail=detail)
            return
        expected = period.numerator / (period.denominator * NANO)
        if said is None or not isclose(said, expected, rel_tol=1e-12):
            yield Violation(rule="period", where=where, detail=f"{said} s; the group takes {expected} s")

    def quota_gpus(self, job: Job, assignment: Assignment) -> int:
        """Return all GPUs of the group: each of its jobs has them."""
        return sum(assignment.gpus.values())

    def true_reasons(self, decision: Decision) -> Iterator[tuple[Waiting, WaitingReason]]:
        """Yield why each job waits: its fewest GPUs let it start, as joining a group is always open to it."""
        held = self.held_of_tenants(decision)
        if not self.has_plans:
            if self._asked is None:
                return true_reasons(self.round_, decision, held, self._least_need)
            every = {name: replace(one, most=NO_LIMIT) for name, one in self._asked.items()}
            return asked_reasons(self.round_, decision, held, every, fewest_nodes=False, needs=self._least_need)
        free = rooms_left(self.round_, self.taken(decision))
        return joint_reasons(self.round_, self._workers, decision, held, free, self._least_need)

    def _least_need(self, job: Job) -> Need:
        need = need_of(job)
        return need if job.scaling is None or need.gpus == 1 else _one_gpu(need)

    def bound(self, decision: Decision, prices: Sequence[Prices]) -> Bound | None:
        """Return the best that prices prove."""
        found = ((joint_bound(self.round_, self.rules, item), Proof.LINEAR_DUALS) for item in linear(prices))
        return best_bound((bound, proof) for bound, proof in found if bound is not None)

    def optimum(self, steps: int) -> int | None:
        """Return the optimum by enumeration."""
        return enumerated_joint(self.round_, self.rules, steps=steps)

    def sizes(self, job: Job) -> Sequence[int]:
        """Return the GPU counts that a job can have."""
        return sorted(self._workers.jobs[self.round_.job_index[job.id]].by_gpus)

    def period_alone(self, job: Job, gpus: int) -> float | None:
        """Return how long an iteration takes alone on so many GPUs."""
        by_gpus = self._workers.jobs[self.round_.job_index[job.id]].by_gpus
        return by_gpus[gpus] / NANO if gpus in by_gpus and job.plans is None and not _timeless(job) else None


@lru_cache(maxsize=1 << 14)
def _one_gpu(need: Need) -> Need:
    """Return what a job takes that is content with one GPU; it is asked for every job that waits."""
    return need._replace(gpus=1)


def _timeless(job: Job) -> bool:
    """Return whether nothing says how long an iteration of a job takes."""
    return job.iteration_seconds is None and job.scaling is None and job.stage_seconds is None


def _ranges(sizes: Iterable[int]) -> str:
    some = sorted(sizes)
    return f"{some[0]} to {some[-1]}" if len(some) > 1 else str(some[0]) if some else "none of the cluster"
