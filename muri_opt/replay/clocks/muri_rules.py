"""Who runs at an event of the Muri authors' simulator: shortest jobs first, Tiresias' queues, or Muri's groups."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, inf, nextafter
from typing import ClassVar, Final

import numpy as np

from muri_opt.replay.clocks.muri_task import Task
from muri_opt.rounds import Job
from muri_opt.rounds.quantities import MICROSECONDS_PER_SECOND
from muri_opt.systems.capacity import first_fit
from muri_opt.systems.muri.grouping import group_jobs
from muri_opt.systems.muri.interleaving import SLOWDOWN
from muri_opt.systems.muri.options import GroupingOptions
from muri_opt.systems.muri.periods import periods_of, stage_times

QUEUE_LIMITS: Final = (3250, 7200)
"""GPU seconds after which Tiresias demotes a job."""
SAME_SERVICE: Final = 1e-6
"""GPU seconds that rounding may hide: a job that lacks no more has had its share."""


class Arrangement(ABC):
    """A rule that says, at every event, which tasks run, at which pace and toll.

    An arrival and an end within ``same_seconds`` are one event, and so are ends that differ by ``same_part``.
    """

    same_seconds: ClassVar[float] = 0.0
    same_part: ClassVar[float] = 0.0

    @abstractmethod
    def arrange(self, now: float, tasks: list[Task]) -> None:
        """Say who runs. Between equals the order of ``tasks`` decides; as it is left, it is there at the next event."""

    def wakes(self, now: float, tasks: Sequence[Task]) -> float:
        """Return when the rule wants to be asked although nothing arrives or ends."""
        return inf


@dataclass(slots=True)
class Shortest(Arrangement):
    """SRTF, or SRSF if remaining times are counted in GPU seconds."""

    whole: np.ndarray[tuple[int], np.dtype[np.int64]]
    by_service: bool

    def arrange(self, now: float, tasks: list[Task]) -> None:
        """Run the shortest tasks that find room, others skipped."""
        tasks.sort(key=lambda task: task.left * (task.gpus if self.by_service else 1))
        free = self.whole.copy()
        for task in tasks:
            share = first_fit(free, task.gpus, self.whole)
            if share is not None:
                free -= share
            task.run(now, share is not None)


@dataclass(slots=True)
class Queues(Arrangement):
    """Tiresias: three queues by GPU seconds received; GPUs are only counted."""

    total: int
    level: dict[int, int] = field(default_factory=dict)
    queues: tuple[list[Task], ...] = field(default_factory=lambda: tuple([] for _ in range(len(QUEUE_LIMITS) + 1)))

    def arrange(self, now: float, tasks: list[Task]) -> None:
        """Demote, each task by at most one queue, then run in the order of the queues what the free GPUs allow."""
        self._meet(tasks)
        for task in tasks:
            level = self.level[task.position]
            served = task.executed * task.gpus + SAME_SERVICE
            if task.running and level < len(QUEUE_LIMITS) and served >= QUEUE_LIMITS[level]:
                self.queues[level].remove(task)
                self.queues[level + 1].append(task)
                self.level[task.position] = level + 1
        free = self.total
        for queue in self.queues:
            for task in queue:
                task.run(now, task.gpus <= free)
                free -= task.gpus * task.running
            queue.sort(key=lambda task: not task.running)

    def _meet(self, tasks: Sequence[Task]) -> None:
        """Put tasks that are new at the end of the first queue, and forget those that have ended."""
        here = {task.position for task in tasks}
        for queue in self.queues:
            queue[:] = [task for task in queue if task.position in here]
        for task in tasks:
            if self.level.setdefault(task.position, -1) < 0:
                self.level[task.position] = 0
                self.queues[0].append(task)

    def wakes(self, now: float, tasks: Sequence[Task]) -> float:
        """Return when the next running task has had its share of a queue, in whole seconds of it."""
        due = inf
        for task in tasks:
            level = self.level[task.position]
            if task.running and level < len(QUEUE_LIMITS):
                due = min(due, ceil(QUEUE_LIMITS[level] / task.gpus) - task.executed + now)
        return max(due, nextafter(now, inf))


@dataclass(slots=True)
class Groups(Arrangement):
    """Muri: the next jobs of each size are grouped by matching until they fit, then placed by priority."""

    jobs: Sequence[Job]
    whole: np.ndarray[tuple[int], np.dtype[np.int64]]
    options: GroupingOptions
    by_remaining: bool
    autopack: bool

    same_seconds: ClassVar[float] = 1e-4
    same_part: ClassVar[float] = 1e-9

    def arrange(self, now: float, tasks: list[Task]) -> None:
        """Group, dissolve groups that are no faster than their jobs in turn, and run what finds room."""
        key = {task.position: self._priority(task) for task in tasks}
        tasks.sort(key=lambda task: key[task.position])
        chosen = self._candidates(tasks)
        grouped = group_jobs([self.jobs[task.position] for task in chosen], int(self.whole.sum()), self.options).groups
        groups = [tuple(chosen[member] for member in group) for group in grouped]
        candidates = self._paced(groups)
        candidates.sort(key=lambda candidate: min(key[task.position] for task in candidate[0]))
        placed = self._placed(candidates) if self.autopack else candidates
        placed.sort(key=lambda candidate: -candidate[0][0].gpus)
        running = {task.position: candidate for candidate in self._placed(placed) for task in candidate[0]}
        for task in tasks:
            candidate = running.get(task.position)
            task.run(now, candidate is not None)
            if candidate is not None:
                group, task.pace = candidate
                task.toll, task.mates = sum(member.restart for member in group), len(group)
        tasks.sort(key=lambda task: -task.gpus)

    def _priority(self, task: Task) -> float:
        return (task.left if self.by_remaining else task.executed) * task.gpus

    def _candidates(self, tasks: Sequence[Task]) -> list[Task]:
        """Return the tasks that may be grouped: each that fits alone opens a slot for the next few of its size."""
        sizes: dict[int, list[Task]] = {}
        for task in tasks:
            sizes.setdefault(task.gpus, []).append(task)
        free, taken = self.whole.copy(), dict.fromkeys(sizes, 0)
        place: dict[int, int] = {}
        for queue in sizes.values():
            for at, task in enumerate(queue):
                place[task.position] = at
        full: set[int] = set()
        for task in tasks:
            if task.gpus in full or place[task.position] < taken[task.gpus]:
                continue
            share = first_fit(free, task.gpus, self.whole)
            if share is None:
                full.add(task.gpus)
                continue
            free -= share
            taken[task.gpus] += self.options.largest_group
        return [task for task in tasks if place[task.position] < taken[task.gpus]]

    def _paced(self, groups: Sequence[tuple[Task, ...]]) -> list[tuple[tuple[Task, ...], float]]:
        """Return the groups, or their jobs where the group is slower than they are in turn, each with its pace."""
        together = [group for group in groups if len(group) > 1]
        found: dict[tuple[Task, ...], float] = {}
        if together:
            members = [self.jobs[task.position] for group in together for task in group]
            stages, rows, at = stage_times(members), [], 0
            for group in together:
                rows.append(tuple(range(at, at + len(group))))
                at += len(group)
            best, _ = periods_of(stages, rows, self.options.pattern)
            real = periods_of(stages, rows, self.options.pattern, worst=True)[0] if self.options.worst_order else best
            for group, quickest, period in zip(together, best, real, strict=True):
                slower = SLOWDOWN[self.options.slowdown][len(group)] / MICROSECONDS_PER_SECOND
                if not self.autopack or quickest * slower <= sum(task.solo for task in group):
                    found[group] = period * slower
        candidates: list[tuple[tuple[Task, ...], float]] = []
        for group in groups:
            if group in found:
                candidates.append((group, found[group]))
            else:
                candidates += [((task,), task.solo) for task in group]
        return candidates

    def _placed(self, candidates: Sequence[tuple[tuple[Task, ...], float]]) -> list[tuple[tuple[Task, ...], float]]:
        """Return the groups that find room in the empty cluster, tried in order."""
        free, found = self.whole.copy(), []
        for candidate in candidates:
            share = first_fit(free, candidate[0][0].gpus, self.whole)
            if share is not None:
                free -= share
                found.append(candidate)
        return found
