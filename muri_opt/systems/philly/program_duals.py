"""Multipliers of the chapter *placement*: what it is worth to each job that it may run, and to stay within a quota."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import Model
from muri_opt.rounds import LinearDuals, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.philly.locality import IN_RACK, TOGETHER
from muri_opt.systems.philly.program_columns import PlacementColumns
from muri_opt.systems.philly.program_items import Free, Item
from muri_opt.systems.philly.quota_tree import QuotaTree

Floats = NDArray[np.float64]
_FINEST = 1 << 20
_WORD = 1 << 60


def relaxed_duals(round_: Round, table: PlacementColumns, model: Model, row_duals: Floats) -> LinearDuals:
    """Return multipliers per job and tenant from a solver's row duals of the linear relaxation.

    The multiplier of a quota is what of K a further GPU of the tenant still adds. A job's is what its best outcome is
    worth above the price of its GPUs on the cheapest node: then no node's knapsack is worth more than the node costs.
    """
    status, amounts = table.status, round_.amounts
    rows = dict(
        zip(model.labels, np.split(row_duals, np.cumsum([len(family) for family in model.rows])[:-1]), strict=True)
    )
    denominator = max(1, min(_FINEST, _WORD // max(1, status.values.premium * int(amounts.g.sum()))))
    quota = np.where(table.tenants.always_above, 0.0, float(status.values.premium))
    np.subtract.at(quota, table.tenants.over, rows["quota"])
    kappa = [round(denominator * min(max(0.0, price), float(status.values.premium))) for price in quota.tolist()]
    kappa = [min(price, denominator * status.values.premium) for price in kappa]
    tree, top = QuotaTree.of(round_), denominator * status.values.premium
    prices = _NodePrices(round_, table, model, rows, denominator)
    once = []
    for job in range(len(round_.jobs)):
        full = denominator * status.values.weights.premium[status.rank[job]]
        each = max(0, full - sum(top - kappa[one] for one in tree.line(int(amounts.tenant[job]))))
        once.append(_worth_above(table, prices, job, each, denominator))
    return LinearDuals(denominator=denominator, multipliers={"once": tuple(once), "quota": tuple(kappa)})


def _worth_above(table: PlacementColumns, prices: _NodePrices, job: int, each: int, denominator: int) -> int:
    """Return what the best outcome of a job is worth above its price, every GPU within its quota counting ``each``."""
    status, gpus = table.status, int(prices.round.amounts.g[job])
    items = prices.items.get(job, [])
    if status.fixed[job] or (not items and not status.running[job]):
        return 0
    weights, rank, lost = status.values.weights, int(status.rank[job]), 0
    if status.running[job]:
        lost = weights.penalty[rank] * gpus + weights.work[rank] * int(status.values.restart[job])
    base, price = each * gpus + denominator * lost, prices.per_gpu(job)
    found = [0]
    if status.running[job]:
        here = int(price[list(status.held[job])].min())
        found.append(base + denominator * int(status.values.kept[job]) - gpus * here)
    fewest, level = int(status.locality.fewest[job]), int(status.widest[job])
    spread = TOGETHER if fewest > 1 else IN_RACK
    for item in items:
        if fewest == 1 and (item.room >= gpus).any():
            together = denominator * int(status.values.placed[job, TOGETHER])
            found.append(base + together - gpus * int(price[item.room >= gpus].min()))
        if spread <= level:
            apart = denominator * int(status.values.placed[job, spread])
            found.append(base + apart - gpus * int(price[item.room > 0].min()))
    return max(found)


class _NodePrices:
    """The prices of GPUs, CPUs and memory of all nodes, as whole numbers of the multipliers' unit."""

    def __init__(
        self, round_: Round, table: PlacementColumns, model: Model, rows: dict[str, Floats], denominator: int
    ) -> None:
        self.round, status = round_, table.status
        self.items: dict[int, list[Item]] = {}
        for item in table.placements.items:
            for job in item.jobs:
                self.items.setdefault(job, []).append(item)
        self._free = Free.of(round_, status, status.fixed)
        self._prices = {
            label: self._of_nodes(table, model, rows, label, denominator) for label in ("gpus", "cpus", "memory")
        }
        full = (table.free.gpus == 0) & (self._free.gpus > 0)
        self._prices["gpus"][full] = self._prices["gpus"].max(initial=0)

    def per_gpu(self, job: int) -> Ints:
        """Return the price of one GPU of the job on each node."""
        amounts = self.round.amounts
        price = self._prices["gpus"].copy()
        for label, need in (("cpus", amounts.c), ("memory", amounts.m)):
            price += self._prices[label] * (need[job] // max(1, int(np.gcd.reduce(need))))
        return price

    def _of_nodes(
        self, table: PlacementColumns, model: Model, rows: dict[str, Floats], label: str, denominator: int
    ) -> Ints:
        price = np.zeros(len(table.nodes.seen))
        index = next(family.index[:, 0] for family in model.rows if family.label == label)
        price[index] = np.maximum(0.0, rows[label])
        for nodes in table.nodes.alike:
            seen = table.nodes.seen[nodes]
            price[nodes] = price[nodes[seen]].sum() / max(1, np.count_nonzero(seen))
        whole: Ints = np.ceil(np.minimum(price * denominator, _WORD // 64)).astype(np.int64)
        return whole
