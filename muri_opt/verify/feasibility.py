"""Is the decision possible? Every rule on its own, each breach named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from math import isclose, isfinite
from typing import TYPE_CHECKING

from muri_opt.rounds import Assignment, Decision, Job, Round, Violation
from muri_opt.verify.amounts import Room, empty_rooms, held_of_tenants, need_of, smallest_node_count
from muri_opt.verify.gangs.staying import staying_breaches
from muri_opt.verify.gangs.value import Kept, kept_jobs
from muri_opt.verify.policy_rules import Rules

if TYPE_CHECKING:
    from muri_opt.verify.afs.value import Elastic
    from muri_opt.verify.plans.value import Planned


def broken_rules(round_: Round, decision: Decision, rules: Rules) -> list[Violation]:
    """Return every breach of a decision; an empty list is a feasible decision."""
    jobs = {job.id: job for job in round_.jobs}
    empty = Counter(empty_rooms(round_))
    kept = kept_jobs(round_, rules)
    found = [*_listing(jobs, decision)]
    for place, assignment in enumerate(decision.assignments):
        where = f"assignments[{place}]"
        shape = [*_shape(round_, jobs, assignment, where, rules)]
        found += shape
        if not shape and rules.elastic is not None:
            found += _share(round_, jobs, assignment, where, rules.elastic)
        elif not shape and rules.plans is not None:
            found += _way(round_, jobs, assignment, where, rules.plans)
        elif not shape:
            found += _gang(jobs, assignment, where, rules, None if assignment.jobs[0] in kept else empty)
            found += _period(jobs, assignment, where, rules)
        found += [] if shape or rules.plans is not None else _cpus(jobs, assignment, where)
    return found if found else [*_totals(round_, jobs, decision, rules, kept)]


def _totals(round_: Round, jobs: dict[str, Job], decision: Decision, rules: Rules, kept: Kept) -> Iterator[Violation]:
    """All assignments together fit the nodes and the quotas."""
    if rules.plans is not None:
        from muri_opt.verify.plans.menu import Menu
        from muri_opt.verify.plans.rules import promised_gpus, taken_by_plans

        yield from _capacity(round_, taken_by_plans(round_, Menu.of(round_, rules.plans), decision))
        yield from _quota(round_, promised_gpus(round_, decision))
        return
    yield from _capacity(round_, _taken(jobs, decision))
    if rules.placement is not None:
        from muri_opt.verify.philly.breaches import placement_breaches
        from muri_opt.verify.philly.job_status import Reading

        yield from placement_breaches(round_, decision, Reading.of(round_, rules.placement))
    else:
        yield from staying_breaches(decision, kept)
        stay = Counter[str]()
        for job in (jobs[name] for name in kept):
            stay[job.tenant or ""] += job.gpus
        yield from _quota(round_, held_of_tenants(round_, decision, elastic=rules.elastic is not None), stay)


def _share(
    round_: Round, jobs: dict[str, Job], assignment: Assignment, where: str, elastic: Elastic
) -> Iterator[Violation]:
    """A share is one that the job may have."""
    from muri_opt.verify.afs.rules import share_breaches

    for job in (jobs[job] for job in assignment.jobs if job in jobs):
        yield from share_breaches(round_, job, assignment, where, elastic)


def _way(
    round_: Round, jobs: dict[str, Job], assignment: Assignment, where: str, plans: Planned
) -> Iterator[Violation]:
    """A plan is one that the job may have, with the parts it names on its nodes."""
    from muri_opt.verify.plans.menu import Menu
    from muri_opt.verify.plans.rules import plan_breaches

    menu = Menu.of(round_, plans)
    for position in (round_.job_index[job] for job in assignment.jobs if job in jobs):
        yield from plan_breaches(round_, menu, position, assignment, where, plans)


def _listing(jobs: dict[str, Job], decision: Decision) -> Iterator[Violation]:
    """Every job of the round is there once: assigned or waiting."""
    assigned = Counter(job for assignment in decision.assignments for job in assignment.jobs)
    waiting = Counter(wait.job for wait in decision.waiting)
    for job in [*assigned, *waiting]:
        if job not in jobs:
            yield Violation(rule="known-job", where=job, detail="the round has no such job")
    for job, times in (assigned + waiting).items():
        if times > 1 and assigned[job]:
            yield Violation(
                rule="job-once", where=job, detail=f"listed {times} times, {assigned[job]} of them as running"
            )
        elif times > 1:
            yield Violation(rule="waiting-listed", where=job, detail=f"waits {times} times")
    for job in jobs:
        if not assigned[job] and not waiting[job]:
            yield Violation(rule="waiting-listed", where=job, detail="neither runs nor waits")


def _shape(
    round_: Round, jobs: dict[str, Job], assignment: Assignment, where: str, rules: Rules
) -> Iterator[Violation]:
    """The assignment makes sense in itself: known jobs, one group, whole GPUs of known nodes."""
    size = len(assignment.jobs)
    most = rules.most_jobs(len(round_.resources))
    if not 1 <= size <= most:
        yield Violation(rule="group-size", where=where, detail=f"{size} jobs; allowed: 1 to {most}")
    if sorted(assignment.order) != list(range(size)):
        yield Violation(rule="order", where=where, detail=f"{list(assignment.order)} is no order of {size} jobs")
    members = [jobs[job] for job in assignment.jobs if job in jobs]
    if len({job.gpus for job in members}) > 1 and not rules.mixed:
        yield Violation(rule="equal-gpus", where=where, detail=f"GPU counts {[job.gpus for job in members]}")
    least = 0 if rules.plans is not None and _for_cpus_only(members, assignment) else 1
    for node, gpus in assignment.gpus.items():
        if node not in round_.cluster.node_index:
            yield Violation(rule="known-node", where=where, detail=f"the cluster has no node {node!r}")
        if type(gpus) is not int or gpus < least:
            yield Violation(rule="whole-gpus", where=where, detail=f"{gpus!r} GPUs on {node!r}")
    for node in assignment.cpus:
        if node not in assignment.gpus:
            yield Violation(rule="known-node", where=where, detail=f"CPUs on {node!r}, where it has no GPUs")
    if assignment.plan is not None:
        yield from _plan(members, assignment, where)


def _for_cpus_only(members: list[Job], assignment: Assignment) -> bool:
    """Return whether a job of the assignment has the plan it names, if it names one, in a form that needs no GPU."""
    names = {plan.name for job in members for plan in job.plans or () if plan.gpus == 0}
    return bool(names) if assignment.plan is None else assignment.plan in names


def _plan(members: list[Job], assignment: Assignment, where: str) -> Iterator[Violation]:
    """A named plan is one of the job's, on as many GPUs and nodes as it says."""
    for job in members:
        plans = [plan for plan in job.plans or () if plan.name == assignment.plan]
        shape = (sum(assignment.gpus.values()), len(assignment.gpus))
        if not any((plan.gpus, plan.nodes) == shape for plan in plans):
            detail = f"job {job.id!r} has no plan {assignment.plan!r} on {shape[0]} GPUs of {shape[1]} nodes"
            yield Violation(rule="plan", where=where, detail=detail)


def _gang(
    jobs: dict[str, Job], assignment: Assignment, where: str, rules: Rules, empty: Counter[Room] | None
) -> Iterator[Violation]:
    """All GPUs of the largest job at once, on few enough nodes; without ``empty`` rooms any number of them will do."""
    given = sum(assignment.gpus.values())
    members = [jobs[job] for job in assignment.jobs if job in jobs]
    for job in sorted(members, key=lambda job: job.gpus)[-1:] if rules.mixed else members:
        if job.gpus != given:
            yield Violation(rule="gang", where=where, detail=f"job {job.id!r} asks for {job.gpus} GPUs, has {given}")
        limit = smallest_node_count(empty, need_of(job)) if rules.fewest_nodes and empty is not None else None
        if limit is not None and len(assignment.gpus) > limit:
            detail = f"job {job.id!r} sits on {len(assignment.gpus)} nodes, {limit} would do"
            yield Violation(rule="fewest-nodes", where=where, detail=detail)


def _cpus(jobs: dict[str, Job], assignment: Assignment, where: str) -> Iterator[Violation]:
    """With every GPU come the CPUs that each of its jobs needs."""
    members = [jobs[job] for job in assignment.jobs if job in jobs]
    for node, gpus in assignment.gpus.items():
        needed = sum(need_of(job).milli for job in members) * gpus
        has = assignment.cpus.get(node, 0.0)
        if not isfinite(has * 1000) or round(has * 1000) != needed:
            detail = f"{has:g} CPUs on {node!r}; its {gpus} GPUs take {needed} milli-CPUs"
            yield Violation(rule="cpus-with-gpus", where=where, detail=detail)


def _period(jobs: dict[str, Job], assignment: Assignment, where: str, rules: Rules) -> Iterator[Violation]:
    """A job alone runs at its own speed, a group at the period of its best or worst order, and in such an order."""
    members = [jobs[job] for job in assignment.jobs if job in jobs]
    if len(members) == 1:
        alone = members[0].iteration_seconds
        if assignment.period_seconds != alone:
            detail = f"{assignment.period_seconds} s; alone, job {members[0].id!r} takes {alone} s"
            yield Violation(rule="period", where=where, detail=detail)
        return
    if rules.sharing is None or not members:
        return
    if any(job.stage_seconds is None for job in members):
        yield Violation(rule="period", where=where, detail="a job without stage times shares GPUs")
        return
    period = rules.sharing.period(members)
    if rules.sharing.period(members, assignment.order) != period:
        extreme = "greatest" if rules.sharing.worst else "least"
        detail = f"{list(assignment.order)} does not reach the {extreme} period"
        yield Violation(rule="order", where=where, detail=detail)
    expected = float(period * rules.sharing.slowdown(len(members)) / 1_000_000)
    if assignment.period_seconds is None or not isclose(assignment.period_seconds, expected, rel_tol=1e-12):
        detail = f"{assignment.period_seconds} s; the group takes {expected} s"
        yield Violation(rule="period", where=where, detail=detail)


def _taken(jobs: dict[str, Job], decision: Decision) -> Iterator[tuple[str, tuple[int, int, int]]]:
    """Yield what every assignment takes from each of its nodes: GPUs, and what its jobs need with them."""
    for assignment in decision.assignments:
        needs = [need_of(jobs[job]) for job in assignment.jobs]
        milli, mebibytes = sum(need.milli for need in needs), sum(need.mebibytes for need in needs)
        for node, gpus in assignment.gpus.items():
            yield node, (gpus, gpus * milli, gpus * mebibytes)


def _capacity(round_: Round, taken: Iterable[tuple[str, tuple[int, int, int]]]) -> Iterator[Violation]:
    """No node gives more GPUs, CPUs or memory than it has."""
    used = {node.id: [0, 0, 0] for node in round_.cluster.nodes}
    for node, amounts in taken:
        used[node] = [before + more for before, more in zip(used[node], amounts, strict=True)]
    for name, room in zip(used, empty_rooms(round_), strict=True):
        limits = zip(
            ("gpu-capacity", "cpu-capacity", "memory-capacity"),
            ("GPUs", "milli-CPUs", "MiB"),
            used[name],
            (room.gpus, room.milli, room.mebibytes),
            strict=True,
        )
        for rule, unit, given, has in limits:
            if has is not None and given > has:
                yield Violation(rule=rule, where=name, detail=f"{given} {unit} in use; the node has {has}")


def _quota(round_: Round, held: Counter[str], stay: Counter[str] | None = None) -> Iterator[Violation]:
    """No tenant has more GPUs than its quota, or than its jobs hold that ``stay`` whatever is decided."""
    kept = stay or Counter[str]()
    for tenant in round_.cluster.tenants:
        if tenant.quota_gpus is not None and held[tenant.id] > max(tenant.quota_gpus, kept[tenant.id]):
            detail = f"{held[tenant.id]} GPUs in use; the quota is {tenant.quota_gpus}"
            yield Violation(rule="quota", where=tenant.id, detail=detail)
