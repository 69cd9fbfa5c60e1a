"""Why jobs wait that run by plans: what their parts find neither free nor in the empty cluster."""

from __future__ import annotations

from muri_opt.rounds import Round
from muri_opt.rounds.change_wording import gpus_text
from muri_opt.rounds.decision import Waiting, WaitingReason
from muri_opt.systems.capacity import Placed
from muri_opt.systems.capacity.free_capacity import Leftover
from muri_opt.systems.capacity.room_sets import RoomSets
from muri_opt.systems.joint.models import Models
from muri_opt.systems.joint.plan_ways import PlanShape
from muri_opt.systems.joint.regions import Regions


def why_plans_wait(round_: Round, models: Models, left: Leftover, running: frozenset[int]) -> dict[int, Waiting]:
    """Return why each job waits that runs by plans and is not among the running ones, where so much is left."""
    places = [place for place in range(len(models)) if place not in running and models.runs_by_plans(place)]
    if not places:
        return {}
    told = _Told(round_, models, left)
    return {place: told.of(place) for place in places}


class _Told:
    """What plans find free beside the groups that run, and in the empty cluster."""

    def __init__(self, round_: Round, models: Models, left: Leftover) -> None:
        amounts = round_.amounts
        self._round, self._models, self._left, self._regions = round_, models, left, Regions.of(round_)
        self._empty = RoomSets(amounts.G.tolist(), amounts.C.tolist(), amounts.M.tolist())
        self._free = RoomSets(left.gpus.tolist(), left.cpus.tolist(), left.memory.tolist())
        self._kind: list[int] = self._regions.kind.tolist()
        self._tenant: list[int] = amounts.tenant.tolist()
        self._told: dict[tuple[int, int, frozenset[PlanShape]], tuple[WaitingReason, str, str]] = {}
        """Why jobs wait that may start in the same places, of one tenant, by plans of the same shapes."""
        self._known: dict[tuple[bool, int, PlanShape], bool] = {}
        """Whether parts of plans find room, free or in the empty cluster: many jobs ask for the same."""
        self._reach: list[int] = (self._regions.inside @ left.gpus).tolist()
        """How many GPUs are free where jobs of a kind may start."""

    def of(self, job: int) -> Waiting:
        """Return why a job waits: the first rule that binds."""
        shapes = frozenset(self._models.plans_of(job).shapes)
        alike = self._kind[job], self._tenant[job], shapes
        told = self._told.get(alike)
        if told is None:
            told = self._told[alike] = self._binding(job, shapes)
        reason, detail, remedy = told
        one = self._round.jobs[job]
        reason = WaitingReason.STOPPED if one.state == "running" else reason
        return Waiting(job=one.id, reason=reason, detail=detail, remedy=remedy)

    def _binding(self, job: int, shapes: frozenset[PlanShape]) -> tuple[WaitingReason, str, str]:
        possible = [shape for shape in shapes if self._fits(self._empty, job, shape)]
        fewest = min((shape.gpus for shape in possible), default=0)
        open_to = [shape for shape in possible if self._left.has_quota(self._tenant[job], shape.gpus)]
        free = self._reach[self._kind[job]]
        if not possible:
            detail, remedy = "none of its plans fits the empty cluster", "give it smaller plans, or enlarge the cluster"
            return WaitingReason.CAPACITY, detail, remedy
        said = f"its plans need {gpus_text(fewest)} or more"
        if not open_to:
            remedy = "free GPUs of its tenant, or raise the quota"
            return WaitingReason.QUOTA, f"{said}; that is above the quota of {self._round.jobs[job].tenant!r}", remedy
        if fewest > free:
            remedy = f"free {gpus_text(fewest - free)} more"
            return WaitingReason.CAPACITY, f"{said}; {free} are free where it may start", remedy
        if not any(self._fits(self._free, job, shape) for shape in open_to):
            detail = f"{said}; {free} are free where it may start, but no plan finds room for all its parts"
            return WaitingReason.FRAGMENTATION, detail, "free GPUs that the parts of a plan can use"
        detail = f"{said}, free now; the decision keeps them free"
        return WaitingReason.PRIORITY, detail, "decide again; the methods 'auto' and 'exact' leave no such job waiting"

    def _fits(self, rooms: RoomSets, job: int, shape: PlanShape) -> bool:
        asked = rooms is self._free, self._kind[job], shape
        known = self._known.get(asked)
        if known is None:
            regions = self._regions.of_plan(job, shape.types)
            known = any(rooms.fit_parts(shape.parts, region) is not None for region in regions)
            self._known[asked] = known
        return known


def occupy(left: Leftover, group: Placed) -> None:
    """Take what a group has of its nodes and quotas."""
    used = group.share.nonzero()[0].tolist()
    size = int(group.share.sum())
    cpus, memory = (sum(int(need[job]) for job in group.jobs) for need in (left.amounts.c, left.amounts.m))
    takes = group.takes or [(int(group.share[node]) * cpus, int(group.share[node]) * memory) for node in used]
    for node, (milli, mib) in zip(used, takes, strict=True):
        left.occupy(node, int(group.share[node]), milli, mib)
    for job in group.jobs:
        left.charge(int(left.amounts.tenant[job]), size)
