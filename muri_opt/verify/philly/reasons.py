"""Does a job of a multi-tenant round wait for the reason it is given, and would the change it is told start it?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from muri_opt.rounds import Decision, Round, Violation, Waiting, WaitingReason
from muri_opt.rounds.memoise import last_recalled
from muri_opt.verify.amounts import Need, said_of
from muri_opt.verify.philly.changes import Proposals
from muri_opt.verify.philly.cluster_state import ClusterState
from muri_opt.verify.philly.job_status import Reading, Stand, places_of
from muri_opt.verify.philly.rules import APART


def placement_reasons(round_: Round, decision: Decision, reading: Reading) -> Iterator[tuple[Waiting, WaitingReason]]:
    """Yield every waiting job with the first reason that applies; the decision is one that breaks no rule."""
    hall = _state(round_, decision, reading)
    used: Counter[str] = Counter()
    for job in hall.places:
        used[reading.stands[job].tenant] += reading.stands[job].need.gpus
    free = hall.free_gpus
    seatable: dict[tuple[Need, int], bool] = {}
    for wait in decision.waiting:
        stand = reading.stands[round_.job_index[wait.job]]
        key = (stand.need, stand.level)
        if key not in seatable:
            seatable[key] = hall.could_seat(stand, stand.level, stand.reach)
        yield wait, said_of(stand.job, _reason(stand, seatable[key], free, used[stand.tenant]))


def wrong_placement_changes(round_: Round, decision: Decision, reading: Reading) -> Iterator[Violation]:
    """Yield a breach for each change that a waiting job is told and that would not start it."""
    if not any(wait.changes for wait in decision.waiting):
        return
    proposals = Proposals(round_, reading, _state(round_, decision, reading))
    for wait in decision.waiting:
        stand = reading.stands[round_.job_index[wait.job]]
        for place, change in enumerate(wait.changes):
            fault = proposals.fault(stand, change)
            if fault is not None:
                detail = f"changes[{place}]: {fault}"
                yield Violation(rule="waiting-change", where=wait.job, detail=detail)


@last_recalled
def _state(round_: Round, decision: Decision, reading: Reading) -> ClusterState:
    return ClusterState(reading, places_of(round_, decision))


def _reason(stand: Stand, seatable: bool, free: int, used: int) -> WaitingReason:
    """Return why a job waits; ``used`` are the GPUs of its tenant."""
    if not stand.reach.fits:
        return WaitingReason.CAPACITY
    if stand.level == APART:
        return WaitingReason.BACKOFF
    if seatable:
        return WaitingReason.PRIORITY
    if stand.quota is not None and used + stand.need.gpus > stand.quota:
        return WaitingReason.QUOTA
    return WaitingReason.CAPACITY if stand.need.gpus > free else WaitingReason.FRAGMENTATION
