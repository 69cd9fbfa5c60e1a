"""The verifier's own arithmetic of elastic shares: what each is worth, and what a change takes away from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isqrt

import numpy as np

from muri_opt.rounds import Job, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.afs.curve import LARGEST_SPEED, LONGEST, Curve, curves_of
from muri_opt.verify.afs.share_tables import Ints, Numbers, ShareTables
from muri_opt.verify.amounts import micro, word_for
from muri_opt.verify.completion import behind_guessed, behind_known, had, worth_of_work
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Worth:
    """What shares are worth to each job: ``kept`` as it is now, if it has that share now, and ``changed`` otherwise."""

    kept: ShareTables
    changed: ShareTables


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

    def values(self, round_: Round) -> ShareTables:
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
        curves = [*curves_of(round_).values()]
        speeds = self._speed_table(round_, curves)
        if self.objective == "time":
            fresh, changed = self._times(round_, curves, speeds)
        else:
            fresh, changed = self._speeds(round_, curves, speeds)
        stays = np.array([sum(now.values()) if now else 0 for now in homes_of(round_)], dtype=np.int64)
        kept = np.where(stays[speeds.job] == speeds.gpus, fresh, changed)
        if "job.priority" in round_.used_fields:
            counts = np.array(weights_of(round_, speeds.most(kept)), dtype=object)[speeds.job]
            kept, changed = kept.astype(object) * counts, changed.astype(object) * counts
        return Worth(kept=speeds.with_value(kept), changed=speeds.with_value(changed))

    def _speed_table(self, round_: Round, curves: Sequence[Curve]) -> ShareTables:
        """Return the shares that jobs may have, each with the speed it gives."""
        total = round_.cluster.total_gpus
        rows = [curve.row if len(curve.row) <= total else curve.row[:total] for curve in curves]
        count = np.array([len(row) for row in rows], dtype=np.int64)
        job, start = np.repeat(np.arange(len(rows)), count), np.cumsum(count) - count
        gpus = 1 + np.arange(len(job)) - start[job]
        speed = np.concatenate([np.zeros(0, dtype=np.int64), *rows])
        if self.by_node:
            may = np.isin(gpus, self.sizes(round_))
            job, gpus, speed = job[may], gpus[may], speed[may]
        return ShareTables(len(rows), job, gpus, speed)

    @property
    def timed(self) -> bool:
        """Whether the value needs to know how long jobs are."""
        return self.objective not in UNTIMED

    def _times(self, round_: Round, curves: Sequence[Curve], speeds: ShareTables) -> tuple[Numbers, Numbers]:
        work = [curve.work(job) for job, curve in zip(round_.jobs, curves, strict=True)]
        whole: Numbers = np.array(work, dtype=word_for(max(work, default=0)))[speeds.job] // speeds.value
        ends = np.minimum(whole, LONGEST).astype(np.int64)
        alone, lost = ends[speeds.gpus == 1], [self._lost(round_, job) for job in round_.jobs]
        everything = 1 + sum((alone // HUNDREDTH).tolist()) + sum(1 + each // HUNDREDTH for each in lost if each)
        word = word_for(2 * everything)
        later = np.array(lost, dtype=np.int64)[speeds.job]
        fresh, changed = (everything - (end // HUNDREDTH).astype(word) for end in (ends, ends + later))
        return fresh, changed

    def _speeds(self, round_: Round, curves: Sequence[Curve], speeds: ShareTables) -> tuple[Numbers, Numbers]:
        fresh = self._fresh(round_, curves, speeds)
        changed = _parts(fresh, self._left_over(round_, curves)[speeds.job])
        if self.objective.startswith(JOBS_FIRST):
            runs = 1 + sum(speeds.most(fresh))
            word = word_for(2 * runs)
            fresh, changed = fresh.astype(word) + runs, changed.astype(word) + runs
        return fresh, changed

    def _left_over(self, round_: Round, curves: Sequence[Curve]) -> Ints:
        """Return, in millionths, how much of its time each job works if it does not go on as it is."""
        part, most = np.full(len(curves), MILLION, dtype=np.int64), round_.cluster.total_gpus
        for place, (job, curve) in enumerate(zip(round_.jobs, curves, strict=True)):
            lost = self._lost(round_, job)
            if lost and self.horizon is not None:
                soonest = curve.soonest(job, most) if self.timed else self.horizon
                stands = max(1, min(self.horizon, soonest))
                part[place] = MILLION * max(0, stands - lost) // stands
        return part

    def _fresh(self, round_: Round, curves: Sequence[Curve], speeds: ShareTables) -> Numbers:
        """Return what shares are worth to jobs that do not restart, by their speed."""
        if self.objective.startswith("completion"):
            return self._completion(round_, curves, speeds)
        weight = [1000] * len(curves)
        if self.timed:
            alone = (curve.end_alone(job) for job, curve in zip(round_.jobs, curves, strict=True))
            weight = [10**10 // max(1000, isqrt(end)) for end in alone]
        one = np.array([curve.speeds[1] for curve in curves], dtype=np.int64)
        return np.asarray(np.array(weight, dtype=np.int64)[speeds.job] * speeds.value // one[speeds.job])

    def _completion(self, round_: Round, curves: Sequence[Curve], speeds: ShareTables) -> Numbers:
        """Return what shares are worth by what work is for completion times."""
        if self.timed:
            behind = behind_known([curve.end_alone(job) for job, curve in zip(round_.jobs, curves, strict=True)])
        else:
            behind = behind_guessed(round_.jobs, [had(job) for job in round_.jobs])
        fastest = np.array([top or 1 for top in speeds.most()], dtype=np.int64)[speeds.job]
        seconds = speeds.with_value(-(-MILLION * fastest // speeds.value))
        worth = worth_of_work(behind, [*seconds], round_.cluster.total_gpus)
        word = word_for(max(worth, default=0) * LARGEST_SPEED)
        return np.asarray(np.array(worth, dtype=word)[speeds.job] * speeds.value // fastest)

    def _lost(self, round_: Round, job: Job) -> int:
        """Return the microseconds that a job loses if it does not go on as it is."""
        if self.horizon is None or not job.restart_seconds or not goes_on(round_, job):
            return 0
        return micro(job.restart_seconds)


_worth = recalled(Elastic.work_out)


def goes_on(round_: Round, job: Job) -> bool:
    """Return whether a job runs now and may keep what it has: it has lost it if a node of it is down."""
    return job.state == "running" and bool(job.placement) and not is_lost(round_, job)


@recalled
def homes_of(round_: Round) -> list[Mapping[str, int] | None]:
    """Return the GPUs per node with which each job goes on if it is kept, ``None`` if it does not run."""
    found: list[Mapping[str, int] | None] = [None] * len(round_.jobs)
    for place, job in enumerate(round_.jobs):
        if job.placement and goes_on(round_, job):
            now = job.placement
            found[place] = now if all(now.values()) else {node: gpus for node, gpus in now.items() if gpus}
    return found


def _parts(values: Numbers, millionths: Ints) -> Numbers:
    """Return parts of values, rounded down; no product leaves a machine word."""
    return np.asarray(values // MILLION * millionths + values % MILLION * millionths // MILLION)
