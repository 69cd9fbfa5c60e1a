"""Where groups run: who can stay stays, where nodes are scarce those worth most come next, then the largest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import and_, or_

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Amounts, Ints
from muri_opt.rounds.free_capacity import FreeCapacity
from muri_opt.rounds.stopping import look_at_clock
from muri_opt.systems.capacity.free_capacity import occupy_entries
from muri_opt.systems.capacity.room_sets import GPUS_ALONE, RoomSets
from muri_opt.systems.capacity.shares import flat
from muri_opt.systems.joint.jobs.group_value import Group, Place
from muri_opt.systems.joint.jobs.models import Models
from muri_opt.systems.joint.jobs.plan_ways import PlanShape
from muri_opt.systems.joint.jobs.worth import Worth
from muri_opt.systems.joint.nodes.plans_in_turn import PlansInTurn
from muri_opt.systems.joint.nodes.quota_left import QuotaLeft
from muri_opt.systems.joint.nodes.regions import Region, Regions

NodeGpus = tuple[int, int]
"""A node, and GPUs of it."""
Wanted = tuple[tuple[int, int], tuple[Region, ...]]
"""Milli-CPUs and MiB with each GPU of a group, and where it may start."""
Stay = tuple[int, Place | None]
"""What a group saves by staying somewhere, and where; 0 and none for one that goes anywhere."""


def place_groups(
    round_: Round,
    models: Models,
    worth: Worth,
    groups: Sequence[Group],
    gpus: Sequence[int],
    stays: Sequence[Stay],
    worth_of_gpus: Sequence[float] | None = None,
    among: frozenset[int] | None = None,
    fixed: Mapping[Group, Place] | None = None,
) -> dict[Group, Place]:
    """Return GPUs of nodes of the groups that find a place beside those ``fixed``: who saves most by staying first.

    Then come those that have fewest GPUs to start on; of these, if it is said what groups are worth for each GPU, those
    worth most; then jobs that run by plans, as they need nodes with room for whole parts, powers of two, and the
    largest. Where CPUs, memory or a quota leave no room, a group gets the next smaller number of GPUs that all its
    members can have. Jobs that are left over, of those ``among`` some if they are named, are tried alone at last, those
    of the most value for a GPU first.
    """
    placing = _Placing(round_, models)
    if fixed:
        placing.hold(fixed)
    each = worth_of_gpus or [0.0] * len(groups)
    keys = [
        (-saved, placing.reach(group), -each_gpu, *placing.hardest(group, size), -size, group)
        for group, size, (saved, _), each_gpu in zip(groups, gpus, stays, each, strict=True)
    ]
    line = sorted(range(len(groups)), key=keys.__getitem__)
    homes = [(groups[at], gpus[at], home) for at in line if (home := stays[at][1]) is not None]
    if placing.all_stay(homes):  # they are first in the line
        line = line[len(homes) :]
    placing.expect([groups[at][0] for at in line])
    for at in line:
        placing.place(groups[at], gpus[at], stays[at][1])
    placing.place_left_over(worth, among)
    return placing.placed


def has_scarce_nodes(round_: Round) -> bool:
    """Return whether groups may find no room though GPUs are free: for CPUs, memory, or where they may start."""
    return Regions.of(round_).are_asked or has_limited_nodes(round_)


def has_limited_nodes(round_: Round) -> bool:
    """Return whether CPUs or memory of a node may be in the way of a job."""
    amounts = round_.amounts
    needs = (amounts.c, amounts.C), (amounts.m, amounts.M)
    return any(need.any() and (has < UNLIMITED).any() for need, has in needs)


def place_in_turn(
    round_: Round, models: Models, given: Mapping[int, int], fixed: Mapping[Group, Place]
) -> dict[Group, Place]:
    """Return groups that are ``fixed``, and jobs alone in turn, each on so many GPUs, or fewer if it finds no more."""
    placing = _Placing(round_, models)
    placing.hold(fixed)
    placing.expect([*given])
    for job, gpus in given.items():
        placing.place((job,), gpus, None)
    return placing.placed


class _Placing:
    """What is placed so far, and what is left."""

    def __init__(self, round_: Round, models: Models) -> None:
        amounts = round_.amounts
        self._models, self._regions = models, Regions.of(round_)
        self._amounts, self._asked, self._planned = amounts, self._regions.are_asked, models.are_planned
        self._kind_of: list[tuple[int, int]] = list(zip(amounts.c.tolist(), amounts.m.tolist(), strict=True))
        self._counts: dict[tuple[int, ...], list[int]] = {}
        """GPU counts by the models of a group, descending."""
        self._reaches: dict[Region, int] = {}
        """How many GPUs the nodes have on which groups may start."""
        self._unions: dict[tuple[Region, ...], Region] = {}
        self._full: set[Wanted] = set()
        """Needs and regions of jobs for which no GPU is left there: it stays so, as room only shrinks."""
        self._plans = PlansInTurn(round_, models)
        self._quota = QuotaLeft(amounts)
        self._limited = self._quota.is_limited
        self._rooms = RoomSets(amounts.G.tolist(), amounts.C.tolist(), amounts.M.tolist())
        self._empty = RoomSets(amounts.G.tolist(), amounts.C.tolist(), amounts.M.tolist())
        """What is left on the nodes; ``_empty`` is what they have."""
        self.free = int(amounts.G.sum())
        """GPUs that nobody has."""
        self.placed: dict[Group, Place] = {}

    def reach(self, group: Group) -> int:
        """Return how many GPUs there are where a group may start, where that is not anywhere."""
        if not self._asked:
            return 0
        if len(group) == 1:
            return self._regions.reach[self._regions.kinds[group[0]]]
        kinds, unions = self._regions.kinds, self._regions.unions
        where = reduce(and_, [unions[kinds[job]] for job in group])
        if where not in self._reaches:
            self._reaches[where] = self._empty.room(GPUS_ALONE, where)
        return self._reaches[where]

    def hardest(self, group: Group, gpus: int) -> tuple[bool, bool]:
        """Return what to sort groups by before their size: plans, and powers of two."""
        return not self._by_plans(group[0]), bool(gpus & (gpus - 1))

    def _by_plans(self, job: int) -> bool:
        return self._planned and self._models.runs_by_plans(job)

    def _kind(self, group: Group) -> tuple[int, int]:
        """Return the milli-CPUs and MiB with each GPU of a group."""
        if len(group) == 1:
            return self._kind_of[group[0]]
        cpus = memory = 0
        for job in group:
            more = self._kind_of[job]
            cpus, memory = cpus + more[0], memory + more[1]
        return cpus, memory

    def hold(self, fixed: Mapping[Group, Place]) -> None:
        """Let groups have their places: all of them have room and are within quotas, as they were found together."""
        self._rooms = RoomSets(*free_beside(self._amounts, self._models, fixed).left.tolist())
        for group, place in fixed.items():
            self._count(group, place)

    def all_stay(self, groups: Sequence[tuple[Group, int, Place]]) -> bool:
        """Let groups have so many GPUs each where they are, if there is room for all of them, and say whether.

        It is not looked at where one may not have them as far as can be told at once: by plans, or with quotas.
        """
        if not groups or self._limited or self._planned:
            return False
        kinds, period = self._models.kinds, self._models.period
        job, size = np.array([(one, gpus) for group, gpus, _ in groups for one in group], dtype=np.int64).T
        if any(place.gpus != gpus for _, gpus, place in groups) or int(size.max()) >= period.shape[1]:
            return False
        if not (period[np.array(kinds, dtype=np.int64)[job], size] > 0).all():
            return False
        taken = flat(place.parts for _, _, place in groups)
        left = RoomSets(*self._left_by([group for group, _, _ in groups], taken))
        if any(min(has, default=0) < 0 for has in left.free):
            return False
        self._rooms = left
        self.free -= int(taken[2].sum())
        self.placed.update((group, place) for group, _, place in groups)
        return True

    def _left_by(self, groups: Sequence[Group], taken: tuple[Ints, Ints, Ints]) -> list[list[int]]:
        """Return the GPUs, milli-CPUs and MiB that groups leave on each node of what is free now."""
        free = FreeCapacity(self._amounts)
        free.left[:] = self._rooms.free
        occupy_entries(free, groups, taken)
        left: list[list[int]] = free.left.tolist()
        return left

    def expect(self, jobs: Sequence[int]) -> None:
        """Say which jobs come next, in turn: those that run by plans are looked at together."""
        if self._planned:
            self._plans.expect([job for job in jobs if self._models.runs_by_plans(job)])

    def place(self, group: Group, most: int, here: Place | None) -> None:
        """Give a group a place of so many GPUs, or of fewer, if there is one."""
        look_at_clock()
        most = min(most, self._quota.most(group)) if self._limited else most
        if most <= 0:
            return
        if self._by_plans(group[0]):
            self._place_plan(group[0], most, here)
            return
        wanted = kind, regions = self._kind(group), self._regions.of_group(group)
        if here is None:  # who may stay does so wherever it is
            if wanted in self._full or (
                self._can_have(group, most, going_on=False) and self._fits(group, wanted, most, None)
            ):
                return
            most = min(most, self._room(kind, regions))
            if not most:
                return
        for size in self._sizes(group, most, going_on=here is not None):
            if self._fits(group, wanted, size, here):
                return

    def _fits(self, group: Group, wanted: Wanted, size: int, here: Place | None) -> bool:
        """Give a group so many GPUs, if there is a place for them, and say whether."""
        if size > self.free or not self._quota.can_borrow(group, size):
            return False
        parts = self._fit(wanted, size, here)
        if parts is None:
            return False
        self._rooms.take(wanted[0], parts)
        self._take(group, parts, None)
        return True

    def _place_plan(self, job: int, most: int, here: Place | None) -> None:
        """Give a job a plan of so many GPUs, where it is if it can stay, or the fastest one that finds room."""
        plans = self._models.plans_of(job)
        if here is not None and here.way is not None and self._may_have(job, plans.gpus[here.way], most):
            shape, nodes = plans.shape(here.way), here.largest_first
            if self._rooms.holds_parts(shape.parts, nodes):
                self._take_plan(job, here.way, shape, nodes)
                return
        found = self._plans.fit(self._rooms, job, min(most, self.free), self._quota)
        if found is not None:
            number, nodes = found
            self._take_plan(job, number, plans.shape(number), nodes)

    def _take_plan(self, job: int, number: int, shape: PlanShape, nodes: Sequence[int]) -> None:
        self._rooms.take_parts(shape.parts, nodes)
        self._take((job,), [(node, part.gpus) for node, part in zip(nodes, shape.parts, strict=True)], number)

    def _fit(self, wanted: Wanted, size: int, here: Place | None) -> Sequence[NodeGpus] | None:
        """Return GPUs of nodes: those it has if they are so many and free."""
        kind, regions = wanted
        if here is not None and here.gpus == size and self._rooms.holds(kind, here.parts):
            return here.parts
        return self._rooms.best_fit(kind, size, regions)

    def _room(self, kind: tuple[int, int], regions: tuple[Region, ...]) -> int:
        """Return the largest number of GPUs that a group of this kind could start on in one of the regions."""
        if (kind, regions) in self._full:
            return 0
        if len(regions) > 1 and not self._rooms.has_room(kind, self._union(regions)):
            room = 0
        else:
            room = max([self._rooms.room(kind, region) for region in regions], default=0)
        if not room:
            self._full.add((kind, regions))
        return room

    def _union(self, regions: tuple[Region, ...]) -> Region:
        """Return the nodes of all of some regions."""
        if regions not in self._unions:
            self._unions[regions] = reduce(or_, regions)
        return self._unions[regions]

    def _may_have(self, job: int, size: int, most: int) -> bool:
        """Return whether a job may have so many GPUs, if it may have at most so many by its quota."""
        return size <= most and self._quota.can_borrow((job,), size)

    def _take(self, group: Group, parts: Sequence[NodeGpus], way: int | None) -> None:
        self._count(group, Place(tuple(parts if len(parts) == 1 else sorted(parts)), way))

    def _count(self, group: Group, place: Place) -> None:
        """Count the GPUs of a group as its own, and against quotas."""
        size = place.gpus
        if self._limited:
            self._quota.take(group, size)
        self.free -= size
        self.placed[group] = place

    def place_left_over(self, worth: Worth, among: frozenset[int] | None) -> None:
        """Place jobs without a place while GPUs are free, those of the most value for a GPU first."""
        if not self.free:
            return
        placed = {job for group in self.placed for job in group}
        every = range(len(self._models)) if among is None else sorted(among)
        jobs = self._with_room([job for job in every if job not in placed])
        period = self._models.period[self._models.kind[jobs]].astype(np.float64)
        cost = np.where(period > 0, period * np.arange(period.shape[1]), np.inf)
        density = worth.new[jobs].astype(np.float64) / cost.min(axis=1, initial=np.inf)
        line = [jobs[at] for at in np.lexsort((jobs, -density)).tolist() if density[at] > 0]
        self.expect(line)
        least: list[int] = self._models.least[self._models.kind[line]].tolist()
        for job, fewest in zip(line, least, strict=True):
            if not self.free:
                return
            if fewest <= self.free:
                self.place((job,), self.free, None)

    def _with_room(self, jobs: list[int]) -> list[int]:
        """Return the jobs for which there may be a GPU within quotas, and somewhere, with what they need besides."""
        if self._limited:
            jobs = [job for job in jobs if self._quota.most((job,)) > 0]
        needs = [*dict.fromkeys([self._kind_of[job] for job in jobs])]
        room, unions = dict(zip(needs, self._rooms.with_room(needs), strict=True)), self._regions.unions
        kinds = self._regions.kinds
        return [job for job in jobs if room[self._kind_of[job]] & unions[kinds[job]] or self._by_plans(job)]

    def _sizes(self, group: Group, most: int, *, going_on: bool) -> Iterator[int]:
        """Yield the GPU counts of all members, descending.

        For a job alone those are left out that are no faster than a smaller one, but for that with which it can stay.
        """
        if self._can_have(group, most, going_on=going_on):  # so many is what nearly all get
            yield most
            most -= 1
        kinds = tuple([self._models.kinds[job] for job in group])
        if kinds not in self._counts:
            self._counts[kinds] = self._counts_of(kinds)
        for count in self._counts[kinds]:
            if count <= most:
                yield count

    def _can_have(self, group: Group, gpus: int, *, going_on: bool) -> bool:
        """Return whether so many GPUs are among the :meth:`_sizes` of a group."""
        if gpus >= self._models.period.shape[1]:
            return False
        if len(group) == 1 and not going_on:
            return self._is_faster(self._models.kinds[group[0]], gpus)
        period, kinds = self._models.period, self._models.kinds
        return all(period.item(kinds[job], gpus) for job in group)

    def _is_faster(self, kind: int, gpus: int) -> bool:
        """Return whether a model can have so many GPUs and is faster on them than on all fewer ones."""
        period = self._models.period.item(kind, gpus)
        if not period or gpus == 1:
            return bool(period)
        return all(one == 0 or one > period for one in self._models.period[kind, 1:gpus].tolist())

    def _counts_of(self, kinds: tuple[int, ...]) -> list[int]:
        """Return the GPU counts that jobs of these models can have together, descending; see :meth:`_sizes`."""
        if len(kinds) == 1:
            able = _faster_than_smaller(self._models.period[kinds[0]])
        else:
            able = np.asarray((self._models.period[list(kinds)] > 0).all(axis=0))
        counts: list[int] = able.nonzero()[0][::-1].tolist()
        return counts


def free_beside(amounts: Amounts, models: Models, placed: Mapping[Group, Place]) -> FreeCapacity:
    """Return what groups leave on the nodes; what they have of quotas is not counted."""
    free = FreeCapacity(amounts)
    planned = {group: place.way for group, place in placed.items() if place.way is not None}
    others = [group for group in placed if group not in planned]
    occupy_entries(free, others, flat(placed[group].parts for group in others))
    for group, way in planned.items():
        nodes = placed[group].largest_first
        for node, part in zip(nodes, models.plans_of(group[0]).shape(way).parts, strict=True):
            free.occupy(node, *part)
    return free


def _faster_than_smaller(period: Ints) -> NDArray[np.bool_]:
    """Return which GPU counts of a model are faster than all smaller ones that it can have, by its periods."""
    times = np.where(period > 0, period, period.max(initial=0) + 1)
    faster: NDArray[np.bool_] = period > 0
    faster[1:] &= times[1:] < np.minimum.accumulate(times)[:-1]
    return faster
