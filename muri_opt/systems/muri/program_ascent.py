"""Prices of jobs where groups are few enough to list: feasible for every group, and lowered one after another.

At a price of GPUs each job at first pays an equal part of the dearest group that it can be in, which covers all groups.
Then its price falls, first by half of what may go and at last by all, until it is in a group that pays no more than it
is worth: coordinate descent on the dual of the set packing program. The price of GPUs is searched for by its bound,
which is convex in it if prices of jobs are best; they are not quite, so that the best of some prices is taken.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from muri_opt.rounds import LinearDuals, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.muri.program_columns import GroupColumns
from muri_opt.systems.muri.program_duals import paid_besides, supply_besides

MOST_GROUPS: Final = 6_000
"""Groups up to which a first bound looks at all of them."""
_LARGEST: Final = 1 << 58
_SWEEPS: Final = 5
_PRICES: Final = 14
_GOLDEN: Final = (89, 144)
"""Two numbers of Fibonacci: where an interval is cut, in whole numbers."""


def listed_prices(round_: Round, columns: GroupColumns, linear: LinearDuals) -> LinearDuals | None:
    """Return prices of jobs that cover all listed groups, at the prices of CPUs, memory and quotas that are given.

    ``None`` where numbers are too large, and where the prices given prove as much.
    """
    scale = linear.denominator
    if int(np.abs(columns.value).max(initial=0)) * scale * len(columns.types.type_of) > _LARGEST:
        return None
    others = {label: prices for label, prices in linear.multipliers.items() if label not in ("once", "gpus")}
    worth = scale * columns.value - paid_besides(round_, columns, others)
    group, kind, times = columns.entries
    number = np.zeros((len(columns.groups), len(columns.types.count)), dtype=np.int64)
    number[group, kind] = times
    cover = _Cover(number=number, count=columns.types.count)
    total = round_.cluster.total_gpus
    bounds: dict[int, tuple[int, Ints]] = {}

    def bound(gpu: int) -> int:
        if gpu not in bounds:
            prices = cover.prices(worth - gpu * columns.gpus)
            bounds[gpu] = int(prices @ columns.types.count) + gpu * total, prices
        return bounds[gpu][0]

    low, high = 0, int((worth // np.maximum(columns.gpus, 1)).max(initial=0))
    for _ in range(_PRICES):
        left, right = (low + (high - low) * part // sum(_GOLDEN) for part in _GOLDEN)
        low, high = (low, right) if bound(left) <= bound(right) else (left, high)
    gpu = min(bounds, key=lambda price: (bounds[price][0], price))
    (given,) = linear.multipliers["gpus"]
    besides = supply_besides(round_, others)
    if bounds[gpu][0] + besides >= sum(linear.multipliers["once"]) + given * total + besides:
        return None
    once = tuple(bounds[gpu][1][columns.types.type_of].tolist())
    return LinearDuals(denominator=scale, multipliers={"once": once, "gpus": (gpu,), **others})


class _Cover:
    """How many jobs of each type are in each group, and how many of each there are."""

    def __init__(self, *, number: Ints, count: Ints) -> None:
        self._number, self._count = number, count
        self._jobs = number.sum(axis=1)
        self._with = [np.flatnonzero(number[:, kind]) for kind in range(number.shape[1])]

    def prices(self, need: Ints) -> Ints:
        """Return prices of types at which every group pays what it needs."""
        part = -(-np.maximum(need, 0) // np.maximum(self._jobs, 1))
        prices = np.array([int(part[some].max(initial=0)) for some in self._with], dtype=np.int64)
        paid = self._number @ prices
        line = np.argsort(-prices * self._count, kind="stable").tolist()
        for sweep in range(_SWEEPS):
            for kind in line:
                some = self._with[kind]
                if len(some) and prices[kind]:
                    times = self._number[some, kind]
                    spare = int(((paid[some] - need[some]) // times).min())
                    fall = min(int(prices[kind]), spare if sweep == _SWEEPS - 1 else spare // 2)
                    prices[kind] -= fall
                    paid[some] -= fall * times
        return prices
