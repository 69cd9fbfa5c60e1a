"""What prices of capacities prove about a choice of options, counted anew in exact integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from muri_opt.algorithms.knapsack import Answer, Options

SAFE = 1 << 62
"""Sums below this are exact in 64 bits; larger ones are counted in Python's integers."""


def priced_bound(options: Options, answer: Answer) -> int:
    """Return the price of everything there is, and of each job the most that a fitting option is worth above its own.

    No choice is worth more, whatever prices of at least 0 the answer has.
    """
    prices, over = answer.priced.prices, answer.priced.denominator
    assert min(prices, default=0) >= 0
    total = sum(price * has for price, has in zip(prices, options.capacity.tolist(), strict=True))
    fitting = (options.use <= options.capacity).all(axis=1)
    job, value, use = options.job[fitting], options.value[fitting], options.use[fitting]
    largest = use.max(axis=0, initial=0).tolist()
    reach = over * int(np.abs(value).max(initial=0)) + sum(p * most for p, most in zip(prices, largest, strict=True))
    kind: Any = np.int64 if reach < SAFE else object
    above = over * value.astype(kind)
    for price, amount in zip(prices, use.T, strict=True):
        above = above - price * amount.astype(kind)
    most = np.zeros(options.jobs, dtype=kind)
    np.maximum.at(most, job, above)
    return int(total + sum(most.tolist())) // over
