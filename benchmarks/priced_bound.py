"""What prices of capacities prove about a choice of options, counted anew in exact integers."""

from __future__ import annotations

from muri_opt.algorithms.knapsack import Answer, Options


def priced_bound(options: Options, answer: Answer) -> int:
    """Return the price of everything there is, and of each job the most that a fitting option is worth above its own.

    No choice is worth more, whatever prices of at least 0 the answer has.
    """
    prices, over = answer.priced.prices, answer.priced.denominator
    assert min(prices, default=0) >= 0
    total = sum(price * has for price, has in zip(prices, options.capacity.tolist(), strict=True))
    most = [0] * options.jobs
    fitting = (options.use <= options.capacity).all(axis=1).tolist()
    for job, value, use, fits in zip(
        options.job.tolist(), options.value.tolist(), options.use.tolist(), fitting, strict=True
    ):
        if fits:
            paid = sum(price * amount for price, amount in zip(prices, use, strict=True))
            most[job] = max(most[job], over * value - paid)
    return (total + sum(most)) // over
