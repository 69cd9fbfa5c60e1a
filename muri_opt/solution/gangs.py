"""From shares of gangs to a decision: assignments for those that run, a reason for each that waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from muri_opt.instance import Round
from muri_opt.instance.amounts import Ints
from muri_opt.instance.quantities import MILLI_PER_CPU
from muri_opt.placement import Leftover, fewest_nodes, nodes_needed
from muri_opt.solution.decision import Assignment, Decision, Waiting, WaitingReason


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Placed:
    """Jobs that run on the same GPUs, ``share[s]`` of node s, in an order and with a period."""

    jobs: tuple[int, ...]
    share: Ints
    order: tuple[int, ...] = (0,)
    period_seconds: float | None = None


def gang_decision(round_: Round, shares: Mapping[int, Ints], *, consolidate: bool) -> Decision:
    """Return the decision that gives job j ``shares[j][s]`` GPUs of node s, alone; all other jobs wait."""
    placed = [
        Placed(jobs=(job,), share=share, period_seconds=round_.jobs[job].iteration_seconds)
        for job, share in sorted(shares.items())
    ]
    return group_decision(round_, placed, consolidate=consolidate)


def group_decision(round_: Round, groups: Sequence[Placed], *, consolidate: bool, asks: Ints | None = None) -> Decision:
    """Return the decision in which the groups run and all other jobs wait, with the reason.

    ``consolidate`` says that a gang must sit on as few nodes as it could in the empty cluster. ``asks`` are the GPUs
    each job runs with, or would need to start, where that is not what the round says.
    """
    left = Leftover(round_, asks)
    for group in groups:
        left.take(group.share, *group.jobs)
    running = {job for group in groups for job in group.jobs}
    return Decision(
        assignments=tuple(assignment_of(round_, group) for group in groups),
        waiting=_waiting(round_, left, [job for job in range(len(round_.jobs)) if job not in running], consolidate),
    )


def assignment_of(round_: Round, group: Placed) -> Assignment:
    """Return the assignment of placed jobs, with the CPUs that go with their GPUs."""
    nodes = round_.cluster.nodes
    used = np.flatnonzero(group.share).tolist()
    milli = int(round_.amounts.c[list(group.jobs)].sum())
    return Assignment(
        jobs=tuple(round_.jobs[job].id for job in group.jobs),
        order=group.order,
        gpus={nodes[s].id: int(group.share[s]) for s in used},
        cpus={nodes[s].id: int(group.share[s]) * milli / MILLI_PER_CPU for s in used} if milli else {},
        period_seconds=group.period_seconds,
    )


def _waiting(round_: Round, left: Leftover, jobs: Sequence[int], consolidate: bool) -> tuple[Waiting, ...]:
    """Return the first rule that keeps each of the jobs from starting beside what runs; alike ones are asked once."""
    amounts = round_.amounts
    demands = np.stack([left.asks, amounts.g, amounts.c, amounts.m, amounts.tenant])[:, jobs].T.tolist()
    known: dict[tuple[int, ...], tuple[WaitingReason, str, str]] = {}
    found = []
    for job, demand in zip(jobs, map(tuple, demands), strict=True):
        if demand not in known:
            known[demand] = _binding_rule(round_, left, job, consolidate)
        reason, detail, remedy = known[demand]
        found.append(Waiting(job=round_.jobs[job].id, reason=reason, detail=detail, remedy=remedy))
    return tuple(found)


def _binding_rule(round_: Round, left: Leftover, job: int, consolidate: bool) -> tuple[WaitingReason, str, str]:
    amounts = round_.amounts
    asks, free, total = int(left.asks[job]), int(left.gpus.sum()), round_.cluster.total_gpus
    most = int(amounts.most_gpus([job], amounts.G, amounts.C, amounts.M).sum())
    if asks > most:
        some = "" if most == total else f", {most} of them with the CPUs and memory it needs"
        return (
            WaitingReason.CAPACITY,
            f"asks for {_gpus(asks)}; the empty cluster has {total}{some}",
            f"ask for at most {_gpus(most)}, or enlarge the cluster",
        )
    if not left.within_quota(job):
        tenant, spare = round_.cluster.tenants[amounts.tenant[job]], int(left.quota[amounts.tenant[job]])
        return (
            WaitingReason.QUOTA,
            f"asks for {_gpus(asks)}; tenant {tenant.id!r} has {spare} left of its quota of {tenant.quota_gpus}",
            f"free {_gpus(asks - spare)} of the tenant, or raise its quota by as many",
        )
    if asks > free:
        return (
            WaitingReason.CAPACITY,
            f"asks for {_gpus(asks)}; {free} of {total} are free",
            f"free {_gpus(asks - free, more=True)}",
        )
    room = left.room(job)
    nodes = fewest_nodes(round_, job) if consolidate else len(room)
    if nodes_needed(room, asks) > nodes:
        best = int(np.sort(room)[::-1][:nodes].sum())
        where = f"on {nodes} node{'s' * (nodes != 1)}" if consolidate else "where its CPUs and memory are free too"
        return (
            WaitingReason.FRAGMENTATION,
            f"asks for {_gpus(asks)}; {free} are free, but at most {best} {where}",
            f"free room for {_gpus(asks - best, more=True)} {where}",
        )
    return (
        WaitingReason.PRIORITY,
        f"asks for {_gpus(asks)}, free now; the decision keeps them free",
        "use method 'auto' or 'exact', which leave no such job waiting",
    )


def _gpus(count: int, *, more: bool = False) -> str:
    return f"{count}{' more' * more} GPU{'s' * (count != 1)}"
