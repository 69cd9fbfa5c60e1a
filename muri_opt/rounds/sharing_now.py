"""Who shares GPUs now.

A round says where jobs run and not which GPUs of a node they have, so that jobs of the same placement may share them in
several ways. What is known: jobs that share have the same placement, all have stage times, a group has at most
``MOST_SHARING`` of them, and a node holds all groups side by side. So a group of a decision *goes on as it is* where
the running jobs of its placement can be grouped in some such way, this group among the others. Under this reading every
decision goes on as it is when the round after it is decided; whether two groups of one placement exchange jobs cannot
be told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import not_
from typing import TYPE_CHECKING

from muri_opt.rounds.memoise import recalled
from muri_opt.rounds.running_jobs import MOST_SHARING

if TYPE_CHECKING:
    from muri_opt.rounds.decision import Decision
    from muri_opt.rounds.round import Round

Held = tuple[tuple[str, int], ...]
"""GPUs by node, in the order of the names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """Running jobs of one placement, by their places in the round.

    They are in at least ``fewest`` groups and in at most ``most`` where all others are in as few as they can be. A
    group of them has from ``least`` to ``largest`` jobs.
    """

    held: Held
    jobs: tuple[int, ...]
    largest: int
    fewest: int
    most: int

    @property
    def least(self) -> int:
        """The fewest jobs that one group can have, the others being in groups as large as can be."""
        rest = self.largest * (self.most - 1)
        return min(self.largest, max(1, len(self.jobs) - rest))


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingNow:
    """The placements of running jobs: ``of[j]`` is that of the job at place j, by its number; -1 if it holds none."""

    homes: tuple[Home, ...]
    of: tuple[int, ...]

    def goes_on(self, jobs: Sequence[int], gpus: Mapping[str, int]) -> bool:
        """Return whether jobs that are given GPUs together go on as they are, as far as the round tells."""
        at = self.of[jobs[0]]
        if at < 0 or any(self.of[job] != at for job in jobs):
            return False
        home = self.homes[at]
        return home.least <= len(jobs) <= home.largest and held_on(gpus) == home.held


def held_on(gpus: Mapping[str, int]) -> Held:
    """Return GPUs by node as a key."""
    if len(gpus) == 1:  # as most jobs have them
        return tuple(gpus.items())
    return tuple(sorted(item for item in gpus.items() if item[1])) or tuple(sorted(gpus.items()))


def homes_now(round_: Round) -> SharingNow:
    """Return where running jobs are, and how they may share."""
    return _homes_now(round_)


@recalled
def _homes_now(round_: Round) -> SharingNow:
    running = (job.placement or {} if job.state == "running" else None for job in round_.jobs)
    return homes_of(round_, [None if gpus is None else held_on(gpus) for gpus in running])


def homes_of(round_: Round, held: Sequence[Held | None]) -> SharingNow:
    """Return the same where each job of the round has other GPUs, ``None`` if it does not run."""
    alike = dict[tuple[Held, int], list[int]]()
    for place, (job, where) in enumerate(zip(round_.jobs, held, strict=True)):
        if where is not None:
            largest = 1 if job.stage_seconds is None else MOST_SHARING
            alike.setdefault((where, largest), []).append(place)
    fewest = [-(-len(jobs) // largest) for (_, largest), jobs in alike.items()]
    left = Counter({node.id: node.gpus for node in round_.cluster.nodes})
    for (where, _), groups in zip(alike, fewest, strict=True):
        for node, gpus in where:
            left[node] -= groups * gpus
    of, homes = [-1] * len(round_.jobs), list[Home]()
    for ((where, largest), jobs), groups in zip(alike.items(), fewest, strict=True):
        for place in jobs:
            of[place] = len(homes)
        most = groups + (_more(left, where, len(jobs) - groups) if len(jobs) > groups else 0)
        homes.append(Home(held=where, jobs=tuple(jobs), largest=largest, fewest=groups, most=most))
    return SharingNow(homes=tuple(homes), of=tuple(of))


def _more(left: Mapping[str, int], held: Held, most: int) -> int:
    """Return how many more groups, ``most`` at most, find GPUs on their nodes."""
    return max(0, min((most, *(left[node] // gpus for node, gpus in held if gpus))))


def on_same_gpus(round_: Round) -> list[tuple[int, ...]]:
    """Return the places of the running jobs in groups, as they may be: as many groups as can be, of even sizes.

    Where several placements want the GPUs that are left, the first in the round has them. A job that runs by a plan is
    taken to be alone if there are groups enough for the others: only policies that pass over plans let it share.
    """
    now = homes_now(round_)
    left = Counter({node.id: node.gpus for node in round_.cluster.nodes})
    for home in now.homes:
        for node, gpus in home.held:
            left[node] -= home.fewest * gpus
    found = list[tuple[int, ...]]()
    for home in now.homes:
        if len(home.jobs) == 1:  # most jobs are alone
            found.append(home.jobs)
            continue
        more = _more(left, home.held, len(home.jobs) - home.fewest) if len(home.jobs) > home.fewest else 0
        for node, gpus in home.held:
            left[node] -= more * gpus
        found += _grouped(round_, home.jobs, home.fewest + more)
    return found


def _grouped(round_: Round, jobs: tuple[int, ...], groups: int) -> Iterable[tuple[int, ...]]:
    """Yield jobs in so many groups, those that run by a plan alone if that can be."""
    by_plan = [bool(round_.jobs[place].plans) and round_.jobs[place].plan is not None for place in jobs]
    planned = tuple(compress(jobs, by_plan))
    others, left = tuple(compress(jobs, map(not_, by_plan))), groups - len(planned)
    if planned and others and left * MOST_SHARING >= len(others):
        yield from ((place,) for place in planned)
        yield from _split(others, left)
    else:
        yield from _split(jobs, groups)


def _split(jobs: tuple[int, ...], groups: int) -> Iterable[tuple[int, ...]]:
    """Yield jobs in so many groups, the first ones of one job more than the last."""
    size, longer = divmod(len(jobs), groups)
    start = 0
    for group in range(groups):
        end = start + size + (group < longer)
        yield jobs[start:end]
        start = end


def sharing_now(round_: Round, decision: Decision) -> dict[str, set[str]]:
    """Return each running job with those on its GPUs, itself among them.

    Groups of the decision that may be those that run are taken to be them.
    """
    running = [job for job in round_.jobs if job.state == "running"]
    if all(job.stage_seconds is None for job in running):
        return {job.id: {job.id} for job in running}  # nobody can share
    now, index = homes_now(round_), round_.job_index
    ids = [job.id for job in round_.jobs]
    groups = ({ids[place] for place in group} for group in on_same_gpus(round_))
    found = {job: group for group in groups for job in group}
    for assignment in decision.assignments:
        jobs = [index[job] for job in assignment.jobs if job in index]
        if len(jobs) == len(assignment.jobs) and now.goes_on(jobs, assignment.gpus):
            group = set(assignment.jobs)
            found.update((job, group) for job in assignment.jobs)
    return found
