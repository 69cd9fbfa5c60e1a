"""What no choice of jobs is worth more than, by a price of a GPU: for clusters too large to count GPU by GPU.

Let a GPU have a price. Whoever uses it pays it, and all that is paid is at most the price of all GPUs there are. A GPU
within a quota adds a premium; of it a part may be granted to every GPU of the tenant, and the rest to every GPU of the
quota, used or not. Then the value is at most the price of all GPUs, the rest of the premium of all quotas, and what
each job is worth above what it pays, if that is anything. Any price and any parts give a bound, so that they are looked
for in floats and used in whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.verify.amounts import beyond_floats, word_for


class TenantJobs(NamedTuple):
    """Jobs of one tenant, each with its GPUs and its value; a ``premium`` is added for each of up to ``most`` GPUs."""

    gpus: Sequence[int]
    values: Sequence[int]
    premium: int
    most: int


def priced_best(total: int, tenants: Sequence[TenantJobs]) -> int:
    """Return what no jobs that have at most so many GPUs together are worth more than, each all its GPUs or none.

    >>> priced_best(3, [TenantJobs((2, 2), (8, 6), 1, 2)])
    13
    """
    some = [one for one in tenants if len(one.gpus)]
    largest = max((max(one.premium, *map(abs, one.values)) for one in some), default=0)
    shift = beyond_floats(largest)
    lines = [_Line(one, shift) for one in some]
    low, high = 0, max((line.dearest for line in lines), default=0) >> shift
    while low < high:  # the least price at which no more GPUs are wanted than there are
        middle = (low + high) // 2
        if sum(line.wanted(middle << shift) for line in lines) <= total:
            high = middle
        else:
            low = middle + 1
    prices = {low << shift, max(0, low - 1) << shift}
    return min(price * total + sum(line.profit(price) for line in lines) for price in prices)


class _Line:
    """The jobs of one tenant, those with the most for a GPU first: told in floats, in a unit of 2 to the ``shift``."""

    def __init__(self, jobs: TenantJobs, shift: int) -> None:
        gpus, values = jobs.gpus, jobs.values
        self._premium, self._most, self._shift = jobs.premium, jobs.most, shift
        each = np.array([(value >> shift) / size for value, size in zip(values, gpus, strict=True)])
        order = np.argsort(-each, kind="stable")
        self._falling: NDArray[np.float64] = -each[order]
        self._used = np.concatenate([[0], np.cumsum(np.array(gpus, dtype=np.int64)[order])])
        self.dearest = max(0, ((int(-self._falling[0]) + 2) << shift) + jobs.premium)
        self._gpus, self._values = gpus, values

    def wanted(self, price: int) -> int:
        """Return how many GPUs the tenant would use at a price: those within its quota cost it the premium less."""
        within, above = self._with_more_than(price - self._premium), self._with_more_than(price)
        return max(above, min(within, self._most))

    def profit(self, price: int) -> int:
        """Return no less than what any of the jobs are worth above a price, with what the quota adds."""
        part = self._granted(price)
        word = word_for(2 * len(self._gpus) * (max(map(abs, self._values)) + (price + part) * max(self._gpus)))
        above: NDArray[Any] = np.array(self._values, dtype=word)
        above -= (price - part) * np.array(self._gpus, dtype=word)
        return int(above[above > 0].sum()) + (self._premium - part) * self._most

    def _granted(self, price: int) -> int:
        """Return the part of the premium that every GPU of the tenant is granted, as it is best."""
        if self._with_more_than(price - self._premium) <= self._most:
            return self._premium
        if self._with_more_than(price) >= self._most:
            return 0
        at = int(np.searchsorted(self._used[1:], self._most, side="right"))
        last = int(-self._falling[min(at, len(self._falling) - 1)]) << self._shift
        return min(self._premium, max(0, price - last))

    def _with_more_than(self, each: int) -> int:
        """Return the GPUs of the jobs that are worth more than so much for a GPU."""
        return int(self._used[np.searchsorted(self._falling, -float(each >> self._shift), side="left")])
