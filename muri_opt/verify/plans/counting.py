"""What no decision among plans is worth more than, by the GPUs of the cluster alone."""

from __future__ import annotations

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.certificates.gpu_dp import with_one_more
from muri_opt.verify.plans.menu import Menu

_MOST_STEPS = 50_000_000
_LARGEST = 1 << 62


@recalled
def counted_plans(round_: Round, menu: Menu) -> int | None:
    """Return the most that plans within the GPUs of the cluster are worth, at most one per job.

    Nodes, CPUs, memory and quotas are left aside, so every decision is among these choices. ``None`` where counting
    would take too long, or numbers are too large for it.
    """
    total = sum(node.gpus for node in round_.cluster.nodes)
    tables = [_by_gpus(menu, job) for job in range(len(round_.jobs))]
    if sum(map(len, tables)) * (total + 1) > _MOST_STEPS:
        return None
    if sum(max(table.values(), default=0) for table in tables) >= _LARGEST:
        return None
    best = np.zeros(total + 1, dtype=np.int64)
    for table in tables:
        best = with_one_more(best, table)
    return int(best[total])


def _by_gpus(menu: Menu, job: int) -> dict[int, int]:
    """Return the best value of a job for each number of GPUs it may run with."""
    table: dict[int, int] = {}
    for way in menu.ways[job]:
        value = menu.bonus[job] + (way.away if way.home is None else max(way.away, way.home))
        table[way.plan.gpus] = max(value, table.get(way.plan.gpus, 0))
    return table
