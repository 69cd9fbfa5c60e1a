"""Would the change that a waiting gang is told start it?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from msgspec import structs

from muri_opt.rounds import Assignment, Change, Decision, Job, Round
from muri_opt.rounds.memoise import last_recalled
from muri_opt.verify.amounts import CountedRooms, Need, Room, empty_rooms, fewest_of, micro, need_of, whole
from muri_opt.verify.counted_parts import CountedParts, empty_parts
from muri_opt.verify.demands import Asked, asked_job, starts_of
from muri_opt.verify.tenant_lines import most_gpus, tenant_lines, with_parents
from muri_opt.verify.type_quotas import OpenTypes, used_of


@last_recalled
def rooms_after(round_: Round, decision: Decision) -> dict[str, Room]:
    """Return what each node has left beside what the decision runs."""
    rooms = dict(zip(round_.cluster.node_index, empty_rooms(round_), strict=True))
    taken, jobs, index = dict[str, list[int]](), round_.jobs, round_.job_index
    for assignment in decision.assignments:
        milli = mebibytes = 0
        for name in assignment.jobs:
            need = need_of(jobs[index[name]])
            milli, mebibytes = milli + need.milli, mebibytes + need.mebibytes
        for node, gpus in assignment.gpus.items():
            here = taken.setdefault(node, [0, 0, 0])
            here[0] += gpus
            here[1] += gpus * milli
            here[2] += gpus * mebibytes
    return rooms | {node: rooms[node].less(*amounts) for node, amounts in taken.items()}


class Proposals:
    """Changes checked on the cluster as the decision leaves it; the same changes for equal jobs are checked once."""

    def __init__(self, round_: Round, decision: Decision, *, fewest_nodes: bool) -> None:
        self._round, self._fewest_nodes = round_, fewest_nodes
        self._decision = decision
        self._rooms: dict[str, Room] | None = None
        self._of: dict[str, Assignment] = {}
        self._free = self._empty = CountedRooms(())
        self._parts = CountedParts(())
        self._asked = starts_of(round_)
        self._known: dict[tuple[object, ...], list[tuple[int, str]]] = {}
        self._kept: list[tuple[Change, ...]] = []
        self._lent = any(tenant.borrow_gpus for tenant in round_.cluster.tenants)
        self._tree = any(tenant.parent is not None for tenant in round_.cluster.tenants)
        self._types = None
        if "tenant.quota_by_type" in round_.used_fields:
            self._types = OpenTypes(round_, used_of(round_, decision))

    def faults(self, job: Job, spare: int | None, changes: tuple[Change, ...]) -> list[tuple[int, str]]:
        """Return why the job would not start with a change made, for each of those that are wrong, with its place.

        ``spare`` is left of its quota.
        """
        key: tuple[object, ...] = id(changes), job.gpus, job.cpus, job.memory_gib, spare, job.tenant
        if self._asked is not None:
            asked = self._asked[job.id]
            key = *key, asked.alike, job.not_before, job.held, *((job.id,) if self._starts_later(job) else ())
        found = self._known.get(key)
        if found is None:
            self._kept.append(changes)  # they must not go, or their id would be another's
            every = [(place, self._found(job, spare, change)) for place, change in enumerate(changes)]
            found = self._known[key] = [(place, fault) for place, fault in every if fault is not None]
        return found

    def _found(self, job: Job, spare: int | None, change: Change) -> str | None:
        if change.move or change.rack is not None:
            return "nothing is moved, and no rack matters, under this policy"
        if change.raise_quota and self._lent:
            return "with a larger quota there would be less to borrow"
        if self._rooms is None:
            self._rooms = rooms_after(self._round, self._decision)
            self._of = {name: one for one in self._decision.assignments for name in one.jobs}
            self._free, self._empty = CountedRooms(self._rooms.values()), CountedRooms(empty_rooms(self._round))
            self._parts = CountedParts([*self._rooms.values()])
        freed, of = dict[str, Room](), self._of
        for name in change.preempt:
            if name not in of or len(of[name].jobs) > 1:
                return f"job {name!r} does not run alone"
            victim = self._round.jobs[self._round.job_index[name]]
            if victim.stays:
                return f"job {name!r} may not be stopped"
            for node, gpus in of[name].gpus.items():
                freed[node] = freed.get(node, self._rooms[node]).without(need_of(victim), -gpus)
        counted = sum(sum(of[name].gpus.values()) for name in change.preempt) + (change.add_gpus or 0)
        if change.gpus != counted or len(set(change.preempt)) < len(change.preempt):
            return f"it says {change.gpus} GPUs; it takes {counted}"
        left = self._spare_without(job, spare, change.preempt)
        if left is not None and job.gpus > left + (change.raise_quota or 0):
            return f"the tenant has {left} GPUs of its quota left, and {change.raise_quota or 0} more"
        added = [Room(gpus=change.add_gpus, milli=None, mebibytes=None)] if change.add_gpus else []
        now, least = self._node_counts(job, self._rooms, freed, added, change)
        if now is None:
            return "it finds no room for all its GPUs"
        if self._fewest_nodes and (least is None or now > least):
            return f"it needs {now} nodes, and must sit on {least}"
        return None

    def _spare_without(self, job: Job, spare: int | None, stopped: Sequence[str]) -> int | None:
        """Return what is left of the quota of a job's tenant, and of those above it, once some jobs are stopped.

        Of tenants that borrow only what the tenant's own jobs leave is counted.
        """
        victims = [self._round.jobs[self._round.job_index[name]] for name in stopped]
        if self._lent or not self._tree:
            freed = sum(victim.gpus for victim in victims if victim.tenant == job.tenant)
            return None if spare is None else spare + freed
        lines, most, held = self._quotas
        left = []
        for one in lines.get(job.tenant or "", ()):
            if one in most:
                freed = sum(victim.gpus for victim in victims if one in lines.get(victim.tenant or "", ()))
                left.append(most[one] - held[one] + freed)
        return min(left, default=None)

    @cached_property
    def _quotas(self) -> tuple[Mapping[str, tuple[str, ...]], Mapping[str, int], Counter[str]]:
        """Each tenant with those above it, the most GPUs that tenants may have, and those of their running jobs."""
        jobs, index, held = self._round.jobs, self._round.job_index, Counter[str]()
        for one in self._decision.assignments:
            for name in one.jobs:
                held[jobs[index[name]].tenant or ""] += jobs[index[name]].gpus
        return tenant_lines(self._round), most_gpus(self._round), with_parents(self._round, held)

    def _starts_later(self, job: Job) -> bool:
        """Return whether a job may not start, or start again, in the next round like this one."""
        return job.held is not None or (job.not_before or 0.0) > self._round.now

    def _node_counts(
        self, job: Job, rooms: Mapping[str, Room], freed: Mapping[str, Room], added: Sequence[Room], change: Change
    ) -> tuple[int | None, int | None]:
        """Return on how few nodes the job fits now, and in the empty cluster; it may use what is freed and added."""
        need = need_of(job)
        if self._asked is None:
            more = [*freed.values(), *added]
            less = [rooms[node] for node in freed if rooms[node].gpus > 0]
            return _node_count(self._free, need, more, less), _node_count(self._empty, need, added, ())
        asked = self._asked_then(job, self._asked[job.id], change)
        if asked is None:
            return None, None
        if change.like is not None:
            place = self._round.cluster.node_index.get(change.like)
            asked = replace(asked, parts=tuple(part for part in asked.parts if place in part))
        if added and not asked.parts:
            return None, None  # nobody knows what a node would have to be
        within = asked if self._types is None else replace(asked, parts=self._types.parts(job, asked))
        index = self._round.cluster.node_index
        now = self._parts.node_count_with(within, need, {index[node]: room for node, room in freed.items()}, added)
        return now, empty_parts(self._round).node_count_with(asked, need, {}, added)

    def _asked_then(self, job: Job, asked: Asked, change: Change) -> Asked | None:
        """Return what a job asks once the time of a change has passed; ``None`` where it may not start then either."""
        if not self._starts_later(job):
            return asked
        late = micro(self._round.now) + micro(change.wait_seconds or 0.0) < micro(job.not_before or 0.0)
        if job.held is not None or late or "node.available_until" in self._round.used_fields:
            return None
        return asked_job(self._round, structs.replace(job, not_before=None, state="waiting", placement=None))


def _node_count(rooms: CountedRooms, need: Need, more: Iterable[Room], less: Iterable[Room]) -> int | None:
    """Return on how few nodes a gang fits where some nodes are as others were; ``None`` where it does not."""
    then, any_size = dict(rooms.holding(need)), whole(need)
    for room in more:
        holds = room.holds(any_size)
        then[holds] = then.get(holds, 0) + 1
    for room in less:
        holds = room.holds(any_size)
        then[holds] = then.get(holds, 0) - 1
    return fewest_of(then, need.gpus)
