"""What jobs offer for GPUs, alone and in groups, as arrays: floats, for the search only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.joint.groups.kind_order import KindOrder
from muri_opt.systems.joint.jobs.cyclic_period import least_pair_period, least_period
from muri_opt.systems.joint.jobs.job_model import Floats
from muri_opt.systems.joint.jobs.models import Models
from muri_opt.systems.joint.jobs.worth import Worth
from muri_opt.systems.joint.nodes.regions import Regions
from muri_opt.systems.joint.rules import JointRules

_GRID = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
_FEW_PAIRS = 131_072
"""Pairs and sizes up to which all sizes are looked at together."""
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
    nodes, ``order`` says who may share, or may do so if ``confined`` wherever one of them may be alone. Offers are
    ``full`` if nobody runs faster in a group than alone, and ``rough`` if they are for few numbers of GPUs, to be
    looked at again for all.
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
    order: KindOrder
    full: bool
    rough: bool
    confined: bool = False

    @classmethod
    def of(cls, round_: Round, models: Models, worth: Worth, rules: JointRules, *, rough: bool = False) -> Offers:
        """Return the offers of all jobs of a round where each goes on as it is, or starts.

        They are for all numbers of GPUs, or if ``rough`` for few.
        """
        grid = grid_counts(models)
        counts = np.append(0, grid if rough else models.counts)
        period = models.period.take(counts, axis=1).astype(np.float64)
        period[period == 0] = np.inf
        return cls(
            kind=models.kind,
            work=worth.work.astype(np.float64) / worth.unit,
            counts=counts,
            rate=1.0 / period,
            grid=np.flatnonzero(np.isin(counts, grid)),
            stages=_stage_times(models, period, len(round_.resources)),
            shares=models.shares[models.kind],
            slowdown=np.array([float(factor) for factor in rules.slowdown]),
            most_jobs=rules.most_jobs(len(round_.resources)),
            charge=np.zeros(len(models)),
            submitted=np.array([job.submitted or 0.0 for job in round_.jobs]),
            order=KindOrder(Regions.of(round_)),
            full=rules.full,
            rough=rough,
        )

    @property
    def meet(self) -> NDArray[np.bool_] | None:
        """Kinds of which ranks may share; ``None`` for all."""
        return self.order.nested if self.confined else self.order.meet

    @property
    def sizes(self) -> Ints:
        """The GPU counts that groups are looked at with first."""
        return self.counts[self.grid]

    @property
    def coarse_grid(self) -> Ints:
        """The places in the grid of powers of two; all of it where it has few or none."""
        powers = np.flatnonzero((self.sizes & (self.sizes - 1)) == 0)
        return self.grid[powers] if len(powers) > 1 else self.grid

    @property
    def float_counts(self) -> Floats:
        """The counts as floats: to multiply many floats by whole numbers takes twice as long."""
        return self.counts.astype(np.float64)

    def alone(self, jobs: Ints) -> Floats:
        """Return ``[..., k]``, what each of the jobs adds alone on ``counts[k]`` GPUs, 0 where it cannot have them."""
        value: Floats = self.work[jobs][..., None] * self.rate[self.kind[jobs]]
        return value - self.charge[jobs][..., None] * self.float_counts if self.charge.any() else value

    def position(self, gpus: Ints | int) -> Ints:
        """Return where numbers of GPUs are among the ``counts``; 0 for one that is not there."""
        at = np.minimum(np.searchsorted(self.counts, gpus), len(self.counts) - 1)
        return np.where(self.counts[at] == gpus, at, 0)

    def pairs(self, jobs: Ints, able: NDArray[np.bool_], reach: Ints | None = None) -> NDArray[np.float32]:
        """Return ``[s, b, i, j]``, what two able jobs of each row b add on the s-th size, 0 where they cannot share it.

        Where a ``reach`` is given, pairs of a row with one of the jobs from place ``reach[s, b]`` on may be left out.
        """
        both = able[:, :, None] & able[:, None, :]
        if self.meet is not None:
            rank = self.order.rank[jobs]
            both &= self.meet.ravel().take((len(self.meet) * rank)[:, :, None] + rank[:, None, :])
        work = self.work[jobs].astype(np.float32)
        together = work[:, :, None] + work[:, None, :]
        if not both.all():
            together *= both
        value = self._pair_values(jobs, together, reach)
        if self.charge.any():
            charge = self.charge[jobs].astype(np.float32)
            paid = charge[:, :, None] + charge[:, None, :]
            for own, gpus in zip(value, self.sizes.astype(np.float32), strict=True):
                own -= paid * gpus
        return value

    def _pair_values(self, jobs: Ints, together: NDArray[np.float32], reach: Ints | None) -> NDArray[np.float32]:
        """Return ``[s, b, i, j]``, what is worth ``together[b, i, j]`` an iteration over the period of both."""
        of, models, factor = self.kind[jobs], len(self.rate), np.float32(1 / self.slowdown[1])
        times = np.ascontiguousarray(np.moveaxis(self.stages[:, :, self.grid], 2, 1))
        if models**2 <= jobs.size * jobs.shape[1]:  # few models: each two of them once
            each: NDArray[Any] = 1.0 / least_pair_period(times) * factor
            known: NDArray[Any] = each.reshape(len(each), -1).take(of[:, :, None] * models + of[:, None, :], axis=1)
            known *= together
            return known
        if reach is None and len(self.grid) * together.size <= _FEW_PAIRS:
            every: NDArray[Any] = 1.0 / least_pair_period(times.take(of, axis=2)) * factor
            every *= together
            return every
        value = np.zeros((len(self.grid), *together.shape), dtype=np.float32)
        for size, found in enumerate(value):
            widths = np.full(len(jobs), jobs.shape[1]) if reach is None else reach[size]
            for rows, width in _of_similar_width(widths):
                own = found[rows, :width, :width]
                np.divide(1.0, least_pair_period(times[:, size].take(of[rows, :width], axis=1)), out=own)
                if factor != 1:
                    own *= factor
                own *= together[rows, :width, :width]
        return value

    def groups(self, members: Ints) -> Floats:
        """Return ``[u, k]``, what each group of the jobs in a row of ``members`` adds on ``counts[k]`` GPUs."""
        count = members.shape[1]
        period = least_period([self.stages[:, self.kind[members[:, j]]] for j in range(count)]).astype(np.float64)
        value: Floats = self.work[members].sum(axis=1)[:, None] / (period * self.slowdown[count - 1])
        return value - self.charge[members].sum(axis=1)[:, None] * self.float_counts if self.charge.any() else value

    def groups_on(self, members: Ints, at: Ints) -> Floats:
        """Return what each group of a row of ``members`` adds on one of the ``counts``, that at the place ``at[u]``."""
        count = members.shape[1]
        if count == 1:
            alone: Floats = self.alone(members[:, 0])[np.arange(len(members)), at]
            return alone
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
        theirs = self.stages[:, self.kind[others][:, None, :], used[:, None]]
        last = theirs[:, np.arange(len(at))[:, None, None], of.reshape(at.shape)]
        period = least_period([*each, last]) * np.float32(self.slowdown[size])
        work = self.work[cores].sum(axis=2)[:, :, None] + self.work[others][:, None, :]
        value: Floats = work[:, :, None, :] / period
        if self.meet is not None:
            rank = self.order.rank
            with_all = self.meet[rank[cores]].all(axis=2)  # which ranks all members of a core can share with
            meet = np.take_along_axis(with_all, rank[others][:, None, :], axis=2)
            value *= meet[:, :, None, :]
        if self.charge.any():
            charge = self.charge[cores].sum(axis=2)[:, :, None] + self.charge[others][:, None, :]
            value = value - charge[:, :, None, :] * self.counts[at][..., None]
        return value


def grid_counts(models: Models) -> Ints:
    """Return the numbers of GPUs that groups are looked at with first: few, and those of jobs that have no choice."""
    asked = models.least[models.least == models.largest]
    return models.counts[np.isin(models.counts, [*_GRID, *np.unique(asked)])]


def _of_similar_width(widths: Ints) -> Iterator[tuple[slice, int]]:
    """Yield rows up to the last of more than half the largest width, then the others, at most ``_ROWS`` at a time.

    With them comes the largest width among them.
    """
    cut = int(np.flatnonzero(2 * widths > widths.max(initial=0))[-1:].sum()) + 1
    for first, last in ((0, cut), (cut, len(widths))):
        for start in range(first, last, _ROWS):
            rows = slice(start, min(start + _ROWS, last))
            if width := int(widths[rows].max()):
                yield rows, width


def _stage_times(models: Models, period: Floats, resources: int) -> NDArray[np.float32]:
    """Return ``[r, t, k]``: nanoseconds of the stages in each period, infinite as that is, or where none can share."""
    times = np.full((max(1, resources), *period.shape), np.inf, dtype=np.float32)
    able = slice(None) if models.shares.all() else np.flatnonzero(models.shares)
    if models.shares.any():
        part = (models.stages[able] / models.base[able, None]).astype(np.float64)
        own = period[able]
        for stage, each in enumerate(part.T):
            with np.errstate(invalid="ignore"):  # no time in an infinite period is not a number
                filled = np.ceil(own * each[:, None])
            times[stage, able] = filled if each.all() else np.where(np.isinf(own), np.inf, filled)
    return times
