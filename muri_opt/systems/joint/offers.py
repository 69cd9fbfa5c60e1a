"""What jobs offer for GPUs, alone and in groups, as arrays: floats, for the search only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.joint.cyclic_period import least_period
from muri_opt.systems.joint.job_model import Floats, Models
from muri_opt.systems.joint.rules import JointRules
from muri_opt.systems.joint.worth import Worth

_GRID = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Offers:
    """Jobs as bidders for GPUs.

    Job j is worth ``moved[j]`` an iteration wherever it runs, and ``stays[j]`` more where it goes on with the GPUs
    ``held[j]`` at the place numbered ``place[j]`` (-1: none). ``counts`` are the GPU counts that any job can have, 0
    first; ``rate[t, k]`` are iterations a nanosecond of model t alone on ``counts[k]`` GPUs. ``sizes`` are the counts
    that groups are looked at with first; ``stages[t, s]`` the stage times of model t with the s-th of them, infinite
    where it cannot have them, and ``all_stages[t, k]`` those on ``counts[k]``. ``charge[j]`` is what job j pays for
    each of its GPUs besides, where a quota binds. Of equal ones the first ``submitted`` comes first.
    """

    kind: Ints
    moved: Floats
    stays: Floats
    held: Ints
    place: Ints
    counts: Ints
    rate: Floats
    sizes: Ints
    stages: Floats
    all_stages: Floats
    shares: NDArray[np.bool_]
    slowdown: Floats
    most_jobs: int
    charge: Floats
    submitted: Floats

    @classmethod
    def of(cls, round_: Round, models: Models, worth: Worth, rules: JointRules) -> Offers:
        """Return the offers of all jobs of a round."""
        counts = np.append(0, np.flatnonzero((models.period > 0).any(axis=0)))
        period = models.period[:, counts].astype(np.float64)
        rate = np.divide(1.0, period, out=np.zeros_like(period), where=period > 0)
        held, place = _now(round_)
        moved = worth.changed.astype(np.float64) / worth.unit
        stays = worth.work.astype(np.float64) / worth.unit - moved
        asked = {len(model.period) - 1 for model in models.of if model.period[:-1].count(0) == len(model.period) - 1}
        grid = np.flatnonzero(np.isin(counts, [*_GRID, *asked]))
        stages = _stage_times(models, period, len(round_.resources))
        return cls(
            kind=models.kind,
            moved=moved,
            stays=np.where(held > 0, stays, 0.0),
            held=held,
            place=place,
            counts=counts,
            rate=rate,
            sizes=counts[grid],
            stages=stages[:, grid],
            all_stages=stages,
            shares=models.shares[models.kind],
            slowdown=np.array([float(factor) for factor in rules.slowdown]),
            most_jobs=rules.most_jobs(len(round_.resources)),
            charge=np.zeros(len(models)),
            submitted=np.array([job.submitted or 0.0 for job in round_.jobs]),
        )

    def alone(self, jobs: Ints) -> Floats:
        """Return ``[j, k]``, what each of the jobs adds alone on ``counts[k]`` GPUs, 0 where it cannot have them."""
        work = np.repeat(self.moved[jobs, None], len(self.counts), axis=1)
        at = self.position(self.held[jobs])
        running = np.flatnonzero(at > 0)
        work[running, at[running]] += self.stays[jobs[running]]
        value: Floats = work * self.rate[self.kind[jobs]] - self.charge[jobs, None] * self.counts
        return value

    def position(self, gpus: Ints) -> Ints:
        """Return where numbers of GPUs are among the ``counts``; 0 for one that is not there."""
        at = np.minimum(np.searchsorted(self.counts, gpus), len(self.counts) - 1)
        return np.where(self.counts[at] == gpus, at, 0)

    def pairs(self, jobs: Ints) -> Floats:
        """Return ``[i, j, s]``, what two of the jobs add together on the s-th size, 0 where they cannot share it."""
        kinds, of = np.unique(self.kind[jobs], return_inverse=True)
        times = self.stages[kinds]
        period = least_period([times[:, None], times[None, :]]) * self.slowdown[1]
        speed = (1.0 / period)[of[:, None], of[None, :]]
        able = self.shares[jobs]
        speed[~able] = 0.0
        speed[:, ~able] = 0.0
        value: Floats = (self.moved[jobs, None] + self.moved[None, jobs])[:, :, None] * speed
        if self.charge.any():
            value -= (self.charge[jobs, None] + self.charge[jobs])[:, :, None] * self.sizes
        running = np.flatnonzero(self.held[jobs] > 0)
        if not len(running):
            return value
        mine = np.where(self.held[jobs[running], None] == self.sizes, self.stays[jobs[running], None], 0.0)
        value[running] += mine[:, None, :] * speed[running]
        value[:, running] += mine[None, :, :] * speed[:, running]
        apart = self.place[jobs[running], None] != self.place[None, jobs[running]]
        twice = np.minimum(mine[:, None, :], mine[None, :, :]) * apart[:, :, None]  # only one of the two can stay
        both = np.ix_(running, running)
        value[both] -= twice * speed[both]
        return value

    def groups(self, members: Ints) -> Floats:
        """Return ``[u, k]``, what each group of the jobs in a row of ``members`` adds on ``counts[k]`` GPUs."""
        count = members.shape[1]
        period = least_period([self.all_stages[self.kind[members[:, j]]] for j in range(count)])
        work = np.repeat(self.moved[members].sum(axis=1)[:, None], period.shape[1], axis=1)
        kept = self._kept(members, self.counts)
        charge = self.charge[members].sum(axis=1)[:, None] * self.counts
        value: Floats = (work + kept) / (period * self.slowdown[count - 1]) - charge
        return value

    def triples(self, pairs: Ints, others: Ints) -> Floats:
        """Return ``[p, q, s]``, what pair p adds together with another job q on the s-th size."""
        first, second, third = (
            self.stages[self.kind[pairs[:, 0]]][:, None],
            self.stages[self.kind[pairs[:, 1]]][:, None],
            self.stages[self.kind[others]][None, :],
        )
        period = least_period([first, second, third]) * self.slowdown[2]
        rows = np.broadcast_to(pairs[:, None, :], (len(pairs), len(others), 2))
        thirds = np.broadcast_to(others[None, :, None], (len(pairs), len(others), 1))
        members = np.concatenate([rows, thirds], axis=2).reshape(-1, 3)
        work = self.moved[members].sum(axis=1)[:, None] + self._kept(members, self.sizes)
        charge = self.charge[pairs].sum(axis=1)[:, None] + self.charge[others]
        value: Floats = work.reshape(len(pairs), len(others), -1) / period - charge[:, :, None] * self.sizes
        return value

    def _kept(self, members: Ints, sizes: Ints) -> Floats:
        """Return ``[u, s]``, what groups are worth more where they take the place that saves most of the restarts."""
        if not self.stays.any():
            return np.zeros((1, 1))
        saved = np.where(self.held[members][:, :, None] == sizes, self.stays[members][:, :, None], 0.0)
        place = self.place[members]
        together = place[:, :, None] == place[:, None, :]
        at_place: Floats = np.einsum("umn,uns->ums", together.astype(np.float64), saved)
        found: Floats = at_place.max(axis=1)
        return found


def _now(round_: Round) -> tuple[Ints, Ints]:
    """Return the GPUs that running jobs hold, and a number for where; 0 and -1 for those that wait."""
    held = np.zeros(len(round_.jobs), dtype=np.int64)
    place = np.full(len(round_.jobs), -1, dtype=np.int64)
    known: dict[tuple[tuple[str, int], ...], int] = {}
    for at, job in enumerate(round_.jobs):
        if job.state == "running" and job.placement:
            held[at] = sum(job.placement.values())
            place[at] = known.setdefault(tuple(job.placement.items()), len(known))
    return held, place


def _stage_times(models: Models, period: Floats, resources: int) -> Floats:
    """Return ``[t, k, r]``: nanoseconds of the stages in each period, infinite where a job cannot share."""
    times = np.full((*period.shape, max(1, resources)), np.inf)
    for row, model in enumerate(models.of):
        if model.stages is not None:
            able = period[row] > 0
            times[row, able] = np.ceil(period[row, able, None] * (np.array(model.stages) / model.base))
    return times
