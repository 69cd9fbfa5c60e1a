"""What runs, while a round is decided: where jobs are, how they may share, and what a change would cost them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.sharing_now import Held, SharingNow, homes_now, homes_of
from muri_opt.rounds.stopping import look_at_clock
from muri_opt.systems.joint.group_value import Group, Place, placed_value
from muri_opt.systems.joint.job_model import Floats, Models
from muri_opt.systems.joint.plan_ways import PlanWay
from muri_opt.systems.joint.rules import JointRules
from muri_opt.systems.joint.worth import Worth, restart_in


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """A round to be decided: its jobs as models, what their work is worth, and by which rules."""

    round_: Round
    models: Models
    worth: Worth
    rules: JointRules

    def left_by_restart(self) -> Floats:
        """Return which part of its value each job keeps if it runs and is changed."""
        whole = self.rules.horizon
        return (
            (whole - self._restarts) / whole if self.rules.pay and not self.rules.stops else np.ones(len(self.models))
        )

    def more_by_going_on(self) -> Floats:
        """Return how many times its value each job has if it runs and goes on: more than once where stops cost."""
        whole = self.rules.horizon
        return (whole + self._restarts) / whole if self.rules.stops else np.ones(len(self.models))

    @property
    def _restarts(self) -> Ints:
        return np.array([restart_in(self.rules.horizon, job) for job in self.round_.jobs], dtype=np.int64)


@dataclass(kw_only=True, eq=False)
class State:
    """Where jobs run: ``held[j]`` are the GPUs of job j, ``None`` where it waits; ``plan[j]`` is what it runs by.

    Only jobs ``among`` some are to be decided, all if none are named.
    """

    case: Case
    held: Sequence[Held | None]
    plan: Sequence[str | None]
    now: SharingNow
    among: frozenset[int] | None = None

    @classmethod
    def of(cls, case: Case) -> State:
        """Return what runs in the round."""
        now = homes_now(case.round_)
        held = [None if at < 0 else now.homes[at].held for at in now.of]
        return cls(case=case, held=held, plan=[job.plan for job in case.round_.jobs], now=now)

    def after(self, placed: Mapping[Group, Place]) -> State:
        """Return what runs after groups have got GPUs per node, and all others none."""
        held: list[Held | None] = [None] * len(self.held)
        plan: list[str | None] = [None] * len(self.held)
        nodes, models = self.case.round_.cluster.nodes, self.case.models
        for group, (share, way) in placed.items():
            used = share.nonzero()[0]
            where = tuple(sorted((nodes[s].id, n) for s, n in zip(used.tolist(), share[used].tolist(), strict=True)))
            for job in group:
                held[job] = where
            plan[group[0]] = None if way is None else models.ways_of(group[0])[way].name
        now = homes_of(self.case.round_, held)
        return State(case=self.case, held=held, plan=plan, now=now, among=self.among)

    def of_some(self, among: Ints, placed: Mapping[Group, Place]) -> State:
        """Return what runs if groups are placed, and of the jobs ``among`` those as now that have room beside them."""
        after, wanted = self.after(placed), frozenset(among.tolist())
        held, plan = list(after.held), list(after.plan)
        left = {node.id: node.gpus for node in self.case.round_.cluster.nodes}
        for place in placed.values():
            for each, gpus in zip(self.case.round_.cluster.nodes, place.share.tolist(), strict=True):
                left[each.id] -= gpus
        for home in self.now.homes:
            jobs = [job for job in home.jobs if job in wanted]
            groups = -(-len(jobs) // home.largest)
            if jobs and all(groups * gpus <= left[node] for node, gpus in home.held):
                for node, gpus in home.held:
                    left[node] -= groups * gpus
                for job in jobs:
                    held[job], plan[job] = home.held, self.plan[job]
        now = homes_of(self.case.round_, held)
        return State(case=self.case, held=held, plan=plan, now=now, among=wanted)

    def goes_on(self, group: Group, place: Place) -> bool:
        """Return whether jobs go on as they are if they are given GPUs per node, by a plan if they have some."""
        if self.now.of[group[0]] < 0:
            return False
        if place.way is not None and self.case.models.ways_of(group[0])[place.way].name != self.plan[group[0]]:
            return False
        nodes, used = self.case.round_.cluster.nodes, place.share.nonzero()[0]
        return self.now.goes_on(group, {nodes[s].id: int(place.share[s]) for s in used.tolist()})

    def going_on(self, placed: Mapping[Group, Place]) -> int:
        """Return how many jobs go on as they are."""
        return sum(len(group) for group, place in placed.items() if self.goes_on(group, place))

    def at_home(self, group: Group, held: Held) -> Place | None:
        """Return where a running group goes on with the GPUs it holds; ``None`` where its plan is not known."""
        return home_of(self.case.round_, self.case.models, group[0], held, self.plan[group[0]])

    @cached_property
    def runs(self) -> Ints:
        """Which jobs run, as 0 and 1."""
        return np.array([where is not None for where in self.held], dtype=np.int64)

    @cached_property
    def worth(self) -> Worth:
        """What work is worth where those that run lose by a change, or save by none."""
        case = self.case
        return case.worth.if_these_run(np.flatnonzero(self.runs).tolist(), case.round_.jobs, case.rules)

    def value(self, placed: Mapping[Group, Place]) -> int:
        """Return what groups add on GPUs per node, less what is lost by changes."""
        look_at_clock()
        case = self.case
        stays = (self.goes_on(group, place) for group, place in placed.items())
        return placed_value(case.models, self.worth, case.rules, placed, stays)


def home_of(round_: Round, models: Models, job: int, held: Held, plan: str | None) -> Place | None:
    """Return where a job runs with the GPUs it holds; ``None`` where it has plans, and this is none of them."""
    share, ways = held_on(round_, held), models.ways_of(job)
    if not ways:
        return Place(share)
    split = tuple(sorted(gpus for _, gpus in held))
    for number, way in enumerate(ways):
        if way.name == plan and way.split == split and _is_for(round_, way, held):
            return Place(share, number)
    return None


def _is_for(round_: Round, way: PlanWay, held: Held) -> bool:
    """Return whether a plan is for the GPUs of these nodes."""
    cluster = round_.cluster
    types = {cluster.nodes[cluster.node_index[node]].gpu_type for node, _ in held}
    return way.types is None or types.issubset(way.types)


def held_on(round_: Round, held: Held) -> Ints:
    """Return GPUs per node of a placement."""
    share = np.zeros(len(round_.cluster.nodes), dtype=np.int64)
    for node, gpus in held:
        share[round_.cluster.node_index[node]] = gpus
    return share
