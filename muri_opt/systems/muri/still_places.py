"""Where groups run if those that run now are to stay where they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final, NamedTuple

import numpy as np

from muri_opt.rounds import Decision, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.stopping import look_at_clock
from muri_opt.systems.muri.group_locations import GroupLocations, group_locations
from muri_opt.systems.muri.node_places import NodePlaces, Places, places_of
from muri_opt.systems.muri.periods import Group
from muri_opt.systems.muri.queue_ranks import first_ranks

Placed = dict[Group, Places]
"""Groups with their GPUs of nodes."""
TRIES: Final = 4
"""How often groups are placed before some are said not to fit beside the others."""
MANY: Final = 1_000
"""More groups than this are placed in fewer ways, and no more than twice."""


def placed_in(round_: Round, decision: Decision) -> Placed:
    """Return the groups of a decision, by places of jobs in the round, with their GPUs of nodes."""
    job_at, node_at = round_.job_index, round_.cluster.node_index
    return {
        tuple(job_at[job] for job in one.jobs): tuple(sorted((node_at[node], gpus) for node, gpus in one.gpus.items()))
        for one in decision.assignments
    }


class RunningPlaces:
    """Where groups run now, in whatever order their jobs are given."""

    def __init__(self, running: Placed) -> None:
        self._of_jobs = {frozenset(group): places for group, places in running.items()}
        self._known: dict[Group, Places | None] = {**running}
        """By groups as they were asked for."""

    def get(self, group: Group) -> Places | None:
        """Return the GPUs of nodes that a group has, ``None`` if it does not run."""
        if group not in self._known:
            self._known[group] = self._of_jobs.get(frozenset(group))
        return self._known[group]

    def has_each(self, groups: Iterable[Group]) -> list[bool]:
        """Return of each group whether it runs."""
        return [self.get(group) is not None for group in groups]


class Filled(NamedTuple):
    """Groups with their GPUs of nodes, and what they leave."""

    placed: Placed
    left: NodePlaces


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StillPlaces:
    """A round, and its jobs in the order of the queue."""

    round_: Round
    line: Sequence[int]
    locations: GroupLocations | None = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "locations", group_locations(self.round_))

    def placed(self, groups: Sequence[Group], running: RunningPlaces, tries: int = TRIES) -> Filled:
        """Return GPUs of nodes for as many of the groups as find a place, where they run now if they can.

        Others are placed around them, large ones first. Those that find no place come before all others next time, at
        the cost of groups that would stay.
        """
        now = {group: places for group in groups if (places := running.get(group)) is not None}
        first = first_ranks(self.line, groups)
        asks = self.round_.amounts.g[np.fromiter((group[0] for group in groups), dtype=np.int64, count=len(groups))]
        comes = np.fromiter((group not in now for group in groups), dtype=np.bool_, count=len(groups))
        line = [groups[place] for place in np.lexsort((np.array(first), -asks, comes)).tolist()]
        before, empty = set[Group](), NodePlaces(self.round_)
        best = Filled({}, empty)
        for _ in range(tries if len(line) <= MANY else min(2, tries)):
            found = self._filled(sorted(line, key=lambda group: group not in before) if before else line, now)
            best = found if len(found.placed) > len(best.placed) else best
            if len(best.placed) == len(line):
                break
            known = len(before)
            left_out = [group for group in line if group not in found.placed and group not in before]
            before.update(group for group in left_out if group in now or self.fit(empty, group) is not None)
            if len(before) == known:  # the same would come out again
                break
        return best

    def back(self, filled: Filled, running: RunningPlaces) -> Filled:
        """Return the groups, those that run and were moved back where they are, as long as that is free."""
        placed, left = filled
        theirs = {group: there for group in placed if (there := running.get(group)) is not None}
        away = [group for group, there in theirs.items() if placed[group] != there]
        if not away:
            return filled
        found = dict(placed)
        while away:
            still = list[Group]()
            for group in away:
                left.put(found[group], group, -1)
                goes = left.has(theirs[group], group)
                found[group] = theirs[group] if goes else found[group]
                left.put(found[group], group, 1)
                still += [] if goes else [group]
            if len(still) == len(away):
                break
            away = still
        return Filled(found, left)

    def staying(self, left: NodePlaces, groups: Mapping[Group, Places]) -> Placed:
        """Return the groups that can stay where they are beside what is placed, and take their GPUs."""
        if left.give_all([(places, group) for group, places in groups.items()]):
            return dict(groups)
        found = Placed()
        for group, places in groups.items():
            if left.within_quota(*group) and left.give_if_free(places, group):
                found[group] = places
        return found

    def left_by(self, placed: Placed) -> NodePlaces:
        """Return what groups leave of the nodes."""
        left = NodePlaces(self.round_)
        if not left.give_all([(places, group) for group, places in placed.items()]):
            for group, places in placed.items():
                left.give(places, group)
        return left

    def fit(self, left: NodePlaces, group: Group, spared: Ints | None = None) -> Places | None:
        """Return GPUs of nodes for a group: first fit beside what is spared, or where the least of that is lost."""
        gpus = self.gpus(group)
        if self.locations is not None:
            share = self.locations.fit(left, gpus, *group)
            return None if share is None else places_of(share)
        if spared is None:
            return left.first(gpus, group)
        beside = left.first(gpus, group, spared)
        if beside is not None:
            return beside
        able = left.able(gpus, group)
        if not len(able):
            return left.first(gpus, group)
        lost = np.maximum(0, spared[able] + gpus - left.gpus[able])
        return ((int(able[lost.argmin()]), gpus),)

    def gpus(self, group: Group) -> int:
        """Return the GPUs that a group asks for."""
        return self.round_.jobs[group[0]].gpus

    def _filled(self, line: Sequence[Group], now: Mapping[Group, Places]) -> Filled:
        """Return the places of the groups that fit, tried in order; they spare the GPUs that those to come have now."""
        left, found = NodePlaces(self.round_), Placed()
        first = [*takewhile(now.__contains__, line)]
        if left.give_all([(now[group], group) for group in first]):
            found = {group: now[group] for group in first}
            line = line[len(first) :]
        spared = np.zeros_like(left.gpus)
        sparing = memoryview(spared)  # changed one number at a time
        for places in (where for group, where in now.items() if group not in found):
            for node, gpus in places:
                sparing[node] += gpus
        spared_gpus = int(spared.sum())
        for place, group in enumerate(line):
            if not spared_gpus and self.locations is None:  # no group that is left has GPUs now
                return Filled(found | left.place_each(line[place:]), left)
            look_at_clock()
            own = now.get(group, ())
            for node, gpus in own:
                sparing[node] -= gpus
                spared_gpus -= gpus
            if not left.within_quota(*group):
                continue
            if own and left.give_if_free(own, group):
                found[group] = own
                continue
            given = self._given(left, group, spared if spared_gpus else None)
            if given is not None:
                found[group] = given
        return Filled(found, left)

    def _given(self, left: NodePlaces, group: Group, spared: Ints | None) -> Places | None:
        """Give a group that is within its quota the GPUs that fit, and return them; ``None`` if there are none."""
        found = self.fit(left, group, spared)
        if found is not None:
            left.give(found, group)
        return found
