"""What GPUs that cost something bound: the sum of completion times by weak duality, at any prices over time.

At a price of every GPU second each job ends when that is cheapest for itself: its completion time and what its GPUs
cost until then. The sum of that over all jobs, less what all GPUs cost, is no more than the sum of completion times of
any schedule, since a schedule takes no more GPUs than there are.

For one job: with a price lambda and a worth p of a second of its fastest work, the most it gains a second is
psi(p, lambda) = max over its curve of p rate - lambda gpus, or nothing. If it ends in the cell e of the prices, its
cost is at least

    begin(e) - submitted + p fastest - (integral of psi until then) - width(e) max(0, psi(p, lambda_e) - 1)

for every p, and at the best p no less than it is. So any set of worths gives a bound, and only their number is a matter
of how good it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from muri_opt.replay.bounds.job_curves import Curve, JobCurves
from muri_opt.replay.outcome import Floats, Ints

_CHUNK: Final = 2_000_000
"""How many numbers are looked at at once."""
_HURRIED: Final = 5
"""How many worths are tried above all those at which a job ends where it likes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Priced:
    """``total`` is no more than the sum of completion times of any schedule.

    ``excess`` are the seconds of every cell and resource that jobs would take at these prices, less those of all GPUs:
    where it is positive a larger price raises the total.
    """

    total: float
    excess: Floats


class PriceFunction:
    """Jobs in cells of time from ``bounds[i]`` to ``bounds[i + 1]``, after which GPUs are free, on ``gpus`` GPUs.

    Prices are given by cell and resource.
    """

    def __init__(self, jobs: JobCurves, bounds: Floats, gpus: int, worths: int) -> None:
        self._jobs, self._bounds, self._gpus, self._worths = jobs, bounds, gpus, worths
        self.widths: Floats = np.diff(bounds)
        self._cell = np.searchsorted(bounds, jobs.submitted, side="right") - 1
        self._by_curve = [np.flatnonzero(jobs.of == place) for place in range(len(jobs.curves))]

    def at(self, prices: Floats) -> Priced:
        """Return the bound at prices of cells and resources, none of them negative, and what it lacks."""
        taken = np.zeros(prices.shape)
        total = -self._gpus * float((prices * self.widths[:, None]).sum())
        for curve, members in zip(self._jobs.curves, self._by_curve, strict=True):
            paid, mine = prices @ curve.uses, np.zeros(len(prices))
            levels = np.unique(np.quantile(paid, np.linspace(0, 1, self._worths - 1)))
            shape = _Shape.of(curve, np.append(paid, 0.0), np.append(0.0, levels), self.widths)
            for some in self._chunks(members, shape):
                total += self._ended(shape, some, mine)
            taken += mine[:, None] * curve.uses
        return Priced(total=total, excess=taken - self._gpus * self.widths[:, None])

    def _chunks(self, members: Ints, shape: _Shape) -> Iterator[Ints]:
        size = max(1, _CHUNK // shape.gain.size)
        for first in range(0, len(members), size):
            yield members[first : first + size]

    def _ended(self, shape: _Shape, jobs: Ints, taken: Floats) -> float:
        """Return the least costs of jobs of one curve, and add the GPU seconds that they take."""
        begin, fastest, cell = self._jobs.submitted[jobs], self._jobs.fastest[jobs], self._cell[jobs]
        cells, ends = len(self.widths), np.append(self._bounds[1:], np.inf)
        first = ends[cell] - begin  # what is left of the cell in which a job is submitted
        at = np.arange(cells + 1)
        later = at[None] > cell[:, None]
        # Time from the submission to the beginning of the cell, [job, cell]; the gain by then, [job, cell, worth].
        waited = np.where(later, self._bounds[at] - begin[:, None], 0.0)
        inner = np.where(np.isfinite(first), first, 0.0)[:, None] * shape.gain[cell]
        gained = shape.sum[None] - shape.sum[np.minimum(cell + 1, cells)][:, None] + inner[:, None]
        wide = np.where(later, np.append(self.widths, np.inf)[None], first[:, None])
        over = np.maximum(0.0, shape.gain - 1.0)
        with np.errstate(invalid="ignore"):
            last = np.where(over > 0, wide[:, :, None] * over, 0.0)
        cost = shape.worth * fastest[:, None, None] - np.where(later[:, :, None], gained, 0.0) - last
        best = cost.max(axis=2) + waited
        best[(at[None] < cell[:, None]) | (ends[None] - begin[:, None] < fastest[:, None])] = np.inf
        end = best.argmin(axis=1)
        self._take(shape, jobs, end, first, wide[np.arange(len(jobs)), end], taken)
        return float(best[np.arange(len(jobs)), end].sum())

    def _take(self, shape: _Shape, jobs: Ints, end: Ints, first: Floats, wide: Floats, taken: Floats) -> None:
        """Add the GPU seconds of jobs that end in these cells: a mixture of two worths that does just their work."""
        cell, row = self._cell[jobs], np.arange(len(jobs))
        inside = np.where(np.isfinite(first), first, 0.0)[:, None]
        done = shape.work_sum[end] - shape.work_sum[np.minimum(cell + 1, len(shape.work_sum) - 1)]
        done = np.where((end > cell)[:, None], done + inside * shape.work[cell], 0.0)
        runs = shape.gain[end] >= 1.0 - 1e-12
        with np.errstate(invalid="ignore"):
            done += np.where(runs, wide[:, None] * shape.work[end], 0.0)
        fastest = self._jobs.fastest[jobs]
        high = np.minimum((done < fastest[:, None]).sum(axis=1), done.shape[1] - 1)
        low = np.maximum(high - 1, 0)
        less, more = done[row, low], done[row, high]
        with np.errstate(invalid="ignore", divide="ignore"):
            part = np.clip(np.where(more > less, (fastest - less) / (more - less), 1.0), 0.0, 1.0)
        part = np.where(np.isfinite(more), part, 0.0)
        for worth, share in ((low, 1.0 - part), (high, part)):
            weights = np.zeros((len(shape.gain) + 1, shape.gain.shape[1]))
            whole = end > cell + 1
            np.add.at(weights, (cell[whole] + 1, worth[whole]), share[whole])
            np.add.at(weights, (end[whole], worth[whole]), -share[whole])
            taken += (weights.cumsum(axis=0)[: len(taken)] * shape.gpus[: len(taken)]).sum(axis=1) * self.widths
            begun = end > cell
            np.add.at(taken, cell[begun], (share * inside[:, 0] * shape.gpus[cell, worth])[begun])
            closes = runs[row, worth] & (end < len(taken))
            np.add.at(taken, end[closes], (share[closes] * wide[closes] * shape.gpus[end[closes], worth[closes]]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Shape:
    """One curve at all prices and worths, ``[cell, worth]``: what is gained a second, the work and the GPUs of it.

    ``sum`` and ``work_sum`` are what is gained and done from the beginning to the beginning of each cell.
    """

    worth: Floats
    gain: Floats
    work: Floats
    gpus: Floats
    sum: Floats
    work_sum: Floats

    @classmethod
    def of(cls, curve: Curve, prices: Floats, levels: Floats, widths: Floats) -> _Shape:
        """Return the curve at the prices of the cells.

        Worths are those of jobs that end at the levels of the price, and some up to the one at which every GPU pays.
        """
        ending = ((1 + levels[:, None] * curve.gpus) / curve.rate).min(axis=1)
        rate, gpus = np.append(0.0, curve.rate), np.append(0.0, curve.gpus)
        hurried = max(float(levels.max()) * float((np.diff(gpus) / np.diff(rate)).max()), 1.0) + 1.0
        worth = np.unique(np.append(ending, np.geomspace(ending.max(), max(hurried, ending.max()), _HURRIED)))
        each = worth[None, :, None] * rate - prices[:, None, None] * gpus
        best = each.argmax(axis=2)
        gain, work = each.max(axis=2), rate[best]
        above = np.zeros((1, len(worth)))
        return cls(
            worth=worth,
            gain=gain,
            work=work,
            gpus=gpus[best],
            sum=np.concatenate([above, (gain[:-1] * widths[:, None]).cumsum(axis=0)]),
            work_sum=np.concatenate([above, (work[:-1] * widths[:, None]).cumsum(axis=0)]),
        )
