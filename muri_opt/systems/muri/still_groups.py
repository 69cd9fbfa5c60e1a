"""Which running groups are changed: those where that gains more than their restarts cost.

Who runs is the published algorithm's to say. These jobs are grouped twice: as it does, and with the running groups
kept, which are only merged where the GPUs are too few. Where the two differ, the published groups are taken if they are
worth more after the restarts that they cost. Groups that are kept stay on their nodes, others are placed around them.
At last what can go on as it is, all else as decided, does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.anytime import Steps, last_of
from muri_opt.rounds.memoise import recalled
from muri_opt.rounds.stopping import look_at_clock
from muri_opt.systems.muri.group_worth import GroupWorth
from muri_opt.systems.muri.grouping import group_jobs
from muri_opt.systems.muri.joined_groups import MOST_UNIONS, join_groups
from muri_opt.systems.muri.needless_changes import undone
from muri_opt.systems.muri.node_places import NodePlaces, Places, asks_of_jobs, kinds_of
from muri_opt.systems.muri.options import GroupingOptions
from muri_opt.systems.muri.pair_weights import efficiencies
from muri_opt.systems.muri.periods import Group
from muri_opt.systems.muri.running_groups import running_groups
from muri_opt.systems.muri.running_now import RunningNow
from muri_opt.systems.muri.still_places import MANY, Filled, Placed, RunningPlaces, StillPlaces

MOST_NEW: Final = 1_000
"""New jobs that are joined to groups one after another; more of them are in the groups that are published."""
FEW_UNIONS: Final = 4_000
"""Pairs of groups that are looked at together where an answer has to be found soon."""
LOOKS: Final = 3
"""How often a decision is looked at again as if it had been carried out, before it is taken as it is."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Still:
    """A round, the queue, how jobs are grouped, and what the published algorithm decides.

    ``pack`` dissolves groups that are slower than their jobs one after another.
    """

    round_: Round
    line: Sequence[int]
    options: GroupingOptions
    largest: int
    worth: GroupWorth
    published: Placed
    pack: Callable[[Sequence[Group]], list[Group]]
    places: StillPlaces = field(init=False)
    to_run: frozenset[int] = field(init=False)
    """The jobs of the published groups."""
    asks: Sequence[int] = field(init=False)
    """The GPUs that each job asks for."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "places", StillPlaces(round_=self.round_, line=self.line))
        object.__setattr__(self, "to_run", frozenset(chain.from_iterable(self.published)))
        object.__setattr__(self, "asks", asks_of_jobs(self.round_.amounts))

    def deciding(self, first: Placed | None) -> Steps[Placed]:
        """Yield the groups that run, with their GPUs, ever better, and better than the ``first`` that were found.

        What is decided would be decided again if it ran: a further look that finds better changes is taken at once. Of
        many groups some look better again each time, and to follow them costs more restarts than it gains.
        """
        now = RunningNow.in_round(self.round_)
        reached = None if first is None else self.value(first)
        found = yield from self._looking(now, self.worth, reached)
        if reached is not None and self.value(found) > reached:
            yield found
        for _ in range(LOOKS if len(self.published) <= MANY else 0):
            where = self._where(found)
            runs = np.array([places is not None for places in where], dtype=np.bool_)
            costs = np.where(runs, self.worth.costs, 0)
            worth = replace(self.worth, restart=costs)
            again = last_of(self._looking(RunningNow.if_placed(self.round_, where), worth, None))
            if self._where(again) == where:
                break
            found = again
        return found

    def undone(self) -> Placed:
        """Return what is published, with running groups as they are where that is possible without a loss."""
        now = RunningNow.in_round(self.round_)
        running = self._running(now, now.in_line(self.line))
        return undone(self.places, now, self.worth, running, self.published, self.largest)

    def filled(self) -> Placed:
        """Return the running groups of the jobs that are to run, and who joins them or each other, without a matching.

        It is what is found soonest. Where they do not all fit, those wait that come last in the queue.
        """
        now = RunningNow.in_round(self.round_)
        runs = now.in_line(self.line)
        running = self._running(now, [job for job in runs if job in self.to_run])
        groups = None
        if self.places.locations is None:
            groups = self._joined(self.worth, [*running], self.round_.cluster.total_gpus, FEW_UNIONS)
        if groups is None:
            groups = [*running, *((job,) for job in self._others([*running]))]
        filled = self.places.placed(groups, RunningPlaces(running), tries=1)
        return self._with_others(now, runs, filled)

    def unchanged(self) -> Placed:
        """Return the groups that run as they are, and whoever fits beside them alone."""
        now, left = RunningNow.in_round(self.round_), NodePlaces(self.round_)
        found = self.places.staying(left, self._running(now, now.in_line(self.line)))
        kinds, full = kinds_of(self.round_.amounts), set[int]()
        for job in self.line:
            if now.of[job] < 0 and kinds[job] not in full and left.within_quota(job):
                places = self.places.fit(left, (job,))
                if places is not None:
                    left.give(places, (job,))
                    found[job,] = places
                elif self.places.locations is None:  # all may be anywhere, and room only shrinks
                    full.add(kinds[job])
        return found

    def _looking(self, now: RunningNow, worth: GroupWorth, reached: tuple[int, int] | None) -> Steps[Placed]:
        """Yield the best so far of the running groups kept, mixed with published ones, and of the published ones alone.

        In the end changes of it are undone that gain nothing. What is worth no more than was ``reached`` is not told.
        """
        runs = now.in_line(self.line)
        running = self._running(now, [job for job in runs if job in self.to_run])
        stays = RunningPlaces(running)
        best: tuple[tuple[int, int], Placed] | None = None
        for groups in self._ways(worth, [*running], stays):
            look_at_clock()
            if best is not None and sum(worth.of_groups(groups, stays.has_each(groups))) <= best[0][0]:
                continue  # but for jobs that may stay besides, it cannot be worth more wherever it is placed
            filled = self.places.placed(groups, stays)
            if len(filled.placed) < len(groups) and groups == [*self.published]:
                filled = Filled(self.published, self.places.left_by(self.published))
            elif len(filled.placed) < len(groups) <= MANY:
                continue  # of many groups a few may wait for room, where to make it costs more than they are worth
            ended = self._with_others(now, runs, self.places.back(filled, stays))
            value = self._value(now, worth, ended)
            if best is None or value > best[0]:
                best = value, ended
                if reached is not None and value > reached:
                    yield ended
        all_running = self._running(now, runs)
        found = self._nobody_in_vain(all_running, runs, self.published if best is None else best[1])
        return undone(self.places, now, worth, all_running, found, self.largest)

    def _nobody_in_vain(self, running: Placed, runs: Sequence[int], placed: Placed) -> Placed:
        """Return what is placed or, if it stops jobs and starts none, all running groups as they are, if they fit."""
        jobs, run = {job for group in placed for job in group}, set(runs)
        if run <= jobs or jobs - run:
            return placed
        stays = self.places.staying(NodePlaces(self.round_), running)
        return stays if run == {job for group in stays for job in group} else placed

    def _ways(self, worth: GroupWorth, running: Sequence[Group], stays: RunningPlaces) -> Iterator[list[Group]]:
        """Yield groupings of the jobs that are to run, from the one that is likely to be worth most."""
        asked = self._gpus(self.published)
        budgets = (self.round_.cluster.total_gpus, asked)  # fewer GPUs leave fewer holes
        for gpus in dict.fromkeys(budgets if len(self.published) <= MANY else budgets[1:]):
            kept = self._kept(worth, running, gpus)
            if kept is not None:
                mixed = self._mixed(worth, kept, stays)
                yield from (mixed, kept) if mixed != kept else (kept,)
        yield [*self.published]

    def _mixed(self, worth: GroupWorth, kept: Sequence[Group], stays: RunningPlaces) -> list[Group]:
        """Return groups of which some are kept, with the published ones in place of those where that pays."""
        free = self.round_.cluster.total_gpus - self._gpus(kept)
        found: list[Group] = []
        open_ = list[tuple[int, int, list[Group], list[Group]]]()
        parts = [*_parts(kept, [*self.published])]
        flat = [group for mine, theirs in parts if mine != theirs for group in (*mine, *theirs)]
        values = iter(worth.of_groups(flat, stays.has_each(flat)))
        for mine, theirs in parts:
            if mine == theirs:
                found += mine
                continue
            own, other = sum(next(values) for _ in mine), sum(next(values) for _ in theirs)
            more = self._gpus(theirs) - self._gpus(mine)
            if other > own:
                open_.append((more, own - other, mine, theirs))
            else:
                found += mine
        for more, _, mine, theirs in sorted(open_, key=lambda one: one[:2]):
            found += theirs if more <= free else mine
            free -= more if more <= free else 0
        return found

    def _kept(self, worth: GroupWorth, running: Sequence[Group], gpus: int) -> list[Group] | None:
        """Return running groups with all others that are to run, merged until they fit; ``None`` where that fails.

        First the others join each other, or running groups, where the least is lost. Where that does not do, rounds of
        matching begin with the running groups, at last with the full ones alone.
        """
        if self.places.locations is None:
            found = self._joined(worth, running, gpus)
            if found is not None:
                return found
        for some in (running, [group for group in running if len(group) == self.largest]):
            found = self._merged(some, gpus) if self.options.matching else None
            if found is not None:
                return found
        return None

    def _joined(
        self, worth: GroupWorth, running: Sequence[Group], gpus: int, unions: int = MOST_UNIONS
    ) -> list[Group] | None:
        """Return running groups and the other jobs, of which one after another joins with the least loss until all fit.

        ``None`` where they do not, or where a group is slower than its jobs one after another.
        """
        new: list[Group] = [(job,) for job in self._others(running)]
        if len(new) > MOST_NEW:
            return self._beside(running)
        over = self._gpus(running) + self._gpus(new) - gpus
        found = join_groups(worth, running, new, over if self.options.matching else 0, self.largest, unions)
        if found is None:
            return None
        stays, new = found
        packed = self.pack(new)
        return [*stays, *packed] if len(packed) == len(new) else None

    def _beside(self, running: Sequence[Group]) -> list[Group] | None:
        """Return running groups and what is left of the published ones without their jobs, if they fit."""
        inside = {job for group in running for job in group}
        rest = (tuple(job for job in group if job not in inside) for group in self.published)
        groups = [*running, *(group for group in rest if group)]
        return groups if self._gpus(groups) <= self.round_.cluster.total_gpus else None

    def _merged(self, running: Sequence[Group], gpus: int) -> list[Group] | None:
        """Return all groups by rounds of matching that begin with the running ones; ``None`` where they do not fit."""
        inside = {job for group in running for job in group}
        rest = set(self._others(running))
        line = [job for job in self.line if job in inside or job in rest]
        place = {job: at for at, job in enumerate(line)}
        locations = self.places.locations
        found = group_jobs(
            [self.round_.jobs[job] for job in line],
            gpus,
            self.options,
            None if locations is None else locations.among(line),
            [tuple(place[job] for job in group) for group in running],
        )
        old, groups = {frozenset(group) for group in running}, [tuple(line[at] for at in group) for group in found]
        new = self.pack([group for group in groups if frozenset(group) not in old])
        groups = [*(group for group in groups if frozenset(group) in old), *new]
        return groups if self._gpus(groups) <= gpus else None

    def _others(self, running: Sequence[Group]) -> list[int]:
        """Return the jobs that are to run and in none of the groups, in the order of the queue."""
        jobs = self.to_run.difference(chain.from_iterable(running))
        return [job for job in self.line if job in jobs]

    def _running(self, now: RunningNow, jobs: Sequence[int]) -> dict[Group, Places]:
        """Return the groups that run, of some of the jobs in the order of the queue, with their GPUs of nodes."""
        look_at_clock()

        def efficiency(groups: Ints) -> Ints:
            members, ways = self.worth.members, self.options.ways
            return efficiencies(ways.with_models(members.stages, ways.numbers(self.round_.jobs)), groups, self.options)

        return running_groups(self.round_, now, set(jobs), jobs, self.published, self.largest, efficiency)

    def _with_others(self, now: RunningNow, runs: Sequence[int], filled: Filled) -> Placed:
        """Return the groups with those that run besides and can stay where they are, as nobody needs their GPUs.

        Of a group that cannot, single jobs may.
        """
        placed, left = filled
        inside = {job for group in placed for job in group}
        others = [job for job in runs if job not in inside]
        if not others:
            return placed
        running = self._running(now, others)
        stays = self.places.staying(left, running)
        alone: Placed = {(job,): where for group, where in running.items() if group not in stays for job in group}
        return placed | stays | self.places.staying(left, alone)

    def value(self, placed: Placed) -> tuple[int, int]:
        """Return what groups are worth, and what it costs to change others, as less than nothing."""
        return self._value(RunningNow.in_round(self.round_), self.worth, placed)

    def _value(self, now: RunningNow, worth: GroupWorth, placed: Placed) -> tuple[int, int]:
        """Return the same where other groups run, and restarts cost otherwise."""
        kept = now.go_on(placed)
        stays = chain.from_iterable(group for group, goes_on in zip(placed, kept, strict=True) if goes_on)
        costs, total = _costs_of_changes(now, worth)
        return sum(worth.of_groups([*placed], kept)), sum([costs[job] for job in stays]) - total

    def _where(self, placed: Placed) -> list[Places | None]:
        """Return the GPUs of each job where the groups run."""
        found: list[Places | None] = [None] * len(self.round_.jobs)
        for group, places in placed.items():
            for job in group:
                found[job] = places
        return found

    def _gpus(self, groups: Iterable[Group]) -> int:
        """Return the GPUs that groups ask for in all."""
        asks = self.asks
        return sum([asks[group[0]] for group in groups])


@recalled
def _costs_of_changes(now: RunningNow, worth: GroupWorth) -> tuple[dict[int, int], int]:
    """Return what it costs to change each job that runs, its restart times its GPUs, and all of them."""
    restart: list[int] = worth.restart.tolist()
    costs = {job: max(1, restart[job]) * max(1, now.gpus[at]) for job, at in enumerate(now.of) if at >= 0}
    return costs, sum(costs.values())


def _parts(mine: Sequence[Group], theirs: Sequence[Group]) -> Iterable[tuple[list[Group], list[Group]]]:
    """Yield two groupings of the same jobs, part by part: what has no job in common with the rest of either."""
    same = {*mine}.intersection(theirs)
    top = {job: group[0] for group in mine for job in group}

    def root(job: int) -> int:
        while (above := top[job]) != job:
            top[job] = job = top[above]
        return job

    for group in theirs:
        if len(group) > 1 and group not in same:
            first = root(group[0])
            for job in group[1:]:
                top[root(job)] = first
    found: dict[int, tuple[list[Group], list[Group]]] = {}
    for group in mine:
        if group in same:
            found[group[0]] = [group], [group]
        else:
            found.setdefault(root(group[0]), ([], []))[0].append(group)
    for group in theirs:
        if group not in same:
            found[root(group[0])][1].append(group)
    return found.values()
