"""Parts of wrong answers: a right result with one thing changed, and what the changed thing would use."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from muri_opt import Assignment, Decision, Job, Limit, Node, Reason, Result, Round, Termination, Waiting, verify
from muri_opt.rounds import Evidence, LinearDuals, relative_gap

replace = msgspec.structs.replace


def rules_broken_by(round_: Round, result: Result) -> set[str]:
    """Return the names of the rules the verifier finds broken."""
    certificate = verify(round_, result)
    assert certificate.feasible == (not certificate.violations and result.decision is not None)
    return {violation.rule for violation in certificate.violations}


def decided(result: Result) -> Decision:
    """Return the decision, which a right answer has."""
    assert result.decision is not None
    return result.decision


def with_assignments(result: Result, *assignments: Assignment, waiting: tuple[Waiting, ...] | None = None) -> Result:
    """Return the result with other assignments, and other waiting jobs if given."""
    waits = decided(result).waiting if waiting is None else waiting
    return replace(result, decision=Decision(assignments=assignments, waiting=waits))


def changed_first(result: Result, **fields: object) -> Result:
    """Return the result with fields of its first assignment changed."""
    first, *others = decided(result).assignments
    return with_assignments(result, replace(first, **fields), *others)


def milli_per_gpu(job: Job) -> int:
    """Return the milli-CPUs that go with each GPU of a job."""
    return -(-round((job.cpus or 0.0) * 1000) // job.gpus)


def placed(job: Job, gpus: dict[str, int]) -> Assignment:
    """Return the assignment of a job to GPUs per node, with the right CPUs and period."""
    milli = milli_per_gpu(job)
    cpus = {node: count * milli / 1000 for node, count in gpus.items()} if milli else {}
    return Assignment(jobs=(job.id,), gpus=gpus, cpus=cpus, period_seconds=job.iteration_seconds)


def job_of(round_: Round, assignment: Assignment) -> Job:
    """Return the job of an assignment of one."""
    return round_.jobs[round_.job_index[assignment.jobs[0]]]


def moves(round_: Round, result: Result) -> Iterator[tuple[Job, Node, Result]]:
    """Yield every way to move one gang whole to one node, whether it fits there or not."""
    assignments = decided(result).assignments
    for place, assignment in enumerate(assignments):
        job = job_of(round_, assignment)
        for node in round_.cluster.nodes:
            moved = placed(job, {node.id: job.gpus})
            yield job, node, with_assignments(result, *assignments[:place], moved, *assignments[place + 1 :])


def used(round_: Round, result: Result, node: Node) -> tuple[int, int, int]:
    """Return the GPUs, milli-CPUs and MiB in use on a node."""
    gpus = milli = mebibytes = 0
    for assignment in decided(result).assignments:
        job, count = job_of(round_, assignment), assignment.gpus.get(node.id, 0)
        gpus += count
        milli += count * milli_per_gpu(job)
        mebibytes += count * -(-round((job.memory_gib or 0.0) * 1024) // job.gpus)
    return gpus, milli, mebibytes


def claiming(result: Result, *, bound: int, reason: Reason = Reason.FEASIBLE) -> Result:
    """Return the result with another bound, the gap that goes with it, and a termination of that reason."""
    limit = Limit.TIME if reason is Reason.FEASIBLE else None
    return replace(
        result,
        bound=bound,
        gap=relative_gap(result.value or 0, bound),
        termination=Termination(reason=reason, limit=limit),
    )


def with_duals(result: Result, denominator: int = 1, **multipliers: tuple[int, ...]) -> Result:
    """Return the result with multipliers as its only evidence."""
    return with_evidence(result, LinearDuals(denominator=denominator, multipliers=multipliers))


def with_evidence(result: Result, *evidence: Evidence) -> Result:
    """Return the result with this evidence and no other."""
    return replace(result, certificate=replace(result.certificate, evidence=evidence))
