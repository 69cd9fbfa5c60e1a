"""Why jobs wait that run by plans: what their parts find neither free nor in the empty cluster."""

from __future__ import annotations

from collections.abc import Sequence

from muri_opt.rounds import Round
from muri_opt.rounds.change_wording import gpus_text
from muri_opt.rounds.decision import Waiting, WaitingReason
from muri_opt.systems.capacity import Placed
from muri_opt.systems.capacity.free_capacity import Leftover
from muri_opt.systems.capacity.quota_text import quota_remedies, short_tenants
from muri_opt.systems.capacity.waiting_words import DECIDE_AGAIN, KEPT_FREE
from muri_opt.systems.joint.jobs.models import Models
from muri_opt.systems.joint.nodes.plan_rooms import plan_rooms
from muri_opt.systems.joint.nodes.regions import Regions


def why_plans_wait(round_: Round, models: Models, left: Leftover, running: frozenset[int]) -> dict[int, Waiting]:
    """Return why each job waits that runs by plans and is not among the running ones, where so much is left."""
    places = [place for place in range(len(models)) if place not in running and models.runs_by_plans(place)]
    if not places:
        return {}
    told = _Told(round_, models, left, places)
    return {place: told.of(at) for at, place in enumerate(places)}


class _Told:
    """What plans of some jobs find free beside the groups that run, and in the empty cluster."""

    def __init__(self, round_: Round, models: Models, left: Leftover, jobs: Sequence[int]) -> None:
        amounts, regions = round_.amounts, Regions.of(round_)
        self._round, self._models, self._left, self._jobs = round_, models, left, jobs
        self._tenant: list[int] = amounts.tenant[jobs].tolist()
        self._free: list[int] = (regions.inside @ left.gpus)[regions.kind[jobs]].tolist()
        """How many GPUs are free where each job may start."""
        rooms = plan_rooms(models, round_)
        self._ever = rooms.found((amounts.G, amounts.C, amounts.M), jobs)
        self._now = rooms.found((left.gpus, left.cpus, left.memory), jobs)

    def of(self, at: int) -> Waiting:
        """Return why the job at a place among them waits: the first rule that binds."""
        one = self._round.jobs[self._jobs[at]]
        reason, detail, remedy = self._binding(at)
        reason = WaitingReason.STOPPED if one.state == "running" else reason
        return Waiting(job=one.id, reason=reason, detail=detail, remedy=remedy)

    def _binding(self, at: int) -> tuple[WaitingReason, str, str]:
        """Return the first rule that binds, and all of them in words."""
        shapes, free, tenant = self._models.plans_of(self._jobs[at]).shapes, self._free[at], self._tenant[at]
        possible = [
            (shape, now) for shape, ever, now in zip(shapes, self._ever[at], self._now[at], strict=True) if ever
        ]
        if not possible:
            detail, remedy = "none of its plans fits the empty cluster", "give it smaller plans, or enlarge the cluster"
            return WaitingReason.CAPACITY, detail, remedy
        fewest, nodes = min([(shape.gpus, len(shape.parts)) for shape, _ in possible])
        said, reasons, remedies = [f"its plans need {gpus_text(fewest)} or more"], list[WaitingReason](), list[str]()
        able = [now for shape, now in possible if self._left.has_quota(tenant, shape.gpus)]
        if not able:
            line = self._left.line(self._jobs[at])
            said += short_tenants(self._round, line, self._left.quota, fewest).values()
            remedies += quota_remedies(self._round, self._left, self._jobs[at], fewest)
            reasons.append(WaitingReason.QUOTA)
            able = [now for _, now in possible]  # with a larger quota
        if fewest > free:
            said.append(f"{free} are free where it may start")
            on = f", on {nodes} nodes in all" if nodes > 1 else ""
            lacks = fewest - free
            remedies.append(f"free {lacks} more GPU{'s' * (lacks != 1)} where it may start{on}")
            reasons.append(WaitingReason.CAPACITY)
        elif not any(able):
            needs_more = any(part.milli or part.mib for shape in shapes for part in shape.parts)
            besides = ", each with its CPUs and memory" if needs_more else ""
            said.append(f"{free} are free where it may start, but no plan finds room for all its parts{besides}")
            remedies.append(f"free GPUs{' with the CPUs and memory' * needs_more} that the parts of a plan can use")
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
