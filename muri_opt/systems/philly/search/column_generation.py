"""Prices that make the bound small, for one weighing after another: column generation with patterns of nodes.

At given prices the best pattern of every class of nodes bounds all decisions; the linear program over all patterns
taken up tells the next prices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from muri_opt.algorithms.column_generation import Smoothing, Told, Turn, generate_columns
from muri_opt.modelling import Relax
from muri_opt.rounds import Budget
from muri_opt.systems.philly.search.initial_prices import fluid_prices
from muri_opt.systems.philly.search.patterns import Patterns
from muri_opt.systems.philly.search.prices import Prices, Weights
from muri_opt.systems.philly.search.pricing import Pricing

_SMOOTHING: Final = Smoothing(between=Prices.between, share=0.5, least=0.1)
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
    columns = _Weighed(pricing=pricing, patterns=patterns, weights=weights, relax=relax, budget=budget)
    best = generate_columns(columns, start, budget, smoothing=_SMOOTHING, close=_CLOSE, turns=_MOST_TRIES)
    return best.multipliers, float(best.bound)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Weighed:
    """The patterns of a ground as columns of one weighing."""

    pricing: Pricing
    patterns: Patterns
    weights: Weights
    relax: Relax
    budget: Budget

    def price(self, prices: Prices) -> Turn:
        """Take up the best pattern of each class of nodes, where it earns more than those known."""
        offer = self.pricing.offer(self.weights, prices)
        self.budget.spend(_OFFERING + _PER_PATTERN * len(self.patterns))
        known = self.patterns.earned(self.weights, prices)
        better = offer.earned - known > _CLOSE * np.maximum(1.0, offer.earned)
        return Turn(offer.bound, self.patterns.take_up(map(offer.pattern, np.flatnonzero(better).tolist())))

    def solve_master(self, budget: Budget) -> Told[Prices] | None:
        """Return the prices of the program over all patterns known."""
        relaxed = self.relax(self.patterns.program(self.weights), budget)
        if relaxed is None:
            return None
        prices, paid = self.patterns.prices(self.weights, relaxed.duals)
        ground = self.pricing.ground
        return Told(prices, ground.apart_from_nodes(self.weights, prices) + float(ground.rooms.count @ paid))


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
