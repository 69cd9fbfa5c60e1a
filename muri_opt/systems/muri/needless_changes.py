"""Changes of running groups that gain nothing by themselves: each that can be undone alone is.

Groups are made before nodes are found for them. Where CPUs or memory then leave GPUs free, jobs may have been joined
for nothing, and would do more as they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

from muri_opt.rounds.stopping import look_at_clock
from muri_opt.systems.muri.group_worth import GroupWorth
from muri_opt.systems.muri.node_places import NodePlaces, Places
from muri_opt.systems.muri.periods import Group
from muri_opt.systems.muri.running_now import RunningNow
from muri_opt.systems.muri.still_places import Placed, StillPlaces

MOST_CHANGED: Final = 500
"""Changed groups up to which each is looked at."""


def undone(
    places: StillPlaces, now: RunningNow, worth: GroupWorth, running: Placed, placed: Placed, largest: int
) -> Placed:
    """Return the groups, with running ones as they are where that is possible, all else as placed, without a loss.

    ``running`` are the groups that run, with their GPUs, and no group may have more than ``largest`` jobs. The dearest
    to restart come first.
    """
    work = _Undoing(places=places, now=now, worth=worth, placed=dict(placed), largest=largest)
    where = {job: there for group, there in running.items() for job in group}
    restart: list[int] = worth.restart.tolist()
    known: dict[_Source, list[_Step]] = {}
    while True:
        changed = work.changed(running)
        if not changed:
            return work.placed
        if len(changed) > MOST_CHANGED:
            return placed
        dearest = sorted(changed, key=lambda group: -sum([restart[job] for job in group]) * places.gpus(group))
        line = [_Source(group, whole=True) for group in dearest]
        line += [_Source((job,), whole=False) for group in dearest for job in group if not work.goes_on(job)]
        known = {of: steps for of, steps in known.items() if not work.touched.by(of, where)}
        new = {of for of in line if of not in known}
        known |= work.steps([of for of in line if of in new], where)
        work.touched = _Touched()
        every = (step for of in line for step in known[of] if of in new or work.touched.at(step.where))
        if not sum(work.take(step) for step in every):
            return work.placed


class _Source(NamedTuple):
    """What steps are made for: a running group as a ``whole``, or one of its jobs."""

    jobs: Group
    whole: bool


@dataclass(frozen=True, slots=True)
class _Touched:
    """Jobs and nodes that steps have changed; a step that was refused and has none of them would be refused again."""

    jobs: set[int] = field(default_factory=set)
    nodes: set[int] = field(default_factory=set)

    def add(self, placed: Placed) -> None:
        """Note groups that came or went."""
        for group, where in placed.items():
            self.jobs.update(group)
            self.nodes.update(node for node, _ in where)

    def at(self, where: Places) -> bool:
        """Return whether some of these nodes have changed."""
        return any(node in self.nodes for node, _ in where)

    def by(self, of: _Source, where: Mapping[int, Places]) -> bool:
        """Return whether steps made for a group or a job may be others now."""
        return not self.jobs.isdisjoint(of.jobs) or self.at(where[of.jobs[0]])


class _Step(NamedTuple):
    """A running group put back: the groups that its jobs are taken from, what is left of these, and all after it."""

    group: Group
    where: Places
    old: Placed
    rest: Placed
    new: Placed

    @classmethod
    def back(cls, work: _Undoing, group: Group, where: Places) -> _Step:
        """Return the step of a group."""
        old = work.groups_of(group)
        rest = {tuple([job for job in one if job not in group]): there for one, there in old.items()}
        rest.pop((), None)
        return cls(group, where, old, rest, {**rest, group: where})


@dataclass(kw_only=True, eq=False)
class _Undoing:
    """Groups with their GPUs, and what they leave of the nodes."""

    places: StillPlaces
    now: RunningNow
    worth: GroupWorth
    placed: Placed
    largest: int
    at: dict[int, Group] = field(init=False)
    """The group of each job that is placed."""
    touched: _Touched = field(default_factory=_Touched)
    """What steps have changed since this was emptied."""

    def __post_init__(self) -> None:
        self.at = {job: group for group in self.placed for job in group}

    @cached_property
    def left(self) -> NodePlaces:
        """What they leave; it is asked for before any step is taken, and changed with each."""
        return self.places.left_by(self.placed)

    def changed(self, running: Placed) -> list[Group]:
        """Return the running groups that are not placed as they are."""
        return [group for group, where in running.items() if not self._is_as(group, where)]

    def _is_as(self, group: Group, where: Places) -> bool:
        now = self.at.get(group[0], ())
        return (now == group or sorted(now) == sorted(group)) and self.placed[now] == where

    def goes_on(self, job: int) -> bool:
        """Return whether a job is placed as it may run now; who shares GPUs with whom, a round does not always say."""
        group = self.at.get(job)
        return group is not None and self.now.goes_on(group, self.placed[group])

    def groups_of(self, jobs: Group) -> Placed:
        """Return the groups that jobs are placed in, with their GPUs."""
        return {self.at[job]: self.placed[self.at[job]] for job in jobs if job in self.at}

    def _by_places(self) -> dict[Places, list[Group]]:
        """Return the groups that are placed on the same GPUs of nodes."""
        found: dict[Places, list[Group]] = {}
        for group, where in self.placed.items():
            found.setdefault(where, []).append(group)
        return found

    def _ways_back(self, job: int, where: Places, others: Sequence[Group]) -> Iterator[Group]:
        """Yield how a job may run where it does now: alone, or with one of the ``others`` that are placed there."""
        for group in ((), *others):
            if len(group) >= self.largest or job in group or not self.now.goes_on((*group, job), where):
                continue
            if len({self.places.gpus((one,)) for one in (*group, job)}) == 1:
                yield (*group, job)

    def steps(self, line: Sequence[_Source], where: Mapping[int, Places]) -> dict[_Source, list[_Step]]:
        """Return the ways back of groups and of single jobs, which run at ``where``, that lose nothing."""
        there, found = self._by_places(), dict[_Source, list[_Step]]()
        for of in line:
            look_at_clock()
            now = where[of.jobs[0]]
            ways = (of.jobs,) if of.whole else self._ways_back(of.jobs[0], now, there.get(now, ()))
            found[of] = [_Step.back(self, group, now) for group in ways]
        return self._without_loss(found)

    def _without_loss(self, steps: Mapping[_Source, Sequence[_Step]]) -> dict[_Source, list[_Step]]:
        """Return the steps after which the groups are worth no less, and nobody left behind asks for other GPUs."""
        able = {of: [step for step in some if self._leaves_all_in_order(step)] for of, some in steps.items()}
        worth = self._values(
            item for some in able.values() for step in some for side in (step.old, step.new) for item in side.items()
        )

        def gains(step: _Step) -> int:
            return sum([worth[item] for item in step.new.items()]) - sum([worth[item] for item in step.old.items()])

        return {of: [step for step in some if gains(step) >= 0] for of, some in able.items()}

    def _leaves_all_in_order(self, step: _Step) -> bool:
        """Return whether what a step leaves of groups has the GPUs that it asks for."""
        return all(self.places.gpus(group) == sum([gpus for _, gpus in at]) for group, at in step.rest.items())

    def take(self, step: _Step) -> bool:
        """Take a step if nothing else was done with its jobs and the nodes have room; return whether it was taken."""
        look_at_clock()
        if self.groups_of(step.group) != step.old:
            return False
        stopped = [job for job in step.group if job not in self.at]
        if stopped and not self.left.within_quota(*stopped):
            return False
        if not self.left.would_have(step.where, step.group, step.old, step.rest):
            return False
        for groups, times in ((step.old, -1), (step.new, 1)):
            for one, where in groups.items():
                self.left.put(where, one, times)
        self.left.charge_jobs(stopped)
        self.touched.add(step.old)
        self.touched.add(step.new)
        for one in step.old:
            del self.placed[one]
        self.placed |= step.new
        self.at |= {job: one for one in step.new for job in one}
        return True

    def _values(self, placed: Iterable[tuple[Group, Places]]) -> dict[tuple[Group, Places], int]:
        """Return what groups are worth where they are."""
        items = [*dict.fromkeys(placed)]
        kept = [self.now.goes_on(group, where) for group, where in items]
        return dict(zip(items, self.worth.of_groups([group for group, _ in items], kept), strict=True))
