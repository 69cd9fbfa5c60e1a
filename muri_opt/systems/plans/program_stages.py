"""The objectives of the chapter *planning*, one after another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from muri_opt.modelling import Ints, Stage
from muri_opt.systems.plans.program_columns import PlanColumns


def plan_stages(table: PlanColumns) -> tuple[Stage, ...]:
    """Return for each level of priorities, the first one first: guaranteed jobs that run, jobs that run, then the rest.

    Guaranteed jobs are counted only where there are any, and jobs only where remaining times count.
    """
    options = table.options
    alone = options.q[table.option] == 1  # an option of several parts is worth something by its x
    worth = np.append(options.e[table.several], np.where(alone, options.e[table.option], 0))
    level = options.level[options.job[np.append(table.several, table.option)]]
    best = np.zeros(len(options.level), dtype=np.int64)
    np.maximum.at(best, options.job, options.e)
    stages: list[Stage] = []
    for place, weight in enumerate(options.weights):
        mine = np.where(level == place, worth, 0)
        jobs = np.flatnonzero((options.level == place) & (np.diff(options.first) > 0))
        found = _of_level(table, mine, weight, jobs, int(best[jobs].sum()))
        # Of several levels, those on which nothing is to be had are left out.
        stages += [stage for stage in found if len(options.weights) == 1 or stage.objective.any()]
    if len(table.wide):  # a larger part is worth nothing by itself
        none = np.zeros_like(table.wide)
        stages = [replace(stage, objective=np.append(stage.objective, none)) for stage in stages]
    return tuple(stages)


def _of_level(table: PlanColumns, worth: Ints, weight: int, jobs: Ints, most: int) -> list[Stage]:
    """Return the stages of one level, of these jobs, which are worth ``most`` together."""
    options = table.options
    counts = worth > 0
    stages, rest, best = [], worth, most
    promised = options.guaranteed[options.job]
    if options.served:
        runs = (promised[np.append(table.several, table.option)] & counts).astype(np.int64)
        served = int(options.guaranteed[jobs].sum())
        stages.append(Stage(objective=runs, weight=weight * options.served, best=served))
        rest, best = rest - options.served * runs, options.served - 1
    if options.started:
        runs = counts.astype(np.int64)
        stages.append(Stage(objective=runs, weight=weight * options.started, best=len(jobs)))
        rest, best = rest - options.started * runs, 0
    return [*stages, Stage(objective=rest, weight=weight, best=best)]
