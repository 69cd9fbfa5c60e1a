"""What no decision among plans is worth more than, by the GPUs of the cluster alone."""

from __future__ import annotations

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.counting import Pool, counted_best
from muri_opt.verify.plans.plan_choices import PlanChoices

_MOST_STEPS = 50_000_000


@recalled
def counted_plans(round_: Round, menu: PlanChoices) -> int | None:
    """Return the most that plans within the GPUs of the cluster are worth, at most one per job.

    Nodes, CPUs, memory and quotas are left aside, so every decision is among these choices. ``None`` where counting
    would take too long.
    """
    total = round_.cluster.total_gpus
    if menu.columns is not None:
        some = menu.columns.open
        gpus = menu.columns.pieces[some, 0] * menu.columns.parts[some]
        if total * len(np.unique(menu.columns.owner[some] * (int(gpus.max(initial=0)) + 1) + gpus)) > _MOST_STEPS:
            return None
    tables = [_by_gpus(menu, job) for job in range(len(round_.jobs))]
    return counted_best(total, [Pool(tables, total)], steps=_MOST_STEPS)


def _by_gpus(menu: PlanChoices, job: int) -> dict[int, int]:
    """Return the best value of a job for each number of GPUs it may run with."""
    table: dict[int, int] = {}
    for way in menu.ways[job]:
        value = menu.weights[job] * (menu.bonus[job] + way.best)
        table[way.plan.gpus] = max(value, table.get(way.plan.gpus, 0))
    return table
