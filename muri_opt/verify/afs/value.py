"""The verifier's own arithmetic of elastic shares: what each is worth, and what a change takes away from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isqrt

from muri_opt.rounds import Job, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.afs.curve import Curve, curves_of
from muri_opt.verify.amounts import micro
from muri_opt.verify.completion import had, worth_of_work
from muri_opt.verify.demands import is_lost
from muri_opt.verify.priorities import weights_of

HUNDREDTH = 10_000
"""Microseconds in a hundredth of a second."""
MILLION = 1_000_000
JOBS_FIRST = "jobs-then-"
"""How objectives begin that count the jobs that run before anything else."""
BY_ATTAINED = "completion-attained"
OBJECTIVES = ("speed", "speed-up", "time", "jobs-then-speed", "jobs-then-speed-up", "completion", BY_ATTAINED)
UNTIMED = {"speed-up", "jobs-then-speed-up", BY_ATTAINED}
"""Objectives that say nothing about how long jobs are."""
Table = dict[int, int]
"""What shares of one job are worth, by GPUs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """What shares are worth to each job: ``kept`` as it is now, if it has that share now, and ``changed`` otherwise."""

    kept: Sequence[Table]
    changed: Sequence[Table]


@dataclass(frozen=True, slots=True, kw_only=True)
class Elastic:
    """How shares are counted: what they are worth, and whether they must divide a node or fill nodes.

    ``horizon`` is for how many microseconds a decision is expected to stand, where restarts count; else ``None``.
    """

    objective: str
    by_node: bool
    horizon: int | None = None

    def sizes(self, round_: Round) -> list[int]:
        """Return the GPU counts a share may have."""
        total = round_.cluster.total_gpus
        if not self.by_node:
            return list(range(1, total + 1))
        node = max((node.gpus for node in round_.cluster.nodes), default=1) or 1
        return [k for k in range(1, total + 1) if node % k == 0 or k % node == 0]

    def values(self, round_: Round) -> Sequence[Table]:
        """Return, for every job, the most that each share it may have is worth: what it holds now, if it keeps it.

        ``speed-up``: thousandths of the speed on one GPU. ``speed``: the same times 10**10 over the root of the
        microseconds left on one GPU, of at least a second. ``jobs-then-speed`` and ``jobs-then-speed-up``: that, and
        for every job that runs one more than all jobs could be worth by it. ``time``: the hundredths of a second that
        all jobs would take on one GPU each, and one more, less what the job takes. ``completion``: the speed against
        the fastest share, times what a second of work there is worth for completion times, in millionths of a job;
        ``completion-attained`` the same, jobs ranked by what they have had. Where jobs have priorities, times what a
        unit counts in the class of the job.
        """
        return self.worth(round_).kept

    def worth(self, round_: Round) -> Worth:
        """Return what shares are worth, kept and changed."""
        return _worth(self, round_)

    def work_out(self, round_: Round) -> Worth:
        """Return the values, worked out now.

        A running job that does not keep its share where it is works only for the horizon less its restart, or for the
        time it needs at its fastest less its restart, if that is sooner: its speed counts in that proportion, in
        millionths. By ``time`` it takes longer by its restart.
        """
        curves = curves_of(round_)
        if self.by_node:
            legal = frozenset(self.sizes(round_))
            shares = [[k for k in curves[job.id].speeds if k in legal] for job in round_.jobs]
        else:
            most = round_.cluster.total_gpus
            shares = [[k for k in curves[job.id].speeds if k <= most] for job in round_.jobs]
        if self.objective == "time":
            fresh, changed = self._times(round_, curves, shares)
        else:
            fresh, changed = self._speeds(round_, curves, shares)
        kept = _kept(round_, fresh, changed)
        if "job.priority" in round_.used_fields:
            counts = weights_of(round_, [max([0, *table.values()]) for table in kept])
            kept, changed = (_times(tables, counts) for tables in (kept, changed))
        return Worth(kept=kept, changed=changed)

    @property
    def timed(self) -> bool:
        """Whether the value needs to know how long jobs are."""
        return self.objective not in UNTIMED

    def _times(
        self, round_: Round, curves: Mapping[str, Curve], shares: Sequence[Sequence[int]]
    ) -> tuple[list[Table], list[Table]]:
        within = round_.cluster.total_gpus
        ends = [curves[job.id].ends(job, within) for job in round_.jobs]
        lost = [self._lost(round_, job) for job in round_.jobs]
        everything = 1 + sum(times.get(1, 0) // HUNDREDTH for times in ends)
        everything += sum(1 + each // HUNDREDTH for each in lost if each)
        fresh = [
            {k: everything - times[k] // HUNDREDTH for k in mine} for times, mine in zip(ends, shares, strict=True)
        ]
        changed = [
            {k: everything - (times[k] + each) // HUNDREDTH for k in mine} if each else table
            for times, mine, each, table in zip(ends, shares, lost, fresh, strict=True)
        ]
        return fresh, changed

    def _speeds(
        self, round_: Round, curves: Mapping[str, Curve], shares: Sequence[Sequence[int]]
    ) -> tuple[list[Table], list[Table]]:
        fresh, changed, total = self._fresh(round_, curves, shares), list[Table](), round_.cluster.total_gpus
        for job, table in zip(round_.jobs, fresh, strict=True):
            curve = curves[job.id]
            lost = self._lost(round_, job)
            if lost and self.horizon is not None:
                soonest = curve.soonest(job, total) if self.timed else self.horizon
                stands = max(1, min(self.horizon, soonest))
                part = MILLION * max(0, stands - lost) // stands
                table = {k: value * part // MILLION for k, value in table.items()}
            changed.append(table)
        if not self.objective.startswith(JOBS_FIRST):
            return fresh, changed
        runs = 1 + sum(max(table.values(), default=0) for table in fresh)
        return [_more(table, runs) for table in fresh], [_more(table, runs) for table in changed]

    def _fresh(self, round_: Round, curves: Mapping[str, Curve], shares: Sequence[Sequence[int]]) -> list[Table]:
        """Return what shares are worth to jobs that do not restart, by their speed."""
        if self.objective.startswith("completion"):
            return self._completion(round_, curves, shares)
        found = list[Table]()
        for job, mine in zip(round_.jobs, shares, strict=True):
            curve = curves[job.id]
            alone = curve.end_alone(job) if self.timed else None
            weight = 1000 if alone is None else 10**10 // max(1000, isqrt(alone))
            one = curve.speeds[1]
            found.append({k: weight * curve.speeds[k] // one for k in mine})
        return found

    def _completion(self, round_: Round, curves: Mapping[str, Curve], shares: Sequence[Sequence[int]]) -> list[Table]:
        """Return what shares are worth by what work is for completion times."""
        service = [curves[job.id].end_alone(job) if self.timed else had(job) for job in round_.jobs]
        speeds = [{k: curves[job.id].speeds[k] for k in mine} for job, mine in zip(round_.jobs, shares, strict=True)]
        top = [max(mine.values(), default=1) for mine in speeds]
        seconds = [
            {k: -(-MILLION * fastest // speed) for k, speed in mine.items()}
            for mine, fastest in zip(speeds, top, strict=True)
        ]
        worth = worth_of_work(service, seconds, round_.cluster.total_gpus)
        return [
            {k: each * speed // fastest for k, speed in mine.items()}
            for mine, fastest, each in zip(speeds, top, worth, strict=True)
        ]

    def _lost(self, round_: Round, job: Job) -> int:
        """Return the microseconds that a job loses if it does not go on as it is."""
        if self.horizon is None or not job.restart_seconds or not goes_on(round_, job):
            return 0
        return micro(job.restart_seconds)


_worth = recalled(Elastic.work_out)


def goes_on(round_: Round, job: Job) -> bool:
    """Return whether a job runs now and may keep what it has: it has lost it if a node of it is down."""
    return job.state == "running" and bool(job.placement) and not is_lost(round_, job)


def _kept(round_: Round, fresh: list[Table], changed: list[Table]) -> list[Table]:
    """Return the most that each share is worth: to a running job the one it holds now as if it were not changed."""
    found = list[Table]()
    for job, table, less in zip(round_.jobs, fresh, changed, strict=True):
        if table is less or not goes_on(round_, job):
            found.append(table)
            continue
        held = sum((job.placement or {}).values())
        found.append({**less, held: table[held]} if held in table else less)
    return found


def _times(tables: Sequence[Table], counts: Sequence[int]) -> list[Table]:
    return [{k: value * count for k, value in table.items()} for table, count in zip(tables, counts, strict=True)]


def _more(table: Table, more: int) -> Table:
    return {k: value + more for k, value in table.items()}
