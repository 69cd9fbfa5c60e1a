"""Defragmentation with everything the package has: the greedy here, the exact search in a solver process, the check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from muri_opt.errors import InputError
from muri_opt.modelling import Relax, Solve
from muri_opt.rounds import Budget, Limit, Limits, Proof, Reason, Round, Termination
from muri_opt.solve.solvers import WorkerError, backend_named, borrowed_worker, relaxation
from muri_opt.solve.solvers.process import GRACE_SECONDS
from muri_opt.systems.defragment import Cost, Defragmentation, free_nodes, make_room
from muri_opt.verify.defragment.check import check_defragmentation, check_fields

BACKENDS = ("highs", "cp-sat")
"""Who solves the program, and who confirms what nothing else proves."""


def defragment(
    round_: Round,
    *,
    nodes: int | None = None,
    job: str | None = None,
    budget: int | None = None,
    backends: Sequence[str] = BACKENDS,
    limits: Limits | None = None,
) -> Defragmentation:
    """Return the moves of fewest GPUs that free ``nodes`` nodes or make room for ``job``, checked.

    What the greedy finds and counting proves needs no solver. Otherwise the search runs in a process that is stopped
    if it does not answer in time; the greedy's answer is then returned.
    """
    if (nodes is None) == (job is None):
        raise InputError("goal", f"nodes {nodes} and job {job!r}", "either nodes to free or a job to make room for")
    check_fields(round_)
    for name in backends:
        backend_named(name)
    within = Budget(limits=limits or Limits())
    found = _search(round_, nodes, job, budget, {}, None, within.limits)
    if not _settled(found):
        found = _apart(found, round_, tuple(backends), within.left())
    certificate = check_defragmentation(round_, found)
    if certificate.proof is Proof.CLAIM_ONLY and found.proof is Proof.AGREEMENT:
        certificate = msgspec.structs.replace(certificate, proof=Proof.AGREEMENT)
    elif certificate.proof is Proof.CLAIM_ONLY:
        found = _with_claim_apart(found, certificate.checked_bound)
        certificate = check_defragmentation(round_, found)
    return replace(found, certificate=certificate)


def _with_claim_apart(found: Defragmentation, checked_gpus: int | None) -> Defragmentation:
    """Return the answer with what one solver says as a claim, the GPUs that were checked as bound, and no optimum.

    That nothing reaches the goal, or keeps to the budget, is a claim as well, unless what was checked exceeds the
    budget already.
    """
    said = found.termination
    exceeded = found.budget is not None and checked_gpus is not None and checked_gpus > found.budget
    if said.reason is Reason.OPTIMAL or (said.reason is Reason.INFEASIBLE and not exceeded):
        reason = Reason.NO_SOLUTION if found.cost is None else Reason.FEASIBLE
        said = Termination(
            reason=reason, limit=Limit.CLAIM, detail=f"one solver alone says {said.reason}: {said.detail}"
        )
    return replace(
        found,
        bound=None if checked_gpus is None else Cost(gpus=checked_gpus, jobs=0),
        claimed_bound=found.bound,
        needed_budget=None,
        proof=None,
        termination=said,
    )


def search_with(found: Defragmentation, round_: Round, backends: Sequence[str], limits: Limits) -> Defragmentation:
    """Return the exact answer to what was asked before; runs in the solver process."""
    solvers: dict[str, Solve] = {name: backend_named(name).solve for name in backends}
    return _search(round_, found.nodes, found.job, found.budget, solvers, relaxation, limits)


def _settled(found: Defragmentation) -> bool:
    """Return whether nothing is left to look for; of a budget that does not do, that is the smallest that does."""
    if found.termination.reason is Reason.INFEASIBLE:
        return found.bound is None or found.needed_budget is not None
    return found.termination.reason is Reason.OPTIMAL


def _apart(found: Defragmentation, round_: Round, backends: Sequence[str], limits: Limits) -> Defragmentation:
    """Return the exact answer from a solver process, or what was found before with the reason why there is none."""
    try:
        with borrowed_worker() as worker:
            seconds = None if limits.seconds is None else limits.seconds + GRACE_SECONDS
            answer: Defragmentation = worker.call(search_with, found, round_, backends, limits, seconds=seconds)
            return answer
    except WorkerError as error:
        if found.termination.limit is None:
            return found
        limit = Limit.FAULT if error.fault else Limit.TIME
        said = Termination(reason=found.termination.reason, limit=limit, detail=f"greedy only: {error}")
        return replace(found, termination=said)


def _search(
    round_: Round,
    nodes: int | None,
    job: str | None,
    budget: int | None,
    solvers: dict[str, Solve],
    relax: Relax | None,
    limits: Limits,
) -> Defragmentation:
    if job is None:
        return free_nodes(round_, nodes=nodes or 0, budget=budget, solvers=solvers, relax=relax, limits=limits)
    return make_room(round_, job=job, budget=budget, solvers=solvers, relax=relax, limits=limits)
