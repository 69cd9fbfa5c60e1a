"""What jobs offer for GPUs, alone and in groups, as arrays: floats, for the search only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.joint.cyclic_period import least_pair_period, least_period
from muri_opt.systems.joint.job_model import Floats
from muri_opt.systems.joint.models import Models
from muri_opt.systems.joint.regions import Regions
from muri_opt.systems.joint.rules import JointRules
from muri_opt.systems.joint.worth import Worth

_GRID = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
_ROWS = 16
"""Rows of jobs whose pairs are looked at together: what that needs stays in the processor's cache."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Offers:
    """Jobs as bidders for GPUs.

    An iteration of job j is worth ``work[j]``. ``counts`` are the GPU counts that any job can have, 0 first;
    ``rate[t, k]`` are iterations a nanosecond of model t alone on ``counts[k]`` GPUs. ``sizes`` are the counts that
    groups are looked at with first, at the places ``grid`` among the counts; ``stages[r, t, k]`` the time of stage r of
    model t on ``counts[k]`` GPUs, infinite where it cannot have them. ``charge[j]`` is what job j pays for each of its
    GPUs besides, where a quota binds. Of equal ones the first ``submitted`` comes first. Where jobs ask for certain
    nodes, those of the places ``spot`` j and k may share if ``meet[j, k]``.
    """

    kind: Ints
    work: Floats
    counts: Ints
    rate: Floats
    grid: Ints
    stages: NDArray[np.float32]
    shares: NDArray[np.bool_]
    slowdown: Floats
    most_jobs: int
    charge: Floats
    submitted: Floats
    spot: Ints
    meet: NDArray[np.bool_] | None

    @classmethod
    def of(cls, round_: Round, models: Models, worth: Worth, rules: JointRules) -> Offers:
        """Return the offers of all jobs of a round where each goes on as it is, or starts."""
        counts = np.append(0, np.flatnonzero((models.period > 0).any(axis=0)))
        period = np.ascontiguousarray(models.period.take(counts, axis=1), dtype=np.float64)
        rate = np.divide(1.0, period, out=np.zeros_like(period), where=period > 0)
        regions = Regions.of(round_)
        asked = np.unique(models.least[models.least == models.largest])  # by jobs that cannot have fewer
        return cls(
            kind=models.kind,
            work=worth.work.astype(np.float64) / worth.unit,
            counts=counts,
            rate=rate,
            grid=np.flatnonzero(np.isin(counts, [*_GRID, *asked])),
            stages=_stage_times(models, period, len(round_.resources)),
            shares=models.shares[models.kind],
            slowdown=np.array([float(factor) for factor in rules.slowdown]),
            most_jobs=rules.most_jobs(len(round_.resources)),
            charge=np.zeros(len(models)),
            submitted=np.array([job.submitted or 0.0 for job in round_.jobs]),
            spot=regions.kind,
            meet=regions.together() if regions.are_asked else None,
        )

    @property
    def sizes(self) -> Ints:
        """The GPU counts that groups are looked at with first."""
        return self.counts[self.grid]

    def alone(self, jobs: Ints) -> Floats:
        """Return ``[..., k]``, what each of the jobs adds alone on ``counts[k]`` GPUs, 0 where it cannot have them."""
        value: Floats = self.work[jobs][..., None] * self.rate[self.kind[jobs]]
        return value - self.charge[jobs][..., None] * self.counts if self.charge.any() else value

    def position(self, gpus: Ints | int) -> Ints:
        """Return where numbers of GPUs are among the ``counts``; 0 for one that is not there."""
        at = np.minimum(np.searchsorted(self.counts, gpus), len(self.counts) - 1)
        return np.where(self.counts[at] == gpus, at, 0)

    def pairs(self, jobs: Ints) -> NDArray[Any]:
        """Return ``[s, b, i, j]``, what two jobs of each row b add on the s-th size, 0 where they cannot share it."""
        value = self._pair_speeds(jobs)
        able = self.shares[jobs]
        both = able[:, :, None] & able[:, None, :]
        if self.meet is not None:
            both &= self.meet[self.spot[jobs][:, :, None], self.spot[jobs][:, None, :]]
        work, charge = self.work[jobs].astype(np.float32), self.charge[jobs].astype(np.float32)
        together, paid = work[:, :, None] + work[:, None, :], charge[:, :, None] + charge[:, None, :]
        factor = np.float32(1 / self.slowdown[1])
        all_able, charged = both.all(), self.charge.any()
        for speed, gpus in zip(value, self.sizes.astype(np.float32), strict=True):
            speed *= factor
            if not all_able:
                speed *= both
            speed *= together
            if charged:
                speed -= paid * gpus
        return value

    def _pair_speeds(self, jobs: Ints) -> NDArray[np.float32]:
        """Return ``[s, b, i, j]``, iterations a nanosecond of two jobs of each row b on the s-th size."""
        kinds, of = np.unique(self.kind[jobs], return_inverse=True)
        of = of.reshape(jobs.shape)
        times = np.moveaxis(self.stages[:, kinds][:, :, self.grid], 2, 1)
        if len(kinds) ** 2 <= jobs.size * jobs.shape[1]:  # few models: each two of them once
            each: NDArray[Any] = 1.0 / least_pair_period(times)
            both_of = of[:, :, None] * len(kinds) + of[:, None, :]
            return each.reshape(len(each), -1).take(both_of, axis=1)
        speed = np.empty((len(self.grid), *jobs.shape, jobs.shape[1]), dtype=np.float32)
        for first in range(0, len(jobs), _ROWS):
            mine = times.take(of[first : first + _ROWS], axis=2)  # in this order in memory, too
            for size, part in enumerate(speed[:, first : first + _ROWS]):
                own = mine[:, size]
                np.divide(1.0, least_pair_period(own), out=part)
        return speed

    def groups(self, members: Ints) -> Floats:
        """Return ``[u, k]``, what each group of the jobs in a row of ``members`` adds on ``counts[k]`` GPUs."""
        count = members.shape[1]
        period = least_period([self.stages[:, self.kind[members[:, j]]] for j in range(count)]).astype(np.float64)
        value: Floats = self.work[members].sum(axis=1)[:, None] / (period * self.slowdown[count - 1])
        return value - self.charge[members].sum(axis=1)[:, None] * self.counts if self.charge.any() else value

    def groups_on(self, members: Ints, at: Ints) -> Floats:
        """Return what each group of a row of ``members`` adds on one of the ``counts``, that at the place ``at[u]``."""
        count = members.shape[1]
        period = least_period([self.stages[:, self.kind[members[:, j]], at] for j in range(count)]).astype(np.float64)
        value: Floats = self.work[members].sum(axis=1) / (period * self.slowdown[count - 1])
        return value - self.charge[members].sum(axis=1) * self.counts[at] if self.charge.any() else value

    def joined(self, cores: Ints, others: Ints, at: Ints) -> Floats:
        """Return ``[b, c, s, o]``, what job ``others[b, o]`` and the jobs ``cores[b, c]`` add together.

        They are looked at with the GPU counts ``at[b, c, s]``, by their places among the ``counts``.
        """
        size = cores.shape[2]
        each = [self.stages[:, self.kind[cores[:, :, j]][:, :, None], at][..., None] for j in range(size)]
        used, of = np.unique(at, return_inverse=True)
        theirs = np.ascontiguousarray(np.swapaxes(self.stages[:, :, used][:, self.kind[others]], 2, 3))
        last = theirs[:, np.arange(len(at))[:, None, None], of.reshape(at.shape)]
        period = least_period([*each, last]) * np.float32(self.slowdown[size])
        work = self.work[cores].sum(axis=2)[:, :, None] + self.work[others][:, None, :]
        value: Floats = work[:, :, None, :] / period
        if self.meet is not None:
            spots = self.spot[others][:, None, None, :]
            meet: NDArray[np.bool_] = np.asarray(self.meet[self.spot[cores][..., None], spots].all(axis=2))
            value = value * meet[:, :, None, :]
        if self.charge.any():
            charge = self.charge[cores].sum(axis=2)[:, :, None] + self.charge[others][:, None, :]
            value = value - charge[:, :, None, :] * self.counts[at][..., None]
        return value


def _stage_times(models: Models, period: Floats, resources: int) -> NDArray[np.float32]:
    """Return ``[r, t, k]``: nanoseconds of the stages in each period, infinite where a job cannot share."""
    times = np.full((max(1, resources), *period.shape), np.inf, dtype=np.float32)
    able = slice(None) if models.shares.all() else np.flatnonzero(models.shares)
    if models.shares.any():
        part = (models.stages[able] / models.base[able, None]).astype(np.float64)
        own, never = period[able], period[able] == 0
        for stage, each in enumerate(part.T):
            filled = np.ceil(own * each[:, None])
            filled[never] = np.inf
            times[stage, able] = filled
    return times
