"""The search: prices that bound a round, and places for its gangs that come close to the bound.

Column generation (:mod:`.column_generation`) gives the bound, ruin and recreate (:mod:`.local_search`) the places.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from muri_opt.modelling import Relax
from muri_opt.rounds import Budget, LinearDuals, Round
from muri_opt.systems.philly.job_status import Held, JobStatus
from muri_opt.systems.philly.search.column_generation import best_prices
from muri_opt.systems.philly.search.initial_prices import fluid_prices
from muri_opt.systems.philly.search.local_search import improved
from muri_opt.systems.philly.search.patterns import Patterns
from muri_opt.systems.philly.search.prices import Ground, Prices, Weights
from muri_opt.systems.philly.search.pricing import Pricing

_PRICES = 0.4
"""Part of the budget for prices."""
_BITS, _MOST_BITS = 62, 16
"""Multipliers stay below two to the first power; their denominator is at most two to the second."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Placed:
    """Where gangs are placed, and the prices that bound what any places are worth."""

    places: dict[int, Held]
    duals: LinearDuals
    how: str


def place_round(
    round_: Round, status: JobStatus, start: Mapping[int, Held] | None, budget: Budget, relax: Relax
) -> Placed:
    """Return good places, at least as good as ``start``, and prices that prove how good they are."""
    ground, weights = Ground.of(round_, status), weights_of(status)
    pricing, patterns = Pricing(ground), Patterns(ground)
    prices = best_prices(pricing, patterns, weights, relax, budget.until(_PRICES))
    bound = pricing.offer(weights, prices).bound
    stays = {job: status.held[job] for job in np.flatnonzero(status.running).tolist()}
    starts = [stays] if start is None else [start, stays]
    target = bound - max(1.0, budget.limits.gap * abs(bound))
    places = improved(round_, status, starts, target, budget)
    return Placed(
        places=places,
        duals=linear_duals(round_, status, ground, prices),
        how=f"{len(patterns)} patterns of nodes priced, gangs inserted where they gain",
    )


def quick_prices(round_: Round, status: JobStatus) -> LinearDuals:
    """Return prices that need no solver."""
    ground = Ground.of(round_, status)
    return linear_duals(round_, status, ground, fluid_prices(ground, weights_of(status)))


def weights_of(status: JobStatus) -> Weights:
    """Return the weights of the value of a decision."""
    return Weights(quota=status.values.premium, kept=status.values.penalty, worth=1)


def linear_duals(round_: Round, status: JobStatus, ground: Ground, prices: Prices) -> LinearDuals:
    """Return prices as multipliers, in whole numbers over a power of two, as fine as machine words allow."""
    each = np.append(prices.once, 0.0)[ground.asks.of_job] * round_.amounts.g
    largest = max(float(status.values.premium), float(each.max(initial=0.0)))
    denominator = 1 << max(0, min(_MOST_BITS, _BITS - int(largest).bit_length()))
    full = status.values.premium * denominator
    once = tuple(round(price * denominator) for price in each.tolist())
    quota = tuple(min(full, max(0, round(price * denominator))) for price in prices.quota.tolist())
    return LinearDuals(denominator=denominator, multipliers={"once": once, "quota": quota})
