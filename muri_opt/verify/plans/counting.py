"""What no decision among plans is worth more than, by the GPUs of the cluster alone."""

from __future__ import annotations

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.counting import Pool, counted_best
from muri_opt.verify.plans.menu_columns import MenuColumns
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
    tables = _column_tables(menu, menu.columns) if menu.columns is not None else _tables(menu)
    return counted_best(total, [Pool(tables, total)], steps=_MOST_STEPS)


def _tables(menu: PlanChoices) -> list[dict[int, int]]:
    """Return the best value of each job for each number of GPUs it may run with."""
    tables: list[dict[int, int]] = []
    for ways, bonus, weight in zip(menu.ways, menu.bonus, menu.weights, strict=True):
        table: dict[int, int] = {}
        for way in ways:
            table[way.plan.gpus] = max(weight * (bonus + way.best), table.get(way.plan.gpus, 0))
        tables.append(table)
    return tables


def _column_tables(menu: PlanChoices, columns: MenuColumns) -> list[dict[int, int]]:
    """Return the same from columns."""
    tables: list[dict[int, int]] = [{} for _ in menu.round_.jobs]
    some = np.flatnonzero(columns.open)
    told = (columns.owner[some], columns.pieces[some, 0] * columns.parts[some], columns.best[some])
    for job, gpus, best in zip(*(column.tolist() for column in told), strict=True):
        table, value = tables[job], menu.weights[job] * (menu.bonus[job] + best)
        if value > table.get(gpus, -1):
            table[gpus] = max(value, 0)
    return tables
