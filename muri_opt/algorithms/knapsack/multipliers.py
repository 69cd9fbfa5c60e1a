"""Multipliers of the capacities, and what they prove: a bound and the price of every option, in exact integers.

Lagrangian relaxation of the capacities (Geoffrion 1974). For any prices l >= 0 the sum over jobs of max(0, max_c (v_jc
- l.a_jc)), plus l times the capacities, is at least what any answer is worth (weak duality); prices are put over one
denominator so that the sum is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muri_opt.algorithms.knapsack.options import Options
from muri_opt.algorithms.knapsack.smoothed_dual import good_prices
from muri_opt.errors import InputError

_EXACT = 1 << 52
"""Whole numbers up to this size, and their sums, are exact even in floats."""
_FINEST = 20
_ENOUGH = 0.25
"""What the search for multipliers may leave open, in units of the value; bounds are rounded down to whole units."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Priced:
    """Multipliers ``prices[r] / denominator`` of the capacities, and the bound they prove.

    All of the following is in units of 1 / ``denominator``. ``total`` is sum_j max(0, max_c (v_jc - l.a_jc)) +
    l.capacity. ``loss[o]`` is by how much that falls when its job is made to take option o, and ``idle[j]`` when job j
    is made to wait; one of these is 0 for every job. Choices spread over the options by exp(-loss / ``spread``) take,
    on average, about what there is. int64 where ``exact`` says that all sums are far from overflow, Python integers
    elsewhere.

    >>> options = Options.of([0, 0, 1], [5, 7, 4], [[1], [2], [1]], [2], jobs=2)
    >>> lagrangian(options).bound
    9
    """

    denominator: int
    prices: tuple[int, ...]
    total: int
    loss: NDArray[Any]
    idle: NDArray[Any]
    exact: bool
    spread: float

    @property
    def bound(self) -> int:
        """What no choice can be worth more than."""
        return self.total // self.denominator

    def gap(self, value: int) -> int:
        """Return the most that a choice worth more than ``value`` can lose, below 0 if there is none such."""
        return self.total - self.denominator * (value + 1)


def lagrangian(options: Options, *, sampled: bool = False) -> Priced:
    """Return nearly the best multipliers there are, and what they prove.

    With ``sampled`` those of many jobs are found from samples of them: sooner, and they prove a little less.

    >>> options = Options.of([0, 0, 1], [5, 7, 4], [[1], [2], [1]], [2], jobs=2)
    >>> lagrangian(options).bound
    9
    """
    scale = int(options.value.max(initial=0))
    tight = np.flatnonzero(options.use.max(axis=0, initial=0) > 0)
    prices, heat = np.zeros(len(options.capacity)), 1.0
    if scale > 0 and len(tight):
        has = np.maximum(options.capacity[tight], 1)
        uses = np.ascontiguousarray((options.use[:, tight] / has).T)
        owner = options.job.astype(np.intp)
        found, heat = good_prices(options.value / scale, uses, owner, _ENOUGH / scale, sampled=sampled)
        prices[tight] = found * (scale / has)
    finest = _EXACT // (1 + _reach(options, 1, [int(np.ceil(price)) for price in prices.tolist()]))
    denominator = 1 << min(_FINEST, max(finest.bit_length() - 1, 0))
    spread = max(1.0, heat * scale * denominator)
    return priced(options, denominator, [round(price * denominator) for price in prices.tolist()], spread)


def priced(options: Options, denominator: int, prices: list[int], spread: float = 1.0) -> Priced:
    """Return what given multipliers of at least 0 prove.

    >>> options = Options.of([0, 0, 1], [5, 7, 4], [[1], [2], [1]], [2], jobs=2)
    >>> priced(options, 1, [4]).bound
    9
    """
    if len(prices) != len(options.capacity) or min(prices, default=0) < 0 or denominator < 1:
        found = f"{prices} over {denominator}"
        raise InputError("prices", found, f"{len(options.capacity)} whole numbers of at least 0 over one of at least 1")
    exact = _reach(options, denominator, prices) < _EXACT
    kind: Any = np.int64 if exact else object
    net = options.value.astype(kind) * denominator
    for resource, price in enumerate(prices):
        net = net - options.use[:, resource].astype(kind) * price
    best = np.zeros(options.jobs, dtype=kind)
    if len(options):
        starts = np.flatnonzero(np.append(True, options.job[1:] != options.job[:-1]))
        best[options.job[starts]] = np.maximum(np.maximum.reduceat(net, starts), 0)
    paid = sum(price * has for price, has in zip(prices, options.capacity.tolist(), strict=True))
    return Priced(
        denominator=denominator,
        prices=tuple(prices),
        total=sum(best.tolist()) + paid,
        loss=best[options.job] - net,
        idle=best,
        exact=exact,
        spread=spread,
    )


def _reach(options: Options, denominator: int, prices: list[int]) -> int:
    """Return more than any sum over all jobs, of values at these prices or of one resource, can be."""
    value = max(int(options.value.max(initial=0)), -int(options.value.min(initial=0)))
    takes: list[int] = options.use.max(axis=0, initial=0).tolist()
    most = denominator * value + sum(price * use for price, use in zip(prices, takes, strict=True))
    has: list[int] = options.capacity.tolist()
    paid = sum(price * amount for price, amount in zip(prices, has, strict=True))
    return (options.jobs + 1) * max([most, *takes, *has]) + paid
