"""The value of a decision, split into parts that sum to it exactly."""

from __future__ import annotations

from dataclasses import dataclass

from muri_opt.rounds import Assignment, Decision, Round
from muri_opt.verify import Rules, chapter_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Jobs that run on the same GPUs by one assignment, a job that waits, or a tenant above its quota; and its value.

    ``jobs`` are in the order of the round, mostly one. A tenant has no jobs: ``over_quota`` of its GPUs do not count
    as within the quota.
    """

    jobs: tuple[str, ...]
    value: int
    assignment: Assignment | None = None
    tenant: str | None = None
    over_quota: int = 0

    @property
    def gpus(self) -> int:
        """GPUs in use, 0 on CPUs only or waiting."""
        return 0 if self.assignment is None else sum(self.assignment.gpus.values())

    @property
    def plan(self) -> str | None:
        """The execution plan or configuration the job runs by."""
        return None if self.assignment is None else self.assignment.plan


def value_parts(round_: Round, rules: Rules, decision: Decision) -> tuple[Part, ...]:
    """Return the parts of a decision by some rules: all assignments, all waiting jobs, all tenants above their quota.

    Each job is in one part. What a part is worth comes from the verifier's tables, never from a solver. Interleaved
    jobs have one value for the group. A waiting job is worth nothing, or what preempting it takes away.
    """
    chapter = chapter_of(round_, rules)
    worth = dict(chapter.parts(decision))
    parts = [
        Part(
            jobs=tuple(sorted(assignment.jobs, key=round_.job_index.__getitem__)),
            value=worth[assignment.jobs[0]],
            assignment=assignment,
        )
        for assignment in decision.assignments
    ]
    waiting = [job.id for job in round_.jobs if job.id not in decision.running]
    parts += [Part(jobs=(job,), value=worth.get(job, 0)) for job in waiting]
    for tenant, (gpus, value) in chapter.over_quotas(decision).items():
        parts.append(Part(jobs=(), value=value, tenant=tenant, over_quota=gpus))
    if sum(part.value for part in parts) != chapter.value(decision):
        raise AssertionError("the parts of the decision do not sum to its value")
    return tuple(parts)
