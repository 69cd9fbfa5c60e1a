"""Is the decision possible? The rules that all chapters have in common, each breach named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite

from muri_opt.rounds import Assignment, Decision, Job, Round, Violation
from muri_opt.verify.amounts import Room, empty_rooms, need_of, smallest_node_count
from muri_opt.verify.loans import loans_of
from muri_opt.verify.tenant_lines import most_gpus, with_parents


def listing_breaches(jobs: Mapping[str, Job], decision: Decision) -> Iterator[Violation]:
    """Every job of the round is there once: assigned or waiting."""
    names = [job for assignment in decision.assignments for job in assignment.jobs]
    names += [wait.job for wait in decision.waiting]
    if len(names) == len(jobs) and jobs.keys() == set(names):
        return
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


def shape_breaches(
    round_: Round, members: Sequence[Job], assignment: Assignment, where: str, *, most: int, least: int
) -> list[Violation]:
    """Return why an assignment makes no sense in itself: at most so many jobs, at least so many GPUs on each node."""
    size, found = len(assignment.jobs), list[Violation]()
    if not 1 <= size <= most:
        found.append(Violation(rule="group-size", where=where, detail=f"{size} jobs; allowed: 1 to {most}"))
    if (size > 1 or assignment.order != (0,)) and sorted(assignment.order) != list(range(size)):
        detail = f"{list(assignment.order)} is no order of {size} jobs"
        found.append(Violation(rule="order", where=where, detail=detail))
    for node, gpus in assignment.gpus.items():
        if node not in round_.cluster.node_index:
            found.append(Violation(rule="known-node", where=where, detail=f"the cluster has no node {node!r}"))
        if type(gpus) is not int or gpus < least:
            found.append(Violation(rule="whole-gpus", where=where, detail=f"{gpus!r} GPUs on {node!r}"))
    for node in assignment.cpus:
        if node not in assignment.gpus:
            detail = f"CPUs on {node!r}, where it has no GPUs"
            found.append(Violation(rule="known-node", where=where, detail=detail))
    if assignment.plan is not None:
        found += _plan(members, assignment, where)
    return found


def _plan(members: Sequence[Job], assignment: Assignment, where: str) -> Iterator[Violation]:
    """A named plan is one of the job's, on as many GPUs and nodes as it says."""
    for job in members:
        plans = [plan for plan in job.plans or () if plan.name == assignment.plan]
        shape = (sum(assignment.gpus.values()), len(assignment.gpus))
        if not any((plan.gpus, plan.nodes) == shape for plan in plans):
            detail = f"job {job.id!r} has no plan {assignment.plan!r} on {shape[0]} GPUs of {shape[1]} nodes"
            yield Violation(rule="plan", where=where, detail=detail)


def gang_breaches(
    members: Sequence[Job],
    assignment: Assignment,
    where: str,
    *,
    mixed: bool = False,
    fewest: Counter[Room] | None = None,
) -> Iterator[Violation]:
    """Yield why jobs do not have all GPUs of the largest at once; ``fewest`` nodes are counted in these rooms."""
    given = sum(assignment.gpus.values())
    for job in sorted(members, key=lambda job: job.gpus)[-1:] if mixed else members:
        if job.gpus != given:
            yield Violation(rule="gang", where=where, detail=f"job {job.id!r} asks for {job.gpus} GPUs, has {given}")
        limit = None if fewest is None else smallest_node_count(fewest, need_of(job))
        if limit is not None and len(assignment.gpus) > limit:
            detail = f"job {job.id!r} sits on {len(assignment.gpus)} nodes, {limit} would do"
            yield Violation(rule="fewest-nodes", where=where, detail=detail)


def cpu_breaches(members: Sequence[Job], assignment: Assignment, where: str) -> Iterator[Violation]:
    """Yield where an assignment has other CPUs with its GPUs than each of its jobs needs."""
    each = sum([need_of(job).milli for job in members])
    for node, gpus in assignment.gpus.items():
        needed = each * gpus
        has = assignment.cpus.get(node, 0.0)
        if has * 1000 != needed and (not isfinite(has * 1000) or round(has * 1000) != needed):
            detail = f"{has:g} CPUs on {node!r}; its {gpus} GPUs take {needed} milli-CPUs"
            yield Violation(rule="cpus-with-gpus", where=where, detail=detail)


def period_breaches(job: Job, assignment: Assignment, where: str) -> Iterator[Violation]:
    """Yield why a job alone does not run at its own speed."""
    alone = job.iteration_seconds
    if assignment.period_seconds != alone:
        detail = f"{assignment.period_seconds} s; alone, job {job.id!r} takes {alone} s"
        yield Violation(rule="period", where=where, detail=detail)


def taken(jobs: Mapping[str, Job], decision: Decision) -> Iterator[tuple[str, tuple[int, int, int]]]:
    """Yield what every assignment takes from each of its nodes: GPUs, and what its jobs need with them."""
    for assignment in decision.assignments:
        milli = mebibytes = 0
        for job in assignment.jobs:
            need = need_of(jobs[job])
            milli, mebibytes = milli + need.milli, mebibytes + need.mebibytes
        for node, gpus in assignment.gpus.items():
            yield node, (gpus, gpus * milli, gpus * mebibytes)


def capacity_breaches(round_: Round, taken: Iterable[tuple[str, tuple[int, int, int]]]) -> Iterator[Violation]:
    """No node gives more GPUs, CPUs or memory than it has."""
    used = {node.id: [0, 0, 0] for node in round_.cluster.nodes}
    for node, (gpus, milli, mebibytes) in taken:
        here = used[node]
        here[0] += gpus
        here[1] += milli
        here[2] += mebibytes
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


def quota_breaches(round_: Round, held: Counter[str], stay: Counter[str] | None = None) -> Iterator[Violation]:
    """No tenant, with all below it, has more GPUs than its quota, or than its jobs hold that ``stay`` in any case.

    Above its quota it has what it may borrow, as far as others lend it.
    """
    kept, held, most = with_parents(round_, stay or Counter[str]()), with_parents(round_, held), most_gpus(round_)
    for tenant in round_.cluster.tenants:
        if tenant.id in most and held[tenant.id] > max(most[tenant.id], kept[tenant.id]):
            more = f", and it may borrow {tenant.borrow_gpus}" if tenant.borrow_gpus else ""
            detail = f"{held[tenant.id]} GPUs in use; the quota is {tenant.quota_gpus}{more}"
            yield Violation(rule="quota", where=tenant.id, detail=detail)
    loans = loans_of(round_)
    if loans is not None:
        yield from loans.breaches(held, kept)
