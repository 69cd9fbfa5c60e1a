"""Do moves reach what they claim, at the cost they claim, and does nothing cheaper? Counted anew, every rule named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol

from muri_opt.errors import InputError
from muri_opt.rounds import (
    INFORMATION,
    Assignment,
    Certificate,
    Evidence,
    LinearDuals,
    Proof,
    Reason,
    Round,
    Termination,
    Violation,
)
from muri_opt.rounds.field_groups import PLACES, QUOTAS, SHARES, STATES
from muri_opt.rounds.used_fields import refusal, unhonoured
from muri_opt.verify.amounts import empty_rooms, minus, need_of, times
from muri_opt.verify.defragment.dual_bound import Ground, counted_out, price_bound
from muri_opt.verify.defragment.enumeration import cheaper_cost
from muri_opt.verify.demands import asked_of, is_lost, start_breaches
from muri_opt.verify.enumeration import OutOfStepsError

_RESOURCES = ("GPUs", "milli-CPUs", "MiB of memory")


class MoveClaim(Protocol):
    """A job that is said to move from nodes to nodes."""

    @property
    def job(self) -> str:
        """Id of the job."""

    @property
    def source(self) -> Mapping[str, int]:
        """GPUs per node before."""

    @property
    def target(self) -> Mapping[str, int]:
        """GPUs per node after."""


class DefragmentationClaim(Protocol):
    """What is checked: the goal, the moves, what they are said to reach and to cost, and what is said of others."""

    @property
    def nodes(self) -> int | None:
        """Nodes to be freed, or ``None``."""

    @property
    def job(self) -> str | None:
        """The waiting job to make room for, or ``None``."""

    @property
    def budget(self) -> int | None:
        """GPUs that may move at most."""

    @property
    def moves(self) -> Sequence[MoveClaim]:
        """The moves."""

    @property
    def freed(self) -> Sequence[str]:
        """Nodes said to be empty in the end."""

    @property
    def placement(self) -> Mapping[str, int] | None:
        """Where the waiting job goes."""

    @property
    def cost(self) -> tuple[int, int] | None:
        """Moved GPUs and moved jobs."""

    @property
    def bound(self) -> tuple[int, int] | None:
        """What no plan costs less than."""

    @property
    def needed_budget(self) -> int | None:
        """The smallest budget that would do."""

    @property
    def evidence(self) -> Sequence[Evidence]:
        """What the bound is proved from."""

    @property
    def termination(self) -> Termination:
        """Why the search stopped."""


HONOURED: Final = INFORMATION | PLACES | STATES | QUOTAS | SHARES | {"job.priority", "job.deadline"}
"""Fields of which moves obey those that say where a job may be; quotas and order are no matter of moves."""


def check_fields(round_: Round) -> None:
    """Refuse a round that uses a field which moves would ignore."""
    field = unhonoured(round_.used_fields, HONOURED)
    if field is not None:
        raise refusal(round_.used_fields, field, "defragmentation", ())
    asked_of(round_)  # refuses a place that is only preferred


def check_defragmentation(round_: Round, claim: DefragmentationClaim) -> Certificate:
    """Return every broken rule of an answer to a valid round, and who proves its bound.

    ``checked_bound`` are the moved GPUs that were shown here to be the fewest possible. ``Counting`` are bounds that
    need no prices; with a bound that nothing here proves the proof is ``ClaimOnly``.
    """
    check_fields(round_)
    found = list(_goal_breaches(round_, claim))
    if found:
        return Certificate(feasible=False, violations=tuple(found), evidence=tuple(claim.evidence))
    if claim.cost is not None:
        found += _move_breaches(round_, claim)
        found += _end_breaches(round_, claim) if not found else []
        found += _cost_breaches(round_, claim)
    elif claim.moves or claim.freed or claim.placement is not None:
        found.append(Violation(rule="cost", where="cost", detail="there are moves, and no cost of them"))
    found += _termination_breaches(claim)
    ground = Ground.of(round_, claim.nodes, claim.job)
    proof, checked, wrong = _proved(round_, ground, claim)
    found += wrong
    return Certificate(
        feasible=not found and claim.cost is not None,
        violations=tuple(found),
        proof=proof,
        checked_bound=checked,
        evidence=tuple(claim.evidence),
    )


def _goal_breaches(round_: Round, claim: DefragmentationClaim) -> Iterator[Violation]:
    if (claim.nodes is None) == (claim.job is None):
        yield Violation(rule="goal", where="goal", detail="not one of nodes to free and a job to make room for")
    elif claim.job is not None:
        position = round_.job_index.get(claim.job)
        if position is None or round_.jobs[position].state == "running":
            yield Violation(rule="goal", where=claim.job, detail="no waiting job of the round")


def _move_breaches(round_: Round, claim: DefragmentationClaim) -> Iterator[Violation]:
    """Yield what is wrong with single moves."""
    seen: set[str] = set()
    for move in claim.moves:
        position = round_.job_index.get(move.job)
        job = None if position is None else round_.jobs[position]
        if job is None or job.state != "running" or move.job in seen:
            yield Violation(rule="job", where=move.job, detail="not one running job of the round, moved once")
            continue
        seen.add(move.job)
        held = job.placement or {}
        if job.restart_seconds is None:
            yield Violation(rule="pinned", where=move.job, detail="a job without restart_seconds stays")
        if is_lost(round_, job):
            yield Violation(rule="lost", where=move.job, detail="it ran on a node that is down, and is nowhere")
            continue
        if move.source != held or move.target == held:
            detail = f"from {dict(move.source)} to {dict(move.target)}; it is on {dict(held)}"
            yield Violation(rule="source", where=move.job, detail=detail)
        wrong = list(_share_breaches(round_, move.job, move.target, len(held)))
        yield from wrong or _asked_breaches(round_, move.job, move.target)


def _asked_breaches(round_: Round, name: str, share: Mapping[str, int]) -> Iterator[Violation]:
    """Yield what a job asks of nodes, types, levels and times, and does not get where it is put."""
    if asked_of(round_) is None:
        return
    job = round_.jobs[round_.job_index[name]]
    yield from start_breaches(round_, job, Assignment(jobs=(name,), gpus=dict(share)), name)


def _share_breaches(round_: Round, name: str, share: Mapping[str, int], most: int) -> Iterator[Violation]:
    """Yield what is wrong with the nodes of one job, whatever else is there."""
    gpus = round_.jobs[round_.job_index[name]].gpus
    for node in share:
        if node not in round_.cluster.node_index:
            yield Violation(
                rule="node", where=node, detail=f"no node of the cluster, with {share[node]} GPUs of {name}"
            )
    if sum(share.values()) != gpus or (gpus and min(share.values(), default=0) < 1):
        yield Violation(rule="gang", where=name, detail=f"{dict(share)} are not its {gpus} GPUs")
    if not 1 <= len(share) <= most:
        yield Violation(rule="split", where=name, detail=f"on {len(share)} nodes; at most {most} are allowed")


def _end_breaches(round_: Round, claim: DefragmentationClaim) -> Iterator[Violation]:
    """Yield what is wrong where everything ends: capacities, freed nodes, the waiting job."""
    target = {move.job: move.target for move in claim.moves}
    running = [job for job in round_.jobs if job.state == "running" and not is_lost(round_, job)]
    ends = {job.id: target.get(job.id, job.placement or {}) for job in running}
    busy = {node for share in ends.values() for node in share}
    if claim.job is not None:
        limit = Ground.of(round_, None, claim.job).wanted
        wrong = list(_share_breaches(round_, claim.job, claim.placement or {}, limit))
        yield from (Violation(rule="placement", where=claim.job, detail=breach.detail) for breach in wrong)
        asked = [] if wrong else list(_asked_breaches(round_, claim.job, claim.placement or {}))
        yield from asked
        if wrong or asked:
            return
        ends[claim.job] = claim.placement or {}
    yield from _overfilled(round_, ends)
    if claim.nodes is not None:
        gpus = dict(zip(round_.cluster.node_index, _gpus(round_), strict=True))
        for node in claim.freed:
            if node in busy or not gpus.get(node):
                yield Violation(rule="freed", where=node, detail="no node with GPUs and without a job")
        if len(set(claim.freed)) < claim.nodes:
            detail = f"{len(set(claim.freed))} nodes; {claim.nodes} were to be freed"
            yield Violation(rule="freed", where="freed", detail=detail)


def _overfilled(round_: Round, ends: Mapping[str, Mapping[str, int]]) -> Iterator[Violation]:
    left = [room.sizes for room in empty_rooms(round_)]
    for name, share in ends.items():
        need = need_of(round_.jobs[round_.job_index[name]])
        for node, gpus in share.items():
            s = round_.cluster.node_index[node]
            left[s] = minus(left[s], times((min(need.gpus, 1), need.milli, need.mebibytes), max(gpus, 1)))
    for full, rest in zip(round_.cluster.nodes, left, strict=True):
        for resource, amount in zip(_RESOURCES, rest, strict=True):
            if amount < 0:
                yield Violation(rule="capacity", where=full.id, detail=f"{-amount:,} {resource} too many")


def _cost_breaches(round_: Round, claim: DefragmentationClaim) -> Iterator[Violation]:
    jobs = [round_.jobs[round_.job_index[move.job]] for move in claim.moves if move.job in round_.job_index]
    cost = (sum(job.gpus for job in jobs), len(claim.moves))
    if claim.cost != cost:
        yield Violation(rule="cost", where="cost", detail=f"said {_text(claim.cost)}; it is {_text(cost)}")
    if claim.budget is not None and cost[0] > claim.budget:
        yield Violation(rule="budget", where="budget", detail=f"{cost[0]} GPUs move; at most {claim.budget} may")
    if claim.bound is not None and tuple(claim.bound) > cost:
        yield Violation(rule="bound", where="bound", detail=f"{_text(claim.bound)} is above the cost {_text(cost)}")


def _termination_breaches(claim: DefragmentationClaim) -> Iterator[Violation]:
    """Yield where reason, answer, bound and budget contradict each other."""
    reason = claim.termination.reason
    wrong = None
    if (reason in (Reason.OPTIMAL, Reason.FEASIBLE)) != (claim.cost is not None):
        wrong = f"{reason} {'without' if claim.cost is None else 'with'} moves"
    elif reason is Reason.OPTIMAL and claim.bound != claim.cost:
        wrong = f"OPTIMAL with cost {_text(claim.cost)} and bound {_text(claim.bound)}"
    elif reason is Reason.INFEASIBLE and claim.bound is not None and not _over(claim.bound, claim.budget):
        wrong = f"INFEASIBLE with bound {_text(claim.bound)} and budget {claim.budget}"
    if wrong is not None:
        yield Violation(rule="termination", where="termination", detail=wrong)
    if claim.needed_budget is not None and (claim.bound is None or claim.needed_budget != claim.bound[0]):
        detail = f"said {claim.needed_budget}; the bound is {_text(claim.bound)}"
        yield Violation(rule="budget", where="needed_budget", detail=detail)


def _proved(
    round_: Round, ground: Ground, claim: DefragmentationClaim
) -> tuple[Proof | None, int | None, list[Violation]]:
    """Return who proves the bound, or that there is no plan; the GPUs proved; and what is wrong with the proof."""
    impossible = claim.termination.reason is Reason.INFEASIBLE and claim.bound is None
    if claim.bound is None and not impossible:
        return None, None, []
    claimed = ground.most + 1 if claim.bound is None else claim.bound[0] * ground.weight + claim.bound[1]
    gpus = _gpus(round_)
    if impossible and counted_out(ground, gpus):
        return Proof.COUNTING, None, []
    bounds = [(price_bound(ground, LinearDuals(denominator=1, multipliers={})), Proof.COUNTING)]
    wrong: list[Violation] = []
    for item in claim.evidence:
        if isinstance(item, LinearDuals):
            try:
                bounds.append((price_bound(ground, item), Proof.LINEAR_DUALS))
            except InputError as error:
                detail = f"found {error.found}; allowed: {error.allowed}"
                wrong.append(Violation(rule="evidence", where=error.field, detail=detail))
    best, proof = max(bounds, key=lambda bound: bound[0])
    if best < claimed:
        try:
            cheaper = cheaper_cost(ground, gpus, claimed)
        except OutOfStepsError:
            return Proof.CLAIM_ONLY, None if impossible else best // ground.weight, wrong
        if cheaper is None:
            best, proof = claimed, Proof.EXHAUSTIVE
        else:
            said = _text(divmod(cheaper, ground.weight))
            wrong.append(Violation(rule="bound", where="bound", detail=f"there is a plan of cost {said}"))
    return (proof if best >= claimed else Proof.CLAIM_ONLY), None if impossible else best // ground.weight, wrong


def _gpus(round_: Round) -> list[int]:
    """Return the GPUs of each node; one that is down has none."""
    return [0 if node.state == "down" else node.gpus for node in round_.cluster.nodes]


def _over(bound: tuple[int, int], budget: int | None) -> bool:
    return budget is not None and bound[0] > budget


def _text(cost: tuple[int, int] | None) -> str:
    return "none" if cost is None else f"{cost[0]} GPUs in {cost[1]} jobs"
