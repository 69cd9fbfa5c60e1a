"""Multipliers where jobs have priorities: a bound of the first level bounds all, if the others do their best."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from muri_opt.rounds import LinearDuals
from muri_opt.systems.plans.options import PlanOptions


def first_level(options: PlanOptions) -> PlanOptions:
    """Return the options with those of all levels but the first worth nothing."""
    if len(options.weights) == 1:
        return options
    return replace(options, e=np.where(options.level[options.job] == 0, options.e, 0))


def of_all_levels(options: PlanOptions, duals: LinearDuals) -> LinearDuals:
    """Return multipliers of the first level as those of all: a job of another level pays all that it is worth."""
    if len(options.weights) == 1:
        return duals
    best = np.zeros(len(options.level), dtype=np.int64)
    np.maximum.at(best, options.job, options.e)
    first = options.weights[0]
    once = [
        price * first if level == 0 else worth * options.weights[level] * duals.denominator
        for price, level, worth in zip(duals.multipliers["once"], options.level.tolist(), best.tolist(), strict=True)
    ]
    quota = tuple(price * first for price in duals.multipliers["quota"])
    return LinearDuals(denominator=duals.denominator, multipliers={"once": tuple(once), "quota": quota})
