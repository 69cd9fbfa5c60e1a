"""Good multipliers, in floats: Newton's method on a smoothed Lagrangian dual, at falling temperatures.

With prices l >= 0 of the resources, the dual is g(l) = sum_j max(0, max_c (v_jc - l.a_jc)) + l.capacity, convex and
piecewise linear in as many variables as there are resources. At temperature t every maximum becomes
t log(1 + sum_c exp((v_jc - l.a_jc) / t)), which is smooth, has a Hessian as small as the resources are few, and is
never more than t log(1 + options) above the maximum. Each temperature starts where the last one ended, and options far
below the maximum of their job, whose weight is nothing, are left out as the temperature falls. What comes out is only
good, not proved: any multipliers give a bound, and the bound is computed elsewhere, in integers.

Smoothing by entropy (log-sum-exp) with continuation in the temperature; Newton's steps are damped, projected on prices
of at least 0, and shortened until they help.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Positions = NDArray[np.intp]
_HOT, _COLD, _COOLING = 0.3, 1e-9, 0.25
"""Temperatures, as shares of the largest value, and the factor from one to the next."""
_REACH = 20.0
"""Temperatures below the maximum at which an option is left out: exp(-20) is 2e-9."""
_STEPS, _HALVINGS = 30, 6
_DAMPINGS = (1e-9, 1e-4, 1e-1, 1e2)
"""Shares of the curvature added to it in every direction, each tried where no step with the one before helps."""
_CLOSE = 0.05
"""A temperature is done when Newton's method promises less than this share of it."""
_SAMPLES = ((250, 3e-3), (2_500, 3e-4))
"""Sizes of the samples of jobs with which large programs begin, and the temperatures to which they are cooled."""


class Smoothed(NamedTuple):
    """The dual and the smoothed dual at some prices, with the weights of options and their sums by job."""

    plain: float
    value: float
    weight: Floats
    total: Floats


@dataclass(slots=True, kw_only=True, eq=False)
class Dual:
    """The dual over some of the options, scaled: values by the largest, uses by the capacities.

    Jobs of which one option (or waiting) is all that is left are kept as two sums, ``constant`` and ``linear``, what
    they are worth and what they take. ``weight`` is how many jobs each job stands for.
    """

    starts: Positions
    value: Floats
    use: Floats
    waits: NDArray[np.bool_]
    weight: float = 1.0
    constant: float = 0.0
    linear: Floats
    sizes: Positions = field(init=False)
    owner: Positions = field(init=False)
    """The job of each option."""

    def __post_init__(self) -> None:
        self.sizes = np.diff(self.starts, append=len(self.value))
        self.owner = np.repeat(np.arange(len(self.starts)), self.sizes)

    def reduced(self, prices: Floats) -> tuple[Floats, Floats]:
        """Return value minus price of each option, and the largest of each job (0 for waiting, where it may wait)."""
        net = self.value - prices @ self.use
        if not len(self.starts):
            return net, np.zeros(0)
        most = np.maximum.reduceat(net, self.starts)
        return net, np.where(self.waits, np.maximum(most, 0.0), most)

    def plain(self, prices: Floats) -> float:
        """Return the dual itself."""
        return self._total(prices, self.reduced(prices)[1])

    def smooth(self, prices: Floats, heat: float) -> Smoothed:
        """Return the dual and the smoothed dual."""
        net, most = self.reduced(prices)
        weight = np.exp((net - most[self.owner]) / heat)
        total = np.where(self.waits, np.exp(np.where(self.waits, -most, 0.0) / heat), 0.0)
        if len(self.starts):
            total += np.add.reduceat(weight, self.starts)
        dual = self._total(prices, most)
        smoothed = dual + self.weight * heat * float(np.log(total).sum())
        return Smoothed(dual, smoothed, weight, total)

    def slopes(self, there: Smoothed, heat: float) -> tuple[Floats, Floats]:
        """Return gradient and Hessian of the smoothed dual."""
        share = self.use * (there.weight / there.total[self.owner])
        mean = np.add.reduceat(share, self.starts, axis=1) if len(self.starts) else share
        gradient = 1.0 - self.linear - self.weight * mean.sum(axis=1)
        return gradient, self.weight * (self.use @ share.T - mean @ mean.T) / heat

    def near(self, prices: Floats, reach: float) -> Dual:
        """Return the dual without the options that are more than ``reach`` below the largest of their job."""
        net, most = self.reduced(prices)
        waits, owner = self.waits & (most <= reach), self.owner
        kept = net >= most[owner] - reach
        count = np.bincount(owner[kept], minlength=len(self.starts))
        settled = kept & ((count == 1) & ~waits)[owner]
        open_ = count + waits > 1
        sizes = count[open_]
        kept &= open_[owner]
        return Dual(
            starts=np.cumsum(sizes) - sizes,
            value=self.value[kept],
            use=self.use[:, kept],
            waits=waits[open_],
            weight=self.weight,
            constant=self.constant + self.weight * float(self.value[settled].sum()),
            linear=self.linear + self.weight * self.use[:, settled].sum(axis=1),
        )

    def _total(self, prices: Floats, most: Floats) -> float:
        fixed = self.constant + float(prices.sum() - prices @ self.linear)
        return fixed + self.weight * float(most.sum())


def good_prices(
    value: Floats, use: Floats, job: Positions, enough: float, *, sampled: bool = False
) -> tuple[Floats, float]:
    """Return prices that nearly minimise the dual of scaled options (``use`` has a row per resource).

    The search ends where smoothing adds less than ``enough``. The second number is the temperature at which these
    prices were found: choices spread over the options by it take, on average, just about what there is. With
    ``sampled`` the samples with which large programs begin are all that is looked at.
    """
    starts = np.flatnonzero(np.append(True, job[1:] != job[:-1]))
    full = _dual(value, use, starts, 1.0)
    prices = np.full(len(use), full.plain(np.zeros(len(use))) / (2 * len(use)))
    heat = _HOT
    for size, coldest in _SAMPLES:
        if len(starts) > 2 * size:
            drawn = np.zeros(len(starts), dtype=np.bool_)
            drawn[:: len(starts) // size] = True
            kept = np.repeat(drawn, full.sizes)
            sizes = full.sizes[drawn]
            sample = _dual(value[kept], use[:, kept], np.cumsum(sizes) - sizes, len(starts) / len(sizes))
            prices, heat = _cooled(sample, prices, heat, enough, coldest)
    if sampled and heat < _HOT:
        return prices, heat
    return _cooled(full, prices, heat, enough, _COLD)


def _dual(value: Floats, use: Floats, starts: Positions, weight: float) -> Dual:
    waits = np.ones(len(starts), dtype=np.bool_)
    return Dual(starts=starts, value=value, use=use, waits=waits, weight=weight, linear=np.zeros(len(use)))


def _cooled(full: Dual, prices: Floats, heat: float, enough: float, coldest: float) -> tuple[Floats, float]:
    """Return the best prices met while cooling down, and the temperature at which they were met."""
    best, least, when = prices, full.plain(prices), heat
    dual = full.near(prices, 4 * _REACH * heat)
    while heat > coldest:
        prices, added = _newton(dual, prices, heat)
        value = full.plain(prices)
        if value < least:
            best, least, when = prices, value, heat
        too_narrow = value > dual.plain(prices) + 1e-12 * abs(value)
        if added < enough and not too_narrow:
            break
        dual = (full if too_narrow else dual).near(prices, _REACH * heat)
        heat *= _COOLING
    return best, when


def _newton(dual: Dual, prices: Floats, heat: float) -> tuple[Floats, float]:
    """Return prices that nearly minimise the smoothed dual over l >= 0, and what smoothing adds there."""
    here = dual.smooth(prices, heat)
    for _ in range(_STEPS):
        slope, curve = dual.slopes(here, heat)
        moved = next(filter(None, (_moved(dual, prices, heat, here.value, slope, curve, d) for d in _DAMPINGS)), None)
        if moved is None:
            break
        prices, here, small = moved
        if small:
            break
    return prices, here.value - here.plain


def _moved(
    dual: Dual, prices: Floats, heat: float, value: float, slope: Floats, curve: Floats, damping: float
) -> tuple[Floats, Smoothed, bool] | None:
    """Return prices after a step, the smoothed dual there, and whether little is left; ``None`` if no step helps.

    Where one resource is taken in proportion to another, their prices can be exchanged without any curvature, and only
    a damped step stays where the slope means something.
    """
    free = (prices > 0) | (slope < 0)
    step = np.zeros(len(prices))
    inner = np.ascontiguousarray(curve[free][:, free])
    inner.reshape(-1)[:: len(inner) + 1] += damping * inner.trace() + 1e-100
    try:
        step[free] = -np.linalg.solve(inner, slope[free])
    except np.linalg.LinAlgError:  # where every job has settled, what is left of the curvature is rounding errors
        return None
    small = -float(slope @ step) < _CLOSE * heat
    for _ in range(_HALVINGS):
        there = np.maximum(prices + step, 0.0)
        found = dual.smooth(there, heat)
        if found.value <= value + 1e-4 * float(slope @ (there - prices)):
            return there, found, small
        step = step / 4
    return None
