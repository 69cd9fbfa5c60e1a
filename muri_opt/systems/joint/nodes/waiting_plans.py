"""Why jobs wait that run by plans: what their parts find neither free nor in the empty cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.change_wording import gpus_text
from muri_opt.rounds.decision import Waiting, WaitingReason
from muri_opt.systems.capacity import Placed
from muri_opt.systems.capacity.free_capacity import Leftover
from muri_opt.systems.capacity.quota_text import quota_remedies, short_tenants
from muri_opt.systems.capacity.waiting_words import DECIDE_AGAIN, KEPT_FREE
from muri_opt.systems.joint.jobs.models import Models
from muri_opt.systems.joint.jobs.plan_ways import GPUS, LARGEST, PARTS
from muri_opt.systems.joint.nodes.plan_rooms import plan_rooms
from muri_opt.systems.joint.nodes.regions import Regions

_MORE: Final = 1 << 24
"""More than the parts of any plan."""
_NONE: Final = _MORE * _MORE
_AMOUNTS: Final = [LARGEST.start + 1, LARGEST.start + 2]
"""Where rows of needs have CPUs and memory."""


class _Binds(NamedTuple):
    """What binds for jobs: those for which it is the same are told the same.

    The fewest GPUs with which one of their plans fits the empty cluster, and its nodes, 0 if none does; how many GPUs
    are ``free`` where they may start; their ``tenant`` if its quota is in the way, else -1; whether a plan within
    quotas finds room now; and whether their plans need more than GPUs.
    """

    fewest: int
    nodes: int
    free: int
    tenant: int
    has_room: bool
    needs_more: bool


def why_plans_wait(round_: Round, models: Models, left: Leftover, running: frozenset[int]) -> dict[int, Waiting]:
    """Return why each job waits that runs by plans and is not among the running ones, where so much is left."""
    jobs = [job for job in range(len(models)) if job not in running and models.runs_by_plans(job)]
    if not jobs:
        return {}
    known: dict[_Binds, tuple[WaitingReason, str, str]] = {}
    found = dict[int, Waiting]()
    for job, binds in zip(jobs, _binding(round_, models, left, jobs), strict=True):
        if binds not in known:
            known[binds] = _told(round_, left, job, binds)
        one, (reason, detail, remedy) = round_.jobs[job], known[binds]
        reason = WaitingReason.STOPPED if one.state == "running" else reason
        found[job] = Waiting(job=one.id, reason=reason, detail=detail, remedy=remedy)
    return found


def _binding(round_: Round, models: Models, left: Leftover, jobs: Sequence[int]) -> Iterator[_Binds]:
    """Yield what binds for each of some jobs with plans, looked at all at once."""
    amounts, regions, rooms = round_.amounts, Regions.of(round_), plan_rooms(models, round_)
    ever = rooms.found_at_once((amounts.G, amounts.C, amounts.M), jobs)
    now = rooms.found_at_once((left.gpus, left.cpus, left.memory), jobs)
    each = [models.plans_of(job).needs for job in jobs]
    needs, count = np.concatenate(each), np.array([*map(len, each)], dtype=np.int64)
    first, tenant = np.cumsum(count) - count, amounts.tenant[jobs]
    gpus, of = needs[:, GPUS], np.repeat(tenant, count)
    if left.borrowed is None:
        within = gpus <= amounts.least_in_line(left.quota)[of]
    else:
        within = np.array([left.has_quota(*one) for one in zip(of.tolist(), gpus.tolist(), strict=True)], np.bool_)
    size = np.where(ever, gpus * _MORE + needs[:, PARTS], _NONE)
    fewest, nodes = np.divmod(np.minimum.reduceat(size, first), _MORE)
    allowed = np.logical_or.reduceat(ever & within, first)
    has_room = np.logical_or.reduceat(ever & now & (within | ~np.repeat(allowed, count)), first)
    columns = (
        np.where(fewest < _MORE, fewest, 0),
        nodes,
        (regions.inside @ left.gpus)[regions.kind[jobs]],
        np.where(allowed, -1, tenant),
        has_room,
        np.logical_or.reduceat((needs[:, _AMOUNTS] > 0).any(axis=1), first),
    )
    return map(_Binds, *(column.tolist() for column in columns))


def _told(round_: Round, left: Leftover, job: int, binds: _Binds) -> tuple[WaitingReason, str, str]:
    """Return the first rule that binds for a job, and all of them in words."""
    fewest, free = binds.fewest, binds.free
    if not fewest:
        detail, remedy = "none of its plans fits the empty cluster", "give it smaller plans, or enlarge the cluster"
        return WaitingReason.CAPACITY, detail, remedy
    said, reasons, remedies = [f"its plans need {gpus_text(fewest)} or more"], list[WaitingReason](), list[str]()
    if binds.tenant >= 0:
        said += short_tenants(round_, left.line(job), left.quota, fewest).values()
        remedies += quota_remedies(round_, left, job, fewest)
        reasons.append(WaitingReason.QUOTA)
    if fewest > free:
        said.append(f"{free} are free where it may start")
        on = f", on {binds.nodes} nodes in all" if binds.nodes > 1 else ""
        lacks = fewest - free
        remedies.append(f"free {lacks} more GPU{'s' * (lacks != 1)} where it may start{on}")
        reasons.append(WaitingReason.CAPACITY)
    elif not binds.has_room:
        besides = ", each with its CPUs and memory" if binds.needs_more else ""
        said.append(f"{free} are free where it may start, but no plan finds room for all its parts{besides}")
        more = " with the CPUs and memory" * binds.needs_more
        remedies.append(f"free GPUs{more} that the parts of a plan can use")
        reasons.append(WaitingReason.FRAGMENTATION)
    if not reasons:
        return WaitingReason.PRIORITY, f"{said[0]}, {KEPT_FREE}", DECIDE_AGAIN
    return reasons[0], "; ".join(said), " and ".join(remedies)


def occupy(left: Leftover, group: Placed) -> None:
    """Take what a group has of its nodes and quotas."""
    used = group.share.nonzero()[0].tolist()
    size = int(group.share.sum())
    cpus, memory = left.amounts.needs_of(group.jobs)
    takes = group.takes or [(int(group.share[node]) * cpus, int(group.share[node]) * memory) for node in used]
    for node, (milli, mib) in zip(used, takes, strict=True):
        left.occupy(node, int(group.share[node]), milli, mib)
    for job in group.jobs:
        left.charge(int(left.amounts.tenant[job]), size)
