"""Good prices: those of a linear program over what nodes may do, with columns made as prices call for them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, inf

import numpy as np

from muri_opt.algorithms.column_generation import Told, Turn, generate_columns
from muri_opt.modelling import INFINITY, Ints, Model, ModelBuilder, Relax
from muri_opt.rounds import Budget, LinearDuals
from muri_opt.systems.defragment.goal import Goal
from muri_opt.systems.defragment.prices import Column, Priced, Prices, Pricing
from muri_opt.systems.defragment.running_jobs import Start

_DENOMINATOR = 720720
"""Divisible by all numbers up to 16: multipliers of these programs are mostly such fractions."""

_PRICING = 2e-3
"""Work to make the columns of one turn."""


def free_bound(start: Start, goal: Goal) -> Priced:
    """Return the bound that needs no prices: what the cheapest nodes alone have to give up."""
    return Pricing(start, goal).at(_no_prices(start))


def priced_bound(
    start: Start, goal: Goal, relax: Relax, enough: int | None, budget: Budget
) -> tuple[Priced, list[Column]]:
    """Return the best bound from prices, and all columns; the search ends with the budget or where it is ``enough``.

    A bound above ``start.most`` shows that there is no plan at all.
    """
    columns = _Doings(start, goal, relax)
    most = start.most if enough is None else min(start.most, enough - 1)
    best = generate_columns(columns, _no_prices(start), budget, enough=lambda bound: ceil(-bound) > most)
    return columns.priced[best.multipliers], list(columns.pool)


def _no_prices(start: Start) -> Prices:
    return Prices(denominator=1, goods=(0,) * (len(start.types) + len(start.spread)), waiting=0)


class _Doings:
    """What nodes may do, as columns of a program that maximises what is not paid: all costs are negative here."""

    def __init__(self, start: Start, goal: Goal, relax: Relax) -> None:
        self.pricing, self.relax, self.dear = Pricing(start, goal), relax, start.most + 1
        self.pool = dict.fromkeys(self.pricing.staying())
        self.priced: dict[Prices, Priced] = {}

    def price(self, prices: Prices) -> Turn:
        """Take up what every kind of node does at the prices; its cost is known in exact fractions."""
        priced = self.priced[prices] = self.pricing.at(prices)
        known = len(self.pool)
        self.pool |= dict.fromkeys(priced.columns)
        return Turn(-Fraction(priced.scaled, prices.denominator), len(self.pool) - known)

    def solve_master(self, budget: Budget) -> Told[Prices] | None:
        """Return the prices of the program over the pool; no value, since multipliers are rounded."""
        budget.spend(_PRICING)
        model = master(self.pricing, list(self.pool), self.dear)
        found = None if budget.over() else self.relax(model, budget)
        if found is None:
            return None
        goods = len(self.pricing.size)
        duals = np.rint(found.duals * _DENOMINATOR).astype(np.int64).tolist()
        prices = Prices(denominator=_DENOMINATOR, goods=tuple(-dual for dual in duals[:goods]), waiting=duals[goods])
        return Told(prices, -inf)


def as_duals(start: Start, priced: Priced) -> LinearDuals:
    """Return the prices as multipliers of the rows of the program that they belong to."""
    types = len(start.types)
    return LinearDuals(
        denominator=priced.prices.denominator,
        multipliers={
            "jobs": priced.prices.goods[:types],
            "gang": priced.prices.goods[types:],
            "waiting": (priced.prices.waiting,),
        },
    )


def master(pricing: Pricing, pool: Sequence[Column], dear: int | None) -> Model:
    """Return the program of how many nodes of each kind do what.

    With a cost ``dear`` nodes may be divided, and one column more reaches the goal at that cost.
    """
    builder = ModelBuilder("prices")
    nodes: Ints = np.array([pricing.kinds[column.kind].nodes for column in pool], dtype=np.int64)
    z = builder.add_columns(
        "z", np.arange(len(pool))[:, None], upper=nodes if dear is None else INFINITY, integer=dear is None
    )
    shares, chosen, costs = ([*values] for values in zip(*((c.share, c.chosen, c.cost) for c in pool), strict=True))
    if dear is not None:
        extra = builder.add_columns("short", [()], upper=INFINITY, integer=False)
        z = np.concatenate([z, extra])
        shares, chosen, costs = [*shares, pricing.asked], [*chosen, pricing.goal.chosen], [*costs, dear]
    entries = [(good, place, amount) for place, column in enumerate(pool) for good, amount in column.flow]
    flow: Ints = np.array(entries, dtype=np.int64).reshape(len(entries), 3)
    goods = np.arange(len(pricing.size))[:, None]
    builder.add_rows("jobs", goods, entries=(flow[:, 0], z[flow[:, 1]], flow[:, 2]), sense="=", rhs=0)
    for label, amounts, side in (("waiting", shares, pricing.asked), ("chosen", chosen, pricing.goal.chosen)):
        builder.add_rows(label, [()], entries=(0, z, np.array(amounts, dtype=np.int64)), sense="=", rhs=side)
    kinds: Ints = np.array([column.kind for column in pool], dtype=np.int64)
    builder.add_rows(
        "nodes",
        np.arange(len(pricing.kinds))[:, None],
        entries=(kinds, z[: len(pool)], 1),
        sense="=",
        rhs=np.array([kind.nodes for kind in pricing.kinds], dtype=np.int64),
    )
    return builder.finish(maximise=False, columns=z, coefficients=np.array(costs, dtype=np.int64))
