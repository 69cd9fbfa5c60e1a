"""Execution plans in a joint round, by the verifier's own reading: a job with plans runs by one of them, alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from muri_opt.errors import InputError
from muri_opt.rounds import Assignment, Job, Plan, Round, Violation
from muri_opt.verify.plans.plan_parts import Entry as PlanEntry, entries_of, keeps_promise

NANO = 1_000_000_000
__all__ = ["PlanEntry", "allowed_plans", "fastest_by_gpus", "parts_of", "period_of", "plan_breaches", "planned"]


def allowed_plans(job: Job) -> tuple[PlanEntry, ...]:
    """Return the plans of a job on at least one GPU that keep what it was promised; refuse a job without any."""
    found = tuple(one for one in entries_of(job) if one.plan.gpus and keeps_promise(job, one.plan))
    if not found:
        raise InputError(f"job {job.id!r}.plans", "none that it may run by", "a plan of a GPU, as fast as guaranteed")
    return found


def period_of(plan: Plan) -> int:
    """Return how many nanoseconds what its throughput counts takes, rounded up."""
    over, under = plan.throughput.as_integer_ratio()
    return (NANO * under + over - 1) // over


def fastest_by_gpus(plans: Sequence[PlanEntry]) -> dict[int, int]:
    """Return the shortest period for each number of GPUs that a plan has."""
    found: dict[int, int] = {}
    for one in plans:
        gpus, period = one.plan.gpus, period_of(one.plan)
        found[gpus] = min(period, found.get(gpus, period))
    return dict(sorted(found.items()))


def planned(round_: Round, plans: Sequence[PlanEntry], assignment: Assignment) -> PlanEntry | None:
    """Return by which of the plans an assignment is: of its name, parts, CPUs and GPU types."""
    return next((one for one in plans if not [*_unlike(round_, one, assignment)]), None)


def _unlike(round_: Round, one: PlanEntry, assignment: Assignment) -> Iterator[str]:
    """Yield in what an assignment differs from a plan."""
    if one.plan.name != assignment.plan:
        yield f"it is called {one.plan.name!r}"
    if not one.has_parts(assignment.gpus.values()):
        yield f"it has {one.plan.gpus} GPUs on {one.plan.nodes} nodes"
        return
    cpus = {node: one.piece_with(gpus).milli for node, gpus in assignment.gpus.items()}
    if cpus != {node: round(1000 * assignment.cpus.get(node, 0.0)) for node in assignment.gpus}:
        yield f"it takes {cpus} milli-CPUs"
    types = {round_.cluster.nodes[round_.cluster.node_index[node]].gpu_type for node in assignment.gpus}
    if one.plan.types is not None and not types.issubset(one.plan.types):
        yield f"it is for GPUs of {list(one.plan.types)}"


def plan_breaches(
    round_: Round, plans: Sequence[PlanEntry], job: Job, assignment: Assignment, where: str
) -> Iterator[Violation]:
    """Yield why a job does not run by one of its plans."""
    if assignment.period_seconds is not None:
        detail = f"{assignment.period_seconds} s; a plan has a throughput and no period"
        yield Violation(rule="period", where=where, detail=detail)
    if planned(round_, plans, assignment) is None:
        named = [one for one in plans if one.plan.name == assignment.plan]
        wrong = [why for one in named for why in _unlike(round_, one, assignment)]
        detail = f"job {job.id!r} has no such plan {assignment.plan!r}: {'; '.join(wrong) or 'none has this name'}"
        yield Violation(rule="plan", where=where, detail=detail)


def parts_of(one: PlanEntry, assignment: Assignment) -> Iterator[tuple[str, tuple[int, int, int]]]:
    """Yield what a plan takes of each of its nodes."""
    for node, gpus in assignment.gpus.items():
        piece = one.piece_with(gpus)
        yield node, (piece.gpus, piece.milli, piece.mebibytes)
