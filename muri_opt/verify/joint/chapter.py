"""The chapter *joint*: shares of GPUs, and partners on them, decided together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isclose
from typing import ClassVar

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
from muri_opt.rounds.field_groups import STATES
from muri_opt.verify.amounts import Need, need_of
from muri_opt.verify.chapter import Bound, Chapter, best_bound, linear
from muri_opt.verify.feasibility import cpu_breaches
from muri_opt.verify.joint.bounds import joint_bound
from muri_opt.verify.joint.enumeration import enumerated_joint
from muri_opt.verify.joint.rules import SETTINGS, Joint
from muri_opt.verify.joint.value import NANO, Workers, workers_of
from muri_opt.verify.settings import Setting
from muri_opt.verify.waiting_reasons import true_reasons


class JointChapter(Chapter):
    """Groups of up to four jobs on GPUs that each of them can have, worth what their work is for completion times."""

    settings: ClassVar[Mapping[str, Setting]] = SETTINGS
    sets_apart: ClassVar[bool] = True
    honours: ClassVar[frozenset[str]] = INFORMATION | STATES

    def __init__(self, round_: Round, rules: Joint) -> None:
        super().__init__(round_, rules)
        self.rules: Joint = rules
        self._workers: Workers = workers_of(round_, rules)
        self.most_jobs, self.mixed = self._workers.most_jobs, True

    @classmethod
    def read(cls, settings: Mapping[str, str]) -> Joint:
        """Return how jobs share and what that is worth."""
        return Joint.of(settings)

    def parts(self, decision: Decision) -> Iterator[tuple[str, int]]:
        """Yield what each group adds; one on GPUs that it cannot have adds nothing."""
        places = self.round_.job_index
        for assignment in decision.assignments:
            members = [places[job] for job in assignment.jobs if job in places]
            if members:
                yield assignment.jobs[0], self._workers.value(members, assignment.gpus)

    def assignment_breaches(self, members: Sequence[Job], assignment: Assignment, where: str) -> list[Violation]:
        """Return why jobs may not share these GPUs, or do not have their CPUs or their period."""
        places, given = [self.round_.job_index[job.id] for job in members], sum(assignment.gpus.values())
        found = []
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

    def _period_breaches(
        self, members: Sequence[Job], places: Sequence[int], assignment: Assignment, where: str
    ) -> Iterator[Violation]:
        """Yield why a group does not run at the least period, in an order that reaches it."""
        given = sum(assignment.gpus.values())
        period = self._workers.period(places, given)
        if len(members) > 1 and self._workers.period(places, given, assignment.order) != period:
            detail = f"{list(assignment.order)} does not reach the least period"
            yield Violation(rule="order", where=where, detail=detail)
        said = assignment.period_seconds
        if len(members) == 1 and _timeless(members[0]):
            if said is not None:
                detail = f"{said} s; nothing says how long an iteration of job {members[0].id!r} takes"
                yield Violation(rule="period", where=where, detail=detail)
            return
        expected = float(period / NANO)
        if said is None or not isclose(said, expected, rel_tol=1e-12):
            yield Violation(rule="period", where=where, detail=f"{said} s; the group takes {expected} s")

    def quota_gpus(self, job: Job, assignment: Assignment) -> int:
        """Return all GPUs of the group: each of its jobs has them."""
        return sum(assignment.gpus.values())

    def true_reasons(self, decision: Decision) -> Iterator[tuple[Waiting, WaitingReason]]:
        """Yield why each job waits: its fewest GPUs let it start, as joining a group is always open to it."""
        return true_reasons(self.round_, decision, self.held_of_tenants(decision), self._least_need)

    def _least_need(self, job: Job) -> Need:
        return replace(need_of(job), gpus=1 if job.scaling is not None else job.gpus)

    def bound(self, decision: Decision, prices: Sequence[Prices]) -> Bound | None:
        """Return the best that prices prove."""
        found = ((joint_bound(self.round_, self.rules, item), Proof.LINEAR_DUALS) for item in linear(prices))
        return best_bound((bound, proof) for bound, proof in found if bound is not None)

    def optimum(self, steps: int) -> int | None:
        """Return the optimum by enumeration, where CPUs and memory cannot bind."""
        return enumerated_joint(self.round_, self.rules, steps=steps)

    def sizes(self, job: Job) -> Sequence[int]:
        """Return the GPU counts that a job can have."""
        return sorted(self._workers.jobs[self.round_.job_index[job.id]].by_gpus)

    def period_alone(self, job: Job, gpus: int) -> float | None:
        """Return how long an iteration takes alone on so many GPUs."""
        by_gpus = self._workers.jobs[self.round_.job_index[job.id]].by_gpus
        return by_gpus[gpus] / NANO if gpus in by_gpus and not _timeless(job) else None


def _timeless(job: Job) -> bool:
    """Return whether nothing says how long an iteration of a job takes."""
    return job.iteration_seconds is None and job.scaling is None and job.stage_seconds is None


def _ranges(sizes: Iterable[int]) -> str:
    some = sorted(sizes)
    return f"{some[0]} to {some[-1]}" if len(some) > 1 else str(some[0]) if some else "none of the cluster"
