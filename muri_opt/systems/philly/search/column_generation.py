"""Prices that make the bound small: patterns and better prices in turn, for one weighing after another.

Column generation. At given prices the best pattern of every node bounds all decisions; patterns that are better than
what their nodes are paid for are taken up; the linear program over all patterns taken up says the next prices.
"""

from __future__ import annotations

from math import inf

import numpy as np

from muri_opt.modelling import Relax
from muri_opt.rounds import Budget
from muri_opt.systems.philly.search.initial_prices import fluid_prices
from muri_opt.systems.philly.search.patterns import Patterns
from muri_opt.systems.philly.search.prices import Prices, Weights
from muri_opt.systems.philly.search.pricing import Pricing

_SHARE = 0.5
"""Part of the best prices so far in the next ones to try; the rest is what the program over all patterns says."""
_CLOSE = 1e-9
"""Bound and program are as close as makes no difference."""
_MOST_TRIES = 400
_QUOTA, _KEPT = 64, 20_000
"""GPUs that may be preempted for one within a quota, and worth that may be lost for one that is not preempted, until
the rest is weighed at all. A linear program with the weights themselves would see nothing but the largest."""
_OFFERING, _PER_PATTERN = 2e-3, 5e-6
"""Work to price all nodes once: what it costs in any case, and for each pattern known."""
_FRACTIONS = 840
"""Prices of the first weighings are likely to be whole numbers over one of 1 to 8."""


def settled(
    pricing: Pricing, patterns: Patterns, weights: Weights, start: Prices, relax: Relax, budget: Budget
) -> tuple[Prices, float]:
    """Return the prices with the least bound that were found within the budget, from ``start`` on, and that bound."""
    best, bound, share, tried = start, inf, _SHARE, start
    for _ in range(_MOST_TRIES):
        offer = pricing.offer(weights, tried)
        budget.spend(_OFFERING + _PER_PATTERN * len(patterns))
        if offer.bound < bound:
            best, bound = tried, offer.bound
        better = offer.earned - patterns.earned(weights, tried) > _CLOSE * np.maximum(1.0, offer.earned)
        new = patterns.take_up(map(offer.pattern, np.flatnonzero(better).tolist()))
        if not new and share == 0.0:
            break
        if not new:
            share = 0.0 if share < 0.1 else share / 2
        if budget.over():
            break
        relaxed = relax(patterns.program(weights), budget)
        if relaxed is None:
            break
        program, paid = patterns.prices(weights, relaxed.duals)
        ground = pricing.ground
        value = ground.apart_from_nodes(weights, program) + float(ground.rooms.count @ paid)
        if bound - value <= _CLOSE * max(1.0, abs(bound)):
            break
        tried = Prices(
            once=share * best.once + (1 - share) * program.once, quota=share * best.quota + (1 - share) * program.quota
        )
    return best, bound


def tiers(weights: Weights) -> list[tuple[int, Weights]]:
    """Return weighings with modest weights that add up to the given one, each so many times; the first is coarsest.

    Prices for each, added up as often, are prices for their sum, and its bound is no more than the sum of the bounds.
    """
    if weights.kept <= _KEPT:
        return [(1, weights)]
    ratio = max(1, min(_QUOTA, weights.quota // weights.kept))
    parts = [
        (weights.quota - ratio * weights.kept, Weights(quota=1, kept=0, worth=0)),
        (weights.kept - _KEPT, Weights(quota=ratio, kept=1, worth=0)),
        (1, Weights(quota=ratio * _KEPT, kept=_KEPT, worth=1)),
    ]
    return [(times, part) for times, part in parts if times > 0]


def best_prices(pricing: Pricing, patterns: Patterns, weights: Weights, relax: Relax, budget: Budget) -> Prices:
    """Return good prices for any weights, however far apart: settled one after another, and rounded where that helps.

    At any time they are no worse than those of :func:`fluid_prices`.
    """
    ground = pricing.ground
    found = Prices(once=np.zeros(len(ground.asks)), quota=np.zeros(len(ground.quota)))
    parts = tiers(weights)
    for place, (times, part) in enumerate(parts):
        mine = budget.share(1 / (len(parts) - place))
        prices, _ = settled(pricing, patterns, part, fluid_prices(ground, part), relax, mine)
        if part.worth == 0:
            prices = _simpler(pricing, part, prices)
        found = found.plus(prices, times)
    return min((found, fluid_prices(ground, weights)), key=lambda prices: pricing.offer(weights, prices).bound)


def _simpler(pricing: Pricing, weights: Weights, prices: Prices) -> Prices:
    """Return prices over a small denominator if they are as good: a solver's errors would count many times."""
    rounded = Prices(
        once=np.rint(prices.once * _FRACTIONS) / _FRACTIONS, quota=np.rint(prices.quota * _FRACTIONS) / _FRACTIONS
    )
    slack = _CLOSE * max(1.0, abs(pricing.offer(weights, prices).bound))
    better = pricing.offer(weights, rounded).bound <= pricing.offer(weights, prices).bound + slack
    return rounded if better else prices
