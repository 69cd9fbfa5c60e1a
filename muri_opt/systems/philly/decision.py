"""From places of gangs to a decision of a multi-tenant round: who runs where, and why the others wait."""

from __future__ import annotations

from collections.abc import Mapping

from muri_opt.rounds import Budget, Round
from muri_opt.rounds.change_wording import change_text
from muri_opt.rounds.decision import Assignment, Decision, Waiting, WaitingReason
from muri_opt.rounds.quantities import MILLI_PER_CPU
from muri_opt.systems.philly.asked_text import AskedRules
from muri_opt.systems.philly.cluster_state import ClusterState
from muri_opt.systems.philly.job_status import Held, JobStatus
from muri_opt.systems.philly.waiting_changes import SmallestChanges
from muri_opt.systems.philly.waiting_text import BindingRules, free_where


def placement_decision(
    round_: Round, status: JobStatus, places: Mapping[int, Held], budget: Budget | None = None
) -> Decision:
    """Return the decision in which each job of ``places`` has these GPUs per node, and all others wait.

    Each of them says why, and which changes would start it, as far as a ``budget`` goes.

    >>> times = {"rack_after": 600_000_000, "any_after": 1_800_000_000, "hold": 150_000_000, "backoff": 0}
    >>> rates = {"aging": 86_400_000_000, "horizon": 600_000_000, "speed": (1000, 854, 729)}
    >>> rules = TenantRules(**times, **rates, preempt_at=900, migrate=0, dedicated=None, objective="weighted")
    >>> round_ = shipped_round("toy/three-servers")
    >>> decision = placement_decision(round_, JobStatus.of(round_, rules), {8: {0: 4}})
    >>> decision.assignments[0].gpus
    {'n0': 4}
    """
    state = ClusterState(round_, status, places)
    changes, rules = SmallestChanges(round_, state, budget), BindingRules(round_, state)
    waits = [job for job in range(len(round_.jobs)) if job not in places]
    asked = None if status.sets is None else AskedRules(rules)
    if asked is not None:
        asked.look_at(waits)
    return Decision(
        assignments=tuple(_assignment(round_, job, held) for job, held in sorted(places.items())),
        waiting=tuple(_waiting(changes, rules, asked, job) for job in waits),
    )


def _assignment(round_: Round, job: int, held: Held) -> Assignment:
    nodes, milli = round_.cluster.nodes, int(round_.amounts.c[job])
    used = sorted(held.items())
    return Assignment(
        jobs=(round_.jobs[job].id,),
        gpus={nodes[s].id: gpus for s, gpus in used},
        cpus={nodes[s].id: gpus * milli / MILLI_PER_CPU for s, gpus in used} if milli else {},
        period_seconds=round_.jobs[job].iteration_seconds,
    )


def waiting_reason(state: ClusterState, job: int, closest: int | None) -> WaitingReason:
    """Return the first rule that keeps a job from starting beside what is in the cluster.

    ``closest`` is how far it would be spread at least on what is free, ``None`` where it finds no room. A job that the
    decision preempts may be as far spread as it was, or as it could start.
    """
    status = state.status
    if not status.locality.fits[job]:
        return WaitingReason.CAPACITY
    if status.widest[job] < 0:
        return WaitingReason.BACKOFF
    if closest is not None and closest <= status.widest[job]:
        return WaitingReason.PRIORITY
    if not state.has_quota_left(job):
        return WaitingReason.QUOTA
    return WaitingReason.CAPACITY if state.amounts.g[job] > free_where(state, job) else WaitingReason.FRAGMENTATION


def _waiting(changes: SmallestChanges, rules: BindingRules, asked: AskedRules | None, job: int) -> Waiting:
    """Return why a job waits, with all that binds in words, and what would start it."""
    one, ways = changes.round.jobs[job], changes.of(job)
    reason = waiting_reason(changes.state, job, changes.closest(job))
    if asked is None:
        detail, remedy = rules.of(job, reason), ""  # there is always a change where jobs may start anywhere
    else:
        reason, detail, remedy, _, _ = asked.of(job, reason)
    return Waiting(
        job=one.id,
        reason=WaitingReason.STOPPED if one.state == "running" and not changes.round.waits_by_order[job] else reason,
        detail=detail,
        remedy=change_text(ways[0]) if ways else remedy,
        changes=ways,
    )
