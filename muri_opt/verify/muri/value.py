"""What groups are worth: efficiency, GPU time saved, progress by rank or by completion, in exact integers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Job, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.amounts import micro, word_for
from muri_opt.verify.completion import behind_guessed, behind_known, had, left_over, worth_of_work
from muri_opt.verify.gangs.value import ranked
from muri_opt.verify.muri.classes import Classes
from muri_opt.verify.muri.free import FreeRates
from muri_opt.verify.muri.periods import Ints, group_periods, slot_count
from muri_opt.verify.muri.rules import UNITS, Sharing, stages_of

MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sharers:
    """What the value of a group needs of its jobs, by position: GPUs, stage times, time alone and weight of its work.

    Times are in microseconds. Time alone and weight are 0 where the objective does not look at them. ``classes`` are
    those of priority. ``restart`` is what each running job loses if it is changed, 0 where that is not paid. ``free``
    has the rates of jobs that share freely, ``None`` where all groups run in lock step.
    """

    sharing: Sharing
    gpus: Ints
    stages: Ints
    alone: Ints
    weight: Ints
    classes: Classes
    restart: Ints
    free: FreeRates | None

    @classmethod
    def of(cls, round_: Round, sharing: Sharing) -> Sharers:
        """Return the jobs of a round that share in this way."""
        stages = stages_of(round_.jobs)
        weights = _weights(round_, sharing)
        alone = [0 if sharing.objective == "efficiency" else _alone(job) for job in round_.jobs]
        gpus = [job.gpus for job in round_.jobs]
        # Four jobs; a period is at most eight of their longest stages; a slow-down has at most a few hundred parts.
        # Rates are up to a million.
        longest = 8 * max((*stages.sum(axis=1).tolist(), *alone, 1 if sharing.run == "lock-step" else MILLION))
        fraction = max(max(slow.numerator, slow.denominator) for slow in sharing.slowdowns)
        unit = UNITS[sharing.objective]
        units = max(unit, stages.shape[1]) * max((*weights.values(), 1)) * max((*gpus, 1))
        word = word_for(longest * fraction * units)
        ranks, restart = [weights[job.id] for job in round_.jobs], [_restart(job, sharing) for job in round_.jobs]
        return cls(
            sharing=sharing,
            gpus=np.array(gpus, dtype=word),
            stages=stages.astype(word),
            alone=np.array(alone, dtype=word),
            weight=np.array(ranks, dtype=word),
            classes=Classes.of(round_, sharing, stages.sum(axis=1).tolist(), alone, ranks),
            restart=np.array(restart, dtype=word_for(max(restart, default=0))),
            free=None if sharing.run == "lock-step" else FreeRates.of(round_, sharing.own),
        )

    @property
    def pays(self) -> bool:
        """Whether a change of any job makes a difference."""
        return bool((self.restart > 0).any())

    def values(self, groups: Ints, *, kept: NDArray[np.bool_] | None = None) -> Ints:
        """Return the value of each group; ``groups[g]`` are the positions of its jobs, as many in every group.

        Where there are several priorities it is the sum over their classes, each counted as often as its weight says.
        Those that are not ``kept`` as they are, which is none unless said, lose what their running jobs do.
        """
        weights, whole = self.classes.weights, np.zeros(len(groups), dtype=np.bool_) if kept is None else kept
        if len(weights) == 1:
            return self._less(self.of_class(groups, 0), groups, whole)
        parts = (self._less(self.of_class(groups, one), groups, whole) for one in range(len(weights)))
        return np.asarray(sum(part.astype(object) * weight for part, weight in zip(parts, weights, strict=True)))

    def changed(self, groups: Ints, one: int) -> Ints:
        """Return what groups that go on nowhere as they are are worth to a class of priority."""
        return self._less(self.of_class(groups, one), groups, np.zeros(len(groups), dtype=np.bool_))

    def _less(self, value: Ints, groups: Ints, kept: NDArray[np.bool_]) -> Ints:
        """Return the part of values that is left of the horizon after the longest restart in each group."""
        horizon = self.sharing.horizon
        if horizon is None or not self.pays:
            return value
        lost = np.where(kept, 0, self.restart[groups].max(axis=1, initial=0))
        word = word_for(int(np.abs(value).max(initial=0)) * horizon)
        part = value.astype(word) * np.maximum(0, horizon - lost).astype(word) // horizon
        return np.asarray(part.astype(value.dtype))

    def of_class(self, groups: Ints, one: int) -> Ints:
        """Return what each group is worth to a class of priority, by what its jobs of the class add, restarts apart.

        *Efficiency*: parts per million of the resources in use on its GPUs. *GPU time*: what it saves per second
        against its jobs one after another, in millionths of a GPU, 0 alone; the GPUs are paid by its first class.
        *Progress*: speed of its jobs relative to alone, times GPUs and weight of the rank, in thousandths.
        *Completion*: the same speed times what a second of its work is worth, in millionths of a job. Each is rounded
        down, and 0 where the period is.
        """
        gpus = self.gpus[groups]
        taken = paid = gpus.max(axis=1)
        if len(self.classes.weights) > 1:
            mine = self.classes.of_job[groups]
            gpus, paid = np.where(mine == one, gpus, 0), np.where(mine.min(axis=1) == one, taken, 0)
        free = self.freely(groups)
        if free is None:
            return self._in_step(groups, gpus, paid)
        if free.all():
            return self._at_rates(groups, gpus, paid)
        return np.where(free, self._at_rates(groups, gpus, paid), self._in_step(groups, gpus, paid))

    def freely(self, groups: Ints) -> NDArray[np.bool_] | None:
        """Return which groups run freely: all, or those that are worth more so to all their jobs; ``None`` if none may.

        A job alone does not.
        """
        if self.free is None or groups.shape[1] == 1:
            return None
        if self.sharing.run == "free":
            return np.ones(len(groups), dtype=np.bool_)
        gpus = self.gpus[groups]
        taken = gpus.max(axis=1)
        return np.asarray(self._at_rates(groups, gpus, taken) > self._in_step(groups, gpus, taken))

    def rates(self, groups: Ints) -> Ints:
        """Return the rates of the jobs of groups that run freely, in parts per million."""
        if self.free is None:
            raise ValueError("groups run in lock step")
        return self.free.rates(groups, self.stages[groups])

    def _at_rates(self, groups: Ints, gpus: Ints, paid: Ints) -> Ints:
        """Return what groups are worth that run freely: a rate stands for the time alone over the period."""
        rates, times = self.rates(groups).astype(gpus.dtype), self.stages[groups].sum(axis=2)
        if self.sharing.objective == "efficiency":
            slots = max(1, slot_count(self.sharing.pattern, self.stages.shape[1]))
            busy = (gpus * np.where(times > 0, rates, 0)).sum(axis=1)
            value = busy // (slots * np.maximum(1, self.gpus[groups].max(axis=1)))
        elif self.sharing.objective == "gpu-time":
            value = (gpus * rates).sum(axis=1) - MILLION * paid
        else:
            counted = np.minimum(gpus, 1) if self.sharing.objective == "completion" else gpus
            value = UNITS[self.sharing.objective] * (counted * self.weight[groups] * rates).sum(axis=1) // MILLION
        return np.where(times.any(axis=1), value, 0)

    def _in_step(self, groups: Ints, gpus: Ints, paid: Ints) -> Ints:
        """Return what groups are worth in lock step, ``gpus`` being what their jobs count, ``paid`` what GPUs cost."""
        sharing, size = self.sharing, groups.shape[1]
        stages, alone, taken = self.stages[groups], self.alone[groups], self.gpus[groups].max(axis=1)
        period = group_periods(sharing.pattern, stages, worst=sharing.worst).astype(gpus.dtype)
        some = (period > 0) & (taken > 0)
        slow = sharing.slowdown(size)
        slowed = np.where(some, period, 1) * slow.numerator  # the period, in units of a denominator of the slow-down
        if sharing.objective == "efficiency":
            done = (gpus * stages.sum(axis=2)).sum(axis=1) * slow.denominator
            slots = slot_count(sharing.pattern, stages.shape[2])
            value = MILLION * done // (np.where(some, taken, 1) * max(slots, 1) * slowed)
        elif sharing.objective == "gpu-time":
            saved = (gpus * alone).sum(axis=1) * slow.denominator - paid * slowed
            value = MILLION * saved // slowed if size > 1 else np.zeros_like(taken)
        else:
            counted = np.minimum(gpus, 1) if sharing.objective == "completion" else gpus
            worth, unit = counted * self.weight[groups], UNITS[sharing.objective]
            speed = (worth * alone).sum(axis=1) * slow.denominator
            value = unit * speed // slowed if size > 1 else unit * worth[:, 0]
        return np.where(some, value, 0)


def _weights(round_: Round, sharing: Sharing) -> dict[str, int]:
    """Return what the work of each job weighs: its rank from the last, what a second is worth, or nothing."""
    if sharing.objective == "progress":
        return {job.id: len(round_.jobs) - rank for rank, job in enumerate(ranked(round_, sharing.order))}
    if sharing.objective == "completion":
        if sharing.order == "las":
            behind = behind_guessed(round_.jobs, [had(job) for job in round_.jobs])
        else:
            behind = behind_known([left_over(job) for job in round_.jobs])
        alone = [{job.gpus: MILLION} for job in round_.jobs]
        worth = worth_of_work(behind, alone, round_.cluster.total_gpus)
        return {job.id: each for job, each in zip(round_.jobs, worth, strict=True)}
    return dict.fromkeys((job.id for job in round_.jobs), 0)


@recalled
def sharers_of(round_: Round, sharing: Sharing) -> Sharers:
    """Return the jobs of a round that share in this way, from a call before if there was one."""
    return Sharers.of(round_, sharing)


def _restart(job: Job, sharing: Sharing) -> int:
    """Return what a job loses if it runs and is changed, in microseconds, where that counts."""
    return micro(job.restart_seconds or 0.0) if sharing.horizon is not None and job.state == "running" else 0


def _alone(job: Job) -> int:
    """Return the time of an iteration alone: as said, or all stages one after another."""
    if job.iteration_seconds is not None:
        return micro(job.iteration_seconds)
    return sum(micro(seconds) for seconds in job.stage_seconds or ())
