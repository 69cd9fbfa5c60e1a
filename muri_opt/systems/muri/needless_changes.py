"""Changes of running groups that gain nothing by themselves: each that can be undone alone is.

Groups are made before nodes are found for them. Where CPUs or memory then leave GPUs free, jobs may have been joined
for nothing, and would do more as they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

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
    of_job = {job: where for group, where in running.items() for job in group}
    restart: list[int] = worth.restart.tolist()
    while True:
        changed = work.changed(running)
        if not changed:
            return work.placed
        if len(changed) > MOST_CHANGED:
            return placed
        dearest = sorted(changed, key=lambda group: -sum([restart[job] for job in group]) * places.gpus(group))
        alone = [job for group in dearest for job in group if not work.goes_on(job)]
        steps = [_Step.back(work, group, running[group]) for group in dearest]
        there = work.by_places()
        for job in alone:
            look_at_clock()
            others = there.get(of_job[job], ())
            steps += [_Step.back(work, group, of_job[job]) for group in work.ways_back(job, of_job[job], others)]
        if not sum(work.take(step) for step in work.without_loss(steps)):
            return work.placed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
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
        inside = frozenset(group)
        rest = {tuple(job for job in one if job not in inside): where for one, where in old.items()}
        rest.pop((), None)
        return cls(group=group, where=where, old=old, rest=rest, new={**rest, group: where})


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

    def by_places(self) -> dict[Places, list[Group]]:
        """Return the groups that are placed on the same GPUs of nodes."""
        found: dict[Places, list[Group]] = {}
        for group, where in self.placed.items():
            found.setdefault(where, []).append(group)
        return found

    def ways_back(self, job: int, where: Places, others: Sequence[Group]) -> Iterator[Group]:
        """Yield how a job may run where it does now: alone, or with one of the ``others`` that are placed there."""
        for group in ((), *(group for group in others if job not in group)):
            together = (*group, job)
            same = all(self.places.gpus((other,)) == self.places.gpus((job,)) for other in group)
            if same and len(together) <= self.largest and self.now.goes_on(together, where):
                yield together

    def without_loss(self, steps: Sequence[_Step]) -> list[_Step]:
        """Return the steps after which the groups are worth no less, and nobody left behind asks for other GPUs."""
        able = [step for step in steps if all(map(self._asks_for, step.rest, step.rest.values()))]
        flat = [item for step in able for side in (step.old, step.new) for item in side.items()]
        values = iter(self._values(flat))
        found = list[_Step]()
        for step in able:
            before = sum([next(values) for _ in step.old])
            if sum([next(values) for _ in step.new]) >= before:
                found.append(step)
        return found

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
        for one in step.old:
            del self.placed[one]
        self.placed |= step.new
        self.at |= {job: one for one in step.new for job in one}
        return True

    def _asks_for(self, group: Group, where: Places) -> bool:
        return self.places.gpus(group) == sum([gpus for _, gpus in where])

    def _values(self, placed: Sequence[tuple[Group, Places]]) -> list[int]:
        """Return what groups are worth where they are."""
        kept = [self.now.goes_on(group, where) for group, where in placed]
        return self.worth.of_groups([group for group, _ in placed], kept)
