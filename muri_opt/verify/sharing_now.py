"""Who shares GPUs now, by the verifier's own reading.

Jobs that run with the same placement, and have stage times, may share its GPUs, up to four together. How they do is not
said; a group may be one that runs if all groups of its placement, it among them, have GPUs on their nodes while
those of other placements take as few as they can.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from muri_opt.rounds import Decision, Job, Round
from muri_opt.rounds.memoise import last_recalled, recalled
from muri_opt.verify.amounts import room_of

MOST_TOGETHER = 4
"""Jobs that may have the same GPUs."""

Where = frozenset[tuple[str, int]]
"""Nodes, each with GPUs of it."""


@dataclass(slots=True, kw_only=True)
class _Alike:
    """Jobs of one placement, in groups of at most ``size``."""

    where: Where
    size: int
    jobs: list[Job]

    def groups(self, of_these: int = 0) -> int:
        """Return in how few groups they are, so many of them being in one of their own."""
        rest = len(self.jobs) - of_these
        return (of_these > 0) + (rest + self.size - 1) // self.size


class RunningJobs:
    """The jobs of a round that run, by placement."""

    def __init__(self, round_: Round) -> None:
        self._nodes = round_.cluster.nodes
        self._running = [job for job in round_.jobs if job.state == "running"]
        self._alone = {job.id: job for job in self._running if job.stage_seconds is None}

    @cached_property
    def alike(self) -> dict[tuple[Where, int], _Alike]:
        """The jobs of each placement, those that share with nobody apart."""
        found: dict[tuple[Where, int], _Alike] = {}
        for job in self._running:
            size = 1 if job.stage_seconds is None else MOST_TOGETHER
            where = placed(job.placement or {})
            same = found.get((where, size))
            if same is None:
                same = found[where, size] = _Alike(where=where, size=size, jobs=[])
            same.jobs.append(job)
        return found

    @cached_property
    def _has(self) -> dict[str, int]:
        """The GPUs of each node."""
        return {node.id: room_of(node).gpus for node in self._nodes}

    @cached_property
    def _of(self) -> dict[str, _Alike]:
        """Those that each job is one of."""
        return {job.id: same for same in self.alike.values() for job in same.jobs}

    @cached_property
    def _used(self) -> dict[str, int]:
        """The GPUs that are used of each node at least."""
        used = dict.fromkeys(self._has, 0)
        for same in self.alike.values():
            for node, gpus in same.where:
                used[node] += gpus * same.groups()
        return used

    def may_be(self, names: Collection[str], gpus: Mapping[str, int]) -> bool:
        """Return whether jobs that have these GPUs together may be a group that runs."""
        first = next(iter(names), "")
        alone = self._alone.get(first)
        if alone is not None:  # nobody shares there, so that nothing has to be counted
            now = alone.placement or {}
            return len(names) == 1 and (gpus == now or placed(gpus) == placed(now))
        if len(self._alone) == len(self._running):
            return False  # then it does not run now
        same = self._of.get(first)
        if same is None or (len(names) > 1 and any(self._of.get(name) is not same for name in names)):
            return False
        if len(names) > same.size or (gpus != same.jobs[0].placement and placed(gpus) != same.where):
            return False
        more = same.groups(len(names)) - same.groups()
        return not more or all(
            self._used[node] + more * each <= max(self._has[node], self._used[node]) for node, each in same.where
        )

    def grouped(self) -> list[tuple[Job, ...]]:
        """Return the jobs in groups: as many as there are GPUs for, the first placements first, of nearly one size.

        Where the groups suffice, jobs that run by a plan have one each.
        """
        used, found = dict(self._used), list[tuple[Job, ...]]()
        for same in self.alike.values():
            count = same.groups()
            while count < len(same.jobs) and all(used[node] + each <= self._has[node] for node, each in same.where):
                count += 1
                for node, each in same.where:
                    used[node] += each
            by_plan = [job for job in same.jobs if job.plans and job.plan is not None]
            rest = [job for job in same.jobs if not job.plans or job.plan is None]
            if not rest or len(rest) > MOST_TOGETHER * (count - len(by_plan)):
                by_plan, rest = [], same.jobs
            found += [(job,) for job in by_plan]
            count, jobs = count - len(by_plan), iter(rest)
            for group in range(count):
                size = (len(rest) - group + count - 1) // count
                found.append(tuple(next(jobs) for _ in range(size)))
        return found


@recalled
def running_jobs(round_: Round) -> RunningJobs:
    """Return the jobs of a round that run, from one of the last calls if it was the same."""
    return RunningJobs(round_)


@last_recalled
def going_on(round_: Round, decision: Decision) -> list[bool]:
    """Return of each assignment of a decision whether it may be a group that runs and goes on as it is."""
    now = running_jobs(round_)
    return [now.may_be(one.jobs, one.gpus) for one in decision.assignments]


def placed(gpus: Mapping[str, int]) -> Where:
    """Return where GPUs are; nodes without any count only where there is no other."""
    if len(gpus) == 1:
        return frozenset(gpus.items())
    return frozenset((node, each) for node, each in gpus.items() if each) or frozenset(gpus.items())


def running_groups(round_: Round) -> list[tuple[Job, ...]]:
    """Return the running jobs, those together that are taken to have the same GPUs."""
    return running_jobs(round_).grouped()
