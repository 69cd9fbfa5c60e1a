"""Good prices: those of a linear program over what nodes may do, with columns made as prices call for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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
    goods = len(start.types) + len(start.spread)
    return Pricing(start, goal).at(Prices(denominator=1, goods=(0,) * goods, waiting=0))


def priced_bound(
    start: Start, goal: Goal, relax: Relax, enough: int | None, budget: Budget
) -> tuple[Priced, list[Column]]:
    """Return the best bound from prices, and all columns; the search ends with the budget or where it is ``enough``.

    A bound above ``start.most`` shows that there is no plan at all.
    """
    pricing = Pricing(start, goal)
    goods = len(start.types) + len(start.spread)
    best = pricing.at(Prices(denominator=1, goods=(0,) * goods, waiting=0))
    pool = dict.fromkeys([*pricing.staying(), *best.columns])
    while best.bound <= start.most and (enough is None or best.bound < enough):
        budget.spend(_PRICING)
        found = None if budget.over() else relax(master(pricing, list(pool), start.most + 1), budget)
        if found is None:
            break
        duals = np.rint(found.duals * _DENOMINATOR).astype(np.int64).tolist()
        price = Prices(denominator=_DENOMINATOR, goods=tuple(-dual for dual in duals[:goods]), waiting=duals[goods])
        priced = pricing.at(price)
        if priced.scaled * best.prices.denominator > best.scaled * priced.prices.denominator:
            best = priced
        known = len(pool)
        pool |= dict.fromkeys(priced.columns)
        if len(pool) == known:
            break
    return best, list(pool)


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
