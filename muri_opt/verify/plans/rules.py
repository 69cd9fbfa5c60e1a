"""Does a job run by one of its plans, and what does that take? Why does another wait?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from muri_opt.rounds import Assignment, Decision, Round, Violation, Waiting, WaitingReason
from muri_opt.verify.amounts import said_of
from muri_opt.verify.plans.plan_choices import PlanChoices, Way, has_cpus, has_shape, is_for, may_have, types_of
from muri_opt.verify.plans.plan_parts import Ints, NodeAmounts, Piece, keeps_promise, nodes_with_room
from muri_opt.verify.plans.value import Planned


def plan_breaches(
    round_: Round, menu: PlanChoices, position: int, assignment: Assignment, where: str, planned: Planned
) -> Iterator[Violation]:
    """Yield what is wrong with how a job runs: no plan of its own, or one that it may not run by, or not there."""
    job = round_.jobs[position]
    if assignment.period_seconds is not None:
        detail = f"{assignment.period_seconds} s; a plan has a throughput and no period"
        yield Violation(rule="period", where=where, detail=detail)
    shaped = [entry for entry in menu.entries[position] if has_shape(entry, assignment)]
    if not shaped:
        detail = f"job {job.id!r} has no plan {assignment.plan!r} with {sorted(assignment.gpus.values())} GPUs"
        yield Violation(rule="plan", where=where, detail=detail)
        return
    equipped = [entry for entry in shaped if has_cpus(entry, assignment)]
    if not equipped:
        takes = sorted({entry.piece.milli for entry in shaped})
        detail = f"{dict(assignment.cpus)} CPUs; a part of plan {assignment.plan!r} takes {takes} milli-CPUs"
        yield Violation(rule="cpus-with-gpus", where=where, detail=detail)
        return
    types = types_of(round_, assignment)
    typed = [entry.plan for entry in equipped if is_for(entry, types)]
    if not typed:
        needs = sorted(str(plan.gpu_type) for plan, _ in equipped)
        detail = f"on GPUs of type {sorted(map(str, types))}; plan {assignment.plan!r} is for {needs}"
        yield Violation(rule="gpu-type", where=where, detail=detail)
    for plan in typed:
        if not keeps_promise(job, plan):
            promised = 0.0 if job.guarantee is None else job.guarantee.throughput
            detail = f"job {job.id!r} has a throughput of {plan.throughput:g}; it was promised {promised:g}"
            yield Violation(rule="guarantee", where=where, detail=detail)
        if not may_have(job, plan, planned):
            detail = f"job {job.id!r} may not change to plan {plan.name!r} of {plan.gpus} GPUs: {planned.change}"
            yield Violation(rule="change", where=where, detail=detail)


def taken_by_plans(round_: Round, menu: PlanChoices, decision: Decision) -> Iterator[tuple[str, Piece]]:
    """Yield what every running part takes, with its node."""
    for assignment in decision.assignments:
        entry = menu.entry(round_, round_.job_index[assignment.jobs[0]], assignment)
        yield from ((node, entry.piece) for node in assignment.gpus if entry is not None)


def plan_reasons(
    round_: Round, menu: PlanChoices, decision: Decision, held: Counter[str]
) -> Iterator[tuple[Waiting, WaitingReason]]:
    """Yield every waiting job with the first rule that keeps it from starting; ``held`` are GPUs that quotas count."""
    floor = NodeAmounts.of(round_)
    for node, piece in taken_by_plans(round_, menu, decision):
        floor.free[round_.cluster.node_index[node]] -= piece
    rows = {kind: floor.of_type(kind) for kind in (None, *floor.types)}
    free = int(floor.free[:, 0].sum())
    quotas = {tenant.id: tenant.quota_gpus for tenant in round_.cluster.tenants}
    startable: dict[tuple[str | None, Piece, int], bool] = {}
    for wait in decision.waiting:
        position = round_.job_index[wait.job]
        job, ways = round_.jobs[position], menu.ways[position]
        quota = quotas.get(job.tenant or "") if job.guarantee is not None else None
        if ways and quota is not None and quota - held[job.tenant or ""] < job.gpus:
            true = WaitingReason.QUOTA
        elif not ways or free < min(way.plan.gpus for way in ways):
            true = WaitingReason.CAPACITY
        else:
            fits = any(_starts(rows, startable, way) for way in ways)
            true = WaitingReason.PRIORITY if fits else WaitingReason.FRAGMENTATION
        yield wait, said_of(job, true)


def _starts(rows: dict[str | None, Ints], startable: dict[tuple[str | None, Piece, int], bool], way: Way) -> bool:
    key = (way.plan.gpu_type, way.piece, way.plan.nodes)
    if key not in startable:
        startable[key] = nodes_with_room(rows[key[0]], way.piece) >= way.plan.nodes
    return startable[key]
