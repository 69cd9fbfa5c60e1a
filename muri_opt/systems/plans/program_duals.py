"""Multipliers of the chapter *planning*: what it is worth to each job that it may run, and the price of quotas."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import Model
from muri_opt.rounds import LinearDuals, Round
from muri_opt.systems.plans.program_columns import PlanColumns
from muri_opt.systems.plans.quota_lines import limited_lines, line_prices
from muri_opt.systems.pooled_limits import DENOMINATOR, row_prices


def relaxed_duals(round_: Round, table: PlanColumns, model: Model, row_duals: NDArray[np.float64]) -> LinearDuals:
    """Return multipliers per job and tenant from a solver's row duals of the linear relaxation.

    A job's multiplier is what its best option is worth above its price, each part at the price it has on the cheapest
    node: then a node's knapsack is worth at most what the node costs. The dual of a row ``once`` may be far less, where
    the solver charges the bound of a column instead.
    """
    options, duals = table.options, np.maximum(0.0, row_duals)
    prices = row_prices(round_, model, duals)
    price = np.zeros(model.column_count)
    for family in model.rows:
        if family.label in ("gpus", "cpus", "memory"):
            paid = np.repeat(prices[family.label], np.diff(family.starts)) * family.coefficients
            price += np.bincount(family.columns, weights=paid, minlength=len(price))
    cheapest = np.full(len(options), np.inf)
    np.minimum.at(cheapest, table.option, price[len(table.several) :][: len(table.option)])
    tenant = np.where(options.guaranteed, round_.amounts.tenant, -1)[options.job]
    per_gpu = line_prices(prices["quota"], limited_lines(round_.amounts))
    quota = per_gpu[tenant] * round_.amounts.g[options.job]
    once = np.zeros(len(round_.jobs))
    np.maximum.at(once, options.job, options.e - quota - options.q * cheapest)
    multipliers = {
        label: tuple(round(price * DENOMINATOR) for price in part.tolist())
        for label, part in (("once", once), ("quota", prices["quota"]))
    }
    return LinearDuals(denominator=DENOMINATOR, multipliers=multipliers)
