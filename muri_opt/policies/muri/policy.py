"""Policies ``muri-s`` and ``muri-l``: choose candidates, group them, place the groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import ClassVar

import numpy as np

from muri_opt.errors import InputError
from muri_opt.instance import Job, Round
from muri_opt.interleaving import SLOWDOWN, best_period, slot_count
from muri_opt.ordering import priority_order
from muri_opt.placement import Leftover, first_fit
from muri_opt.policies.base import Policy
from muri_opt.policies.muri.grouping import Group, group_jobs
from muri_opt.policies.muri.options import AUTHORS, PAPER, GroupingOptions
from muri_opt.solution import Decision, Placed, group_decision

ORDER_OF = {"muri-s": "srsf", "muri-l": "las"}
_PRESETS = {"paper": PAPER, "authors": AUTHORS}


@dataclass(frozen=True, slots=True, kw_only=True)
class MuriPolicy(Policy):
    """Muri with the shortest remaining service (``muri-s``) or the least attained service (``muri-l``) first.

    ``preset`` is the paper's formula without slips, or the rules of the authors' simulator. ``group`` is the largest
    group. ``autopack`` dissolves a group that is slower than its jobs one after another.
    """

    preset: str = "paper"
    group: str = "4"
    autopack: str = "on"

    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "preset": ("paper", "authors"),
        "group": ("4", "3", "2", "1"),
        "autopack": ("on", "off"),
    }

    @property
    def options(self) -> GroupingOptions:
        """How jobs are grouped."""
        return replace(_PRESETS[self.preset], largest_group=int(self.group))

    def check(self, round_: Round) -> None:
        """Refuse a job of no GPUs or without stage times, and the authors' preset without their three stages."""
        for position, job in enumerate(round_.jobs):
            where = f"jobs[{position}] ({job.id!r})"
            if job.gpus < 1:
                raise InputError(f"{where}.gpus", "0", "at least 1 to share GPUs")
            if job.stage_seconds is None:
                raise InputError(
                    f"{where}.stage_seconds", "nothing", f"a time per stage: {self.name!r} interleaves them"
                )
        if self.preset == "authors" and len(round_.resources) != 3:
            found = f"{len(round_.resources)} ({', '.join(round_.resources)})"
            raise InputError("resources", found, "3 (data, gpu, network) under preset=authors; use preset=paper")

    def decide(self, round_: Round, seed: int) -> Decision:
        """Return the decision of the published algorithm, the groups placed once, in the order of their priority."""
        self.check(round_)
        queue = priority_order(round_, ORDER_OF[self.name])
        rank = {job: place for place, job in enumerate(queue)}
        largest = min(int(self.group), slot_count(self.options.pattern, len(round_.resources)))
        chosen = _candidates(round_, queue, largest)
        grouping = group_jobs([round_.jobs[job] for job in chosen], round_.cluster.total_gpus, self.options)
        groups = [tuple(chosen[position] for position in group) for group in grouping]
        if self.autopack == "on":
            groups = [part for group in groups for part in self._packed(round_, group)]
        groups.sort(key=lambda group: min(rank[job] for job in group))
        placed = _place(round_, [self._timed(round_, group) for group in groups])
        return group_decision(round_, placed, consolidate=False)

    def _packed(self, round_: Round, group: Group) -> Sequence[Group]:
        """Return the group, or its jobs alone where together they are slower than one after another."""
        jobs = [round_.jobs[job] for job in group]
        slow = len(group) > 1 and self.period_seconds(jobs)[0] > sum(map(_alone, jobs))
        return [(job,) for job in group] if slow else [group]

    def _timed(self, round_: Round, group: Group) -> Placed:
        period, order = self.period_seconds([round_.jobs[job] for job in group])
        alone = round_.jobs[group[0]].iteration_seconds
        nowhere = np.zeros(len(round_.cluster.nodes), dtype=np.int64)
        return Placed(jobs=group, share=nowhere, order=order, period_seconds=alone if len(group) == 1 else period)

    def period_seconds(self, jobs: Sequence[Job]) -> tuple[float, tuple[int, ...]]:
        """Return the period of a group, slowed down by its size, and the order of its jobs."""
        best = best_period([job.stage_seconds or () for job in jobs], self.options.pattern)
        return best.period_seconds * SLOWDOWN[self.options.slowdown][len(jobs)], best.order


def _alone(job: Job) -> float:
    """Return the iteration time of a job alone; where it is not said, its stages one after another."""
    return sum(job.stage_seconds or ()) if job.iteration_seconds is None else job.iteration_seconds


def _candidates(round_: Round, queue: Sequence[int], largest_group: int) -> list[int]:
    """Return the jobs that may be grouped, in queue order: for each job that fits alone, the next few of its size."""
    left = Leftover(round_)
    chosen: set[int] = set()
    for place, job in enumerate(queue):
        if job in chosen or not left.within_quota(job):
            continue
        share = first_fit(left.room(job), int(round_.amounts.g[job]), round_.amounts.G)
        if share is not None:
            left.take(share, job)
            size = round_.jobs[job].gpus
            alike = (other for other in queue[place:] if other not in chosen and round_.jobs[other].gpus == size)
            chosen.update(islice(alike, largest_group))
    return [job for job in queue if job in chosen]


def _place(round_: Round, groups: Sequence[Placed]) -> list[Placed]:
    """Return the groups that fit, tried in order, each where the simulator's first fit puts it."""
    left = Leftover(round_)
    placed = []
    for group in groups:
        share = first_fit(left.room(*group.jobs), int(round_.amounts.g[group.jobs[0]]), round_.amounts.G)
        if share is not None and left.within_quota(*group.jobs):
            left.take(share, *group.jobs)
            placed.append(replace(group, share=share))
    return placed
