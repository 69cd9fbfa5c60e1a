"""Does a job run by one of its plans, and what does that take? Why does another wait?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from muri_opt.rounds import Assignment, Decision, Round, Violation, Waiting, WaitingReason
from muri_opt.verify.amounts import said_of
from muri_opt.verify.demands import asked_of, start_breaches
from muri_opt.verify.plans.next_configurations import Steps, is_stepwise
from muri_opt.verify.plans.places import Places, Spot
from muri_opt.verify.plans.plan_choices import (
    PlanChoices,
    Way,
    has_cpus,
    has_shape,
    held_nodes,
    is_for,
    may_have,
    stays,
    types_of,
)
from muri_opt.verify.plans.plan_parts import Piece, keeps_promise
from muri_opt.verify.plans.value import Planned
from muri_opt.verify.tenant_lines import spare_quotas


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
        takes = sorted({entry.piece_with(gpus).milli for entry in shaped for gpus in assignment.gpus.values()})
        detail = f"{dict(assignment.cpus)} CPUs; a part of plan {assignment.plan!r} takes {takes} milli-CPUs"
        yield Violation(rule="cpus-with-gpus", where=where, detail=detail)
        return
    types = types_of(round_, assignment)
    typed = [entry for entry in equipped if is_for(entry, types)]
    if not typed:
        needs = sorted(kind for plan, _, _ in equipped for kind in plan.types or ())
        detail = f"on GPUs of type {sorted(map(str, types))}; plan {assignment.plan!r} is for {needs}"
        yield Violation(rule="gpu-type", where=where, detail=detail)
    if asked_of(round_) is not None and not any(stays(job, entry, assignment) for entry in typed):
        # What runs may go on where it is, but by its own plan: by another one it would start there.
        starts = replace(job, placement=None) if assignment.gpus == job.placement else job
        yield from start_breaches(round_, starts, assignment, where)
    for plan, _, _ in typed:
        if not keeps_promise(job, plan):
            promised = 0.0 if job.guarantee is None else job.guarantee.throughput
            detail = f"job {job.id!r} has a throughput of {plan.throughput:g}; it was promised {promised:g}"
            yield Violation(rule="guarantee", where=where, detail=detail)
        steps = Steps.of(job, menu.entries[position]) if is_stepwise(planned.change) else None
        if not may_have(job, plan, planned, steps):
            detail = f"job {job.id!r} may not change to plan {plan.name!r} of {plan.gpus} GPUs: {planned.change}"
            yield Violation(rule="change", where=where, detail=detail)


def taken_by_plans(round_: Round, menu: PlanChoices, decision: Decision) -> Iterator[tuple[str, Piece]]:
    """Yield what every running part takes, with its node."""
    for assignment in decision.assignments:
        entry = menu.entry(round_, round_.job_index[assignment.jobs[0]], assignment)
        if entry is not None:
            yield from ((node, entry.piece_with(gpus)) for node, gpus in assignment.gpus.items())


def plan_reasons(
    round_: Round, menu: PlanChoices, decision: Decision, held: Counter[str]
) -> Iterator[tuple[Waiting, WaitingReason]]:
    """Yield every waiting job with the first rule that keeps it from starting; ``held`` are GPUs that quotas count."""
    places = Places.of(round_)
    free = places.floor.free
    for node, piece in taken_by_plans(round_, menu, decision):
        free[round_.cluster.node_index[node]] -= piece
    everything = int(free[:, 0].sum())
    spare = spare_quotas(round_, held)
    for wait in decision.waiting:
        position = round_.job_index[wait.job]
        job, ways = round_.jobs[position], menu.ways[position]
        own = held_nodes(round_, job)
        quota = spare.get(job.tenant or "") if job.guarantee is not None else None
        if ways and quota is not None and quota < job.gpus:
            true = WaitingReason.QUOTA
        elif not ways or _usable(places, ways, own, everything) < min(way.plan.gpus for way in ways):
            true = WaitingReason.CAPACITY
        else:
            fits = any(_starts(places, way, own) for way in ways)
            true = WaitingReason.PRIORITY if fits else WaitingReason.FRAGMENTATION
        yield wait, said_of(job, true)


def _usable(places: Places, ways: Sequence[Way], own: Mapping[int, int], everything: int) -> int:
    """Return the free GPUs of the cluster or, where jobs may not be just anywhere, of the nodes of some way."""
    if places.asked is None:
        return everything
    sets = {spot for way in ways for spot in way.spots}
    sets.update(_allowed(places, way, own) for way in ways if way.home is not None)
    return places.gpus(sets.pop() if len(sets) == 1 else frozenset[int]().union(*sets))


def _starts(places: Places, way: Way, own: Mapping[int, int]) -> bool:
    """Return whether a job could start by a way now, or go on where it ran."""
    if any(places.holds(spot, way.entry) for spot in way.spots):
        return True
    return way.home is not None and places.keeps(own, way.entry)


def _allowed(places: Places, way: Way, own: Mapping[int, int]) -> Spot:
    """Return the nodes that a job holds, of those whose GPUs the way is for."""
    types = way.plan.types
    return frozenset(node for node in own if types is None or places.floor.types[node] in types)
