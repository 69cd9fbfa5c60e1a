"""Policy ``optimus-ps``: servers and workers one by one to whom they help most, then evenly on the fewest nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from heapq import heapify, heappop, heappush
from math import inf
from typing import ClassVar, NamedTuple

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.rounds.stopping import look_at_clock
from muri_opt.rounds.used_fields import PLAN_NODES
from muri_opt.systems.aiturbo.configuration_choices import Choices, remaining
from muri_opt.systems.plans.allocation import PlanAllocation, arrivals, size
from muri_opt.systems.plans.options import PlanOptions
from muri_opt.systems.plans.plan_ladder import Configuration
from muri_opt.systems.plans.plan_rules import PlanRules
from muri_opt.systems.plans.policy import PlanPolicy
from muri_opt.systems.policy import Allowed


class Growth(NamedTuple):
    """One more task of a job, in the order they are chosen: most gain, then a server, then the earlier job.

    ``loss`` is the gain by the part the task takes of its dominant resource, negative; it leads from ``here`` to
    ``target``. Jobs of a larger priority, an earlier ``level``, come before all others.
    """

    level: int
    loss: Fraction | float
    worker: bool
    place: int
    here: Configuration
    target: Configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimusTasksPolicy(PlanPolicy):
    """Optimus with parameter servers: marginal gains, then placement.

    In the order of arrival every job gets a server and a worker, if the cluster as a whole has that much. Then the one
    task more, of all jobs, is added that gains most: the remaining time it saves by the part of the cluster it takes of
    its dominant resource. On equal gains a server is added rather than a worker, and to the earlier job. The first
    choice that does not fit, or gains nothing, ends this, for each priority apart. Jobs keep their kind, CPUs or GPUs,
    and the share of each worker; unpredictable jobs keep their configuration. ``switch`` allows other kinds to the
    exact program alone. A job whose plans do not all tell servers and workers by their names starts with the smallest
    plan of its kind, and one more is any larger one.

    Jobs are placed from the fewest tasks up, each on the fewest nodes that divide its servers and workers evenly, on
    those with the most free CPUs. Where no nodes have room, the tasks added last are taken away again.

    >>> sorted(policy_from("optimus-ps").decide(shipped_round("toy/four-configurations"), 0).running)
    ['a', 'b', 'c', 'd']
    """

    switch: str = "off"

    chapter: ClassVar[str] = "configuration"
    own_name: ClassVar[str] = "optimus-ps"
    honours: ClassVar[frozenset[str]] = PlanPolicy.honours - {PLAN_NODES}
    needs_beside: ClassVar[tuple[str, ...]] = ("plan",)
    choices: ClassVar[Mapping[str, Allowed]] = {**PlanPolicy.choices, "switch": ("off", "on")}

    @property
    def plan_rules(self) -> PlanRules:
        """Any configuration of the job, by remaining time."""
        return PlanRules(change="configurations", objective="time", switch=self.switch == "on")

    def choose(self, round_: Round, options: PlanOptions, seed: int, until: float = inf) -> Mapping[int, Ints]:
        """Return the nodes of each option that runs."""
        return self._placed(round_, options, self.allocation(round_, options))

    def keep(self, round_: Round, options: PlanOptions, seed: int) -> Mapping[int, Ints]:
        """Return the same with those that run where they are, as they are."""
        allocation = PlanAllocation(round_, options)
        allocation.stay(arrivals(round_))
        return self._placed(round_, options, allocation)

    def _placed(self, round_: Round, options: PlanOptions, allocation: PlanAllocation) -> Mapping[int, Ints]:
        """Return the nodes of each option that runs, after placing those with tasks that have no placement yet."""
        choices, pays = Choices.of(round_, options), self.restarts != "ignore"
        grown = _Allocation(round_, options, choices).grown()
        order = {job: place for place, job in enumerate(arrivals(round_))}
        new = [job for job in grown if job not in allocation.placements]
        for job in sorted(new, key=lambda job: (options.level[job], grown[job][-1].tasks, order[job])):
            for option in (o for at in reversed(grown[job]) for o in choices.options(job, at)):
                if options.home[option] >= 0:
                    if pays and allocation.start(job, [option]):
                        break
                    continue  # else it shows when the freest nodes are known whether the job stays where it is
                room = allocation.open_room(option)
                parts = int(options.q[option])
                if len(room) >= parts and allocation.free.within_quota(job):
                    freest = room[np.argsort(-allocation.free.cpus[room], kind="stable")[:parts]]
                    allocation.take(job, allocation.settled(option, freest), np.sort(freest))
                    break
        return allocation.chosen


class _Allocation:
    """Which configurations each job goes through while tasks are added, on the cluster as a whole."""

    def __init__(self, round_: Round, options: PlanOptions, choices: Choices) -> None:
        amounts = round_.amounts
        self.options = options
        self.queue = arrivals(round_)
        self.levels: list[int] = options.level.tolist()
        self.choices = choices
        limits = (amounts.G, amounts.C, amounts.M)
        self.has = [int(has.sum()) if (has < UNLIMITED).all() else None for has in limits]
        self.free = list(self.has)
        self.paths: dict[int, list[Configuration]] = {}

    def grown(self) -> dict[int, list[Configuration]]:
        """Return the configurations of each job that gets any, from the smallest to the one it is given."""
        for job in self.queue:
            smallest = self.choices.smallest(job)
            if smallest is not None and self._take(self._takes(job, smallest)):
                self.paths[job] = [smallest]
        heap = [growth for place in range(len(self.queue)) for growth in self._growths(place)]
        heapify(heap)
        ended = -1
        while heap:
            growth = heappop(heap)
            job = self.queue[growth.place]
            if growth.level == ended or growth.here != self.paths[job][-1]:
                continue
            if growth.loss >= 0 or not self._take(self._added(job, growth.here, growth.target)):
                ended = growth.level
                continue
            self.paths[job].append(growth.target)
            for after in self._growths(growth.place):
                heappush(heap, after)
        return self.paths

    def _growths(self, place: int) -> Iterator[Growth]:
        """Yield what one task more would do for the job in this place of the queue."""
        look_at_clock()
        job = self.queue[place]
        for here in self.paths.get(job, [])[-1:] if self.choices.steps[job] is not None else ():
            for target in here.growths():
                if target.name in self.choices.able(job):
                    saved = self._seconds(job, here) - self._seconds(job, target)
                    part = self._dominant(self._added(job, here, target))
                    loss = -saved / part if part else -inf if saved > 0 else -saved
                    yield Growth(self.levels[job], loss, target.servers == here.servers, place, here, target)

    def _seconds(self, job: int, at: Configuration) -> Fraction:
        return remaining(at, self.choices.speed(job, at), self.choices.steps[job] or 0, "time")

    def _dominant(self, needs: tuple[int, ...]) -> Fraction:
        """Return the largest part of anything the cluster has that these needs are."""
        parts = (Fraction(need, has) for need, has in zip(needs, self.has, strict=True) if has)
        return max([Fraction(0), *parts])

    def _takes(self, job: int, at: Configuration) -> tuple[int, ...]:
        return min(size(self.options, o) for o in self.choices.options(job, at))

    def _added(self, job: int, here: Configuration, target: Configuration) -> tuple[int, ...]:
        return tuple(b - a for a, b in zip(self._takes(job, here), self._takes(job, target), strict=True))

    def _take(self, needs: tuple[int, ...]) -> bool:
        """Take this much of the whole cluster; return whether there was as much."""
        left = [None if free is None else free - need for need, free in zip(needs, self.free, strict=True)]
        if any(free is not None and free < 0 for free in left):
            return False
        self.free = left
        return True
