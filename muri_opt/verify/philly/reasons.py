"""Does a job of a multi-tenant round wait for the reason it is given, and would the change it is told start it?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from muri_opt.rounds import Decision, Round, Violation, Waiting, WaitingReason
from muri_opt.rounds.memoise import last_recalled
from muri_opt.verify.amounts import said_of
from muri_opt.verify.demands import kept_back
from muri_opt.verify.philly.changes import Proposals
from muri_opt.verify.philly.cluster_state import ClusterState
from muri_opt.verify.philly.job_status import Reading, Stand, places_of
from muri_opt.verify.philly.rules import APART


def placement_reasons(round_: Round, decision: Decision, reading: Reading) -> Iterator[tuple[Waiting, WaitingReason]]:
    """Yield every waiting job with the first reason that applies; the decision is one that breaks no rule."""
    state = _state(round_, decision, reading)
    used: Counter[str] = Counter()
    for job in state.places:
        used[reading.stands[job].tenant] += reading.stands[job].need.gpus
    held = reading.quotas.held(used)
    placeable: dict[tuple[object, ...], tuple[bool, int]] = {}
    for wait in decision.waiting:
        stand = reading.stands[round_.job_index[wait.job]]
        key = (*stand.demand, stand.level)
        if key not in placeable:
            placeable[key] = state.could_place(stand, stand.level, stand.reach), state.free_for(stand.asked)
        within = reading.quotas.has_left(stand.tenant, stand.need.gpus, held)
        back = None if stand.asked is None else kept_back(round_, stand.job)
        yield wait, back or said_of(stand.job, _reason(stand, *placeable[key], within=within))


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


def _reason(stand: Stand, placeable: bool, free: int, *, within: bool) -> WaitingReason:
    """Return why a job waits; ``free`` GPUs are where it may start, and ``within`` its quota it would be or not."""
    if not stand.reach.fits:
        return WaitingReason.CAPACITY
    if stand.level == APART:
        return WaitingReason.BACKOFF
    if placeable:
        return WaitingReason.PRIORITY
    if not within:
        return WaitingReason.QUOTA
    return WaitingReason.CAPACITY if stand.need.gpus > free else WaitingReason.FRAGMENTATION
