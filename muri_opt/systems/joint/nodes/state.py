"""What runs, while a round is decided: where jobs are, how they may share, and what a change would cost them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.sharing_now import Held, SharingNow, homes_now, homes_of
from muri_opt.rounds.stopping import look_at_clock
from muri_opt.systems.joint.jobs.group_value import Group, Place, placed_value
from muri_opt.systems.joint.jobs.job_model import Floats
from muri_opt.systems.joint.jobs.models import Models
from muri_opt.systems.joint.jobs.plan_ways import PlanWay
from muri_opt.systems.joint.jobs.worth import Worth, restarts_of
from muri_opt.systems.joint.rules import JointRules


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """A round to be decided: its jobs as models, what their work is worth, and by which rules.

    If it is to be decided by a ``quick`` search, few jobs are looked at as roughly as very many: at one price of a GPU.
    """

    round_: Round
    models: Models
    worth: Worth
    rules: JointRules
    quick: bool = False

    def left_by_restart(self) -> Floats:
        """Return which part of its value each job keeps if it runs and is changed."""
        if self.rules.stops or not self.rules.pay:
            return np.ones(len(self.models))
        return 1.0 - self._restarts

    def more_by_going_on(self) -> Floats:
        """Return how many times its value each job has if it runs and goes on: more than once where stops cost."""
        return 1.0 + self._restarts if self.rules.stops else np.ones(len(self.models))

    @property
    def _restarts(self) -> Floats:
        """Which part of the time that a decision stands a restart of each job takes."""
        stands, lost = restarts_of(self.round_.jobs, self.models, self.rules)
        return np.array(lost, dtype=np.float64) / np.array(stands, dtype=np.float64)


@dataclass(kw_only=True, eq=False)
class State:
    """Where jobs run: ``held[j]`` are the GPUs of job j, ``None`` where it waits; ``plan[j]`` is what it runs by.

    Only jobs ``among`` some are to be decided, all if none are named; others are in groups that are ``fixed``.
    """

    case: Case
    held: Sequence[Held | None]
    plan: Sequence[str | None]
    now: SharingNow
    among: frozenset[int] | None = None
    fixed: Mapping[Group, Place] = field(default_factory=dict)

    @classmethod
    def of(cls, case: Case) -> State:
        """Return what runs in the round."""
        now = homes_now(case.round_)
        held = [None if at < 0 else now.homes[at].held for at in now.of]
        return cls(case=case, held=held, plan=[job.plan for job in case.round_.jobs], now=now)

    def after(self, placed: Mapping[Group, Place]) -> State:
        """Return what runs after groups have got GPUs of nodes, and all others none."""
        held = self.held_after(placed)
        now = homes_of(self.case.round_, held)
        return replace(self, held=held, plan=self._plans_after(placed), now=now)

    def held_after(self, placed: Mapping[Group, Place]) -> list[Held | None]:
        """Return the GPUs that each job holds after groups have got GPUs of nodes, and all others none."""
        held: list[Held | None] = [None] * len(self.held)
        names = [node.id for node in self.case.round_.cluster.nodes]
        for group, (parts, _) in placed.items():
            where = tuple(sorted([(names[node], gpus) for node, gpus in parts]))
            for job in group:
                held[job] = where
        return held

    def _plans_after(self, placed: Mapping[Group, Place]) -> list[str | None]:
        """Return the plan that each job runs by then, if any."""
        plan: list[str | None] = [None] * len(self.held)
        for group, (_, way) in placed.items():
            if way is not None:
                plan[group[0]] = self.case.models.plans_of(group[0]).names[way]
        return plan

    def of_some(self, among: Ints, placed: Mapping[Group, Place]) -> State:
        """Return what runs if groups are placed, and of the jobs ``among`` those as now that have room beside them."""
        held, plan, wanted = self.held_after(placed), self._plans_after(placed), frozenset(among.tolist())
        left = {node.id: node.gpus for node in self.case.round_.cluster.nodes}
        for place in placed.values():
            for at, gpus in place.parts:
                left[self.case.round_.cluster.nodes[at].id] -= gpus
        for home in self.now.homes:
            jobs = [job for job in home.jobs if job in wanted]
            groups = -(-len(jobs) // home.largest)
            if jobs and all(groups * gpus <= left[node] for node, gpus in home.held):
                for node, gpus in home.held:
                    left[node] -= groups * gpus
                for job in jobs:
                    held[job], plan[job] = home.held, self.plan[job]
        now = homes_of(self.case.round_, held)
        return State(case=self.case, held=held, plan=plan, now=now, among=wanted, fixed=placed)

    def goes_on(self, group: Group, place: Place) -> bool:
        """Return whether jobs go on as they are if they are given GPUs of nodes, by a plan if they have some."""
        at = self.home_of_all(group)
        if at is None or place.parts != self._homes[at].parts:
            return False
        return place.way is None or self.case.models.plans_of(group[0]).names[place.way] == self.plan[group[0]]

    def home_of_all(self, group: Group) -> int | None:
        """Return the number of the placement that jobs have, if they may be a group there; ``None`` if not."""
        of = self.now.of
        at = of[group[0]]
        if at < 0 or not self._sizes_of_homes[at][0] <= len(group) <= self._sizes_of_homes[at][1]:
            return None
        return at if len(group) == 1 or all(of[job] == at for job in group) else None

    @cached_property
    def _homes(self) -> list[Place]:
        """Each placement as a place."""
        index = self.case.round_.cluster.node_index
        return [
            Place(tuple(sorted([(index[node], gpus) for node, gpus in home.held if gpus]))) for home in self.now.homes
        ]

    @cached_property
    def gpus_of_homes(self) -> list[int]:
        """How many GPUs each placement has."""
        return [place.gpus for place in self._homes]

    @cached_property
    def _sizes_of_homes(self) -> list[tuple[int, int]]:
        """How few and how many jobs of each placement may be one group."""
        return [(home.least, home.largest) for home in self.now.homes]

    def going_on(self, placed: Mapping[Group, Place]) -> int:
        """Return how many jobs go on as they are."""
        return sum(len(group) for group, place in placed.items() if self.goes_on(group, place))

    def at_home(self, group: Group, held: Held) -> Place | None:
        """Return where a running group goes on with the GPUs it holds; ``None`` where its plan is not known."""
        at = self.now.of[group[0]]
        if at >= 0 and self.now.homes[at].held is held and not self.case.models.runs_by_plans(group[0]):
            return self._homes[at]
        return home_of(self.case.round_, self.case.models, group[0], held, self.plan[group[0]])

    @cached_property
    def runs(self) -> Ints:
        """Which jobs run, as 0 and 1."""
        return np.array([where is not None for where in self.held], dtype=np.int64)

    @cached_property
    def saved(self) -> list[int]:
        """What the work of each job is worth more if it goes on as it is than if it is changed."""
        worth = self.worth
        return [work - changed for work, changed in zip(worth.work.tolist(), worth.changed.tolist(), strict=True)]

    @cached_property
    def worth(self) -> Worth:
        """What work is worth where those that run lose by a change, or save by none."""
        case = self.case
        return case.worth.if_these_run(np.flatnonzero(self.runs).tolist(), case.round_.jobs, case.models, case.rules)

    def value(self, placed: Mapping[Group, Place]) -> int:
        """Return what groups add on GPUs of nodes, less what is lost by changes."""
        look_at_clock()
        case = self.case
        stays = (self.goes_on(group, place) for group, place in placed.items())
        return placed_value(case.models, self.worth, case.rules, placed, stays)


def home_of(round_: Round, models: Models, job: int, held: Held, plan: str | None) -> Place | None:
    """Return where a job runs with the GPUs it holds; ``None`` where it has plans, and this is none of them."""
    index, ways = round_.cluster.node_index, models.ways_of(job)
    parts = tuple(sorted([(index[node], gpus) for node, gpus in held if gpus]))
    if not ways:
        return Place(parts)
    split = tuple(sorted(gpus for _, gpus in held))
    for number, way in enumerate(ways):
        if way.name == plan and way.split == split and _is_for(round_, way, held):
            return Place(parts, number)
    return None


def _is_for(round_: Round, way: PlanWay, held: Held) -> bool:
    """Return whether a plan is for the GPUs of these nodes."""
    cluster = round_.cluster
    types = {cluster.nodes[cluster.node_index[node]].gpu_type for node, _ in held}
    return way.types is None or types.issubset(way.types)
