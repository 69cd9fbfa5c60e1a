"""The value of a decision, split into parts that sum to it exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from muri_opt.rounds import Assignment, Decision, Round
from muri_opt.verify import Rules, decision_value, rules_of
from muri_opt.verify.gangs.value import job_values
from muri_opt.verify.muri.value import Sharers
from muri_opt.verify.philly.job_status import Held, Reading, places_of
from muri_opt.verify.plans.menu import Menu


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


def value_parts(round_: Round, policy: str, decision: Decision) -> tuple[Part, ...]:
    """Return the parts of a decision under a policy: all assignments, all waiting jobs, all tenants above their quota.

    Each job is in one part. What a part is worth comes from the verifier's tables, never from a solver. Interleaved
    jobs have one value for the group. A waiting job is worth nothing, or what preempting it takes away.
    """
    rules = rules_of(policy)
    if rules.placement is None:
        worth, over = _assigned(round_, rules, decision), []
    else:
        reading, places = Reading.of(round_, rules.placement), places_of(round_, decision)
        worth, over = _placed(reading, places), _over_quotas(reading, places)
    parts = [
        Part(
            jobs=tuple(sorted(assignment.jobs, key=round_.job_index.__getitem__)),
            value=sum(worth[job] for job in assignment.jobs),
            assignment=assignment,
        )
        for assignment in decision.assignments
    ]
    waiting = [job.id for job in round_.jobs if job.id not in decision.running]
    parts += [*(Part(jobs=(job,), value=worth[job]) for job in waiting), *over]
    if sum(part.value for part in parts) != decision_value(round_, policy, decision):
        raise AssertionError("the parts of the decision do not sum to its value")
    return tuple(parts)


def _assigned(round_: Round, rules: Rules, decision: Decision) -> Counter[str]:
    """Return what each assignment is worth, under the name of its first job; every other job has 0."""
    if rules.elastic is not None:
        tables = dict(zip(round_.job_index, rules.elastic.values(round_), strict=True))
        return Counter({one.jobs[0]: tables[one.jobs[0]][sum(one.gpus.values())] for one in decision.assignments})
    if rules.plans is not None:
        menu = Menu.of(round_, rules.plans)
        return Counter({one.jobs[0]: menu.value(round_, Decision(assignments=(one,))) for one in decision.assignments})
    if rules.sharing is None:
        values = job_values(round_, rules)
        return Counter({one.jobs[0]: values[one.jobs[0]] for one in decision.assignments})
    sharers = Sharers.of(round_, rules)
    groups = [[round_.job_index[job] for job in one.jobs] for one in decision.assignments]
    return Counter(
        {
            one.jobs[0]: int(sharers.values(np.array([group]))[0])
            for one, group in zip(decision.assignments, groups, strict=True)
        }
    )


def _placed(reading: Reading, places: Mapping[int, Held]) -> Counter[str]:
    """Return what each gang of a tenant is worth where it is, its GPUs counted as if they were within the quota."""
    worth = Counter[str]()
    for position, stand in enumerate(reading.stands):
        if position in places:
            worth[stand.job.id] = reading.worth(stand, places[position]) + reading.premium * stand.need.gpus
        elif stand.running:
            worth[stand.job.id] = -reading.loss(stand)
    return worth


def _over_quotas(reading: Reading, places: Mapping[int, Held]) -> list[Part]:
    """Return what GPUs above the quota of their tenant are worth less than within it."""
    used = Counter[str]()
    for position in places:
        used[reading.stands[position].tenant] += reading.stands[position].need.gpus
    over = {tenant: used[tenant] - quota for tenant, quota in reading.quotas.items() if used[tenant] > quota}
    return [
        Part(jobs=(), value=-reading.premium * gpus, tenant=tenant, over_quota=gpus) for tenant, gpus in over.items()
    ]
