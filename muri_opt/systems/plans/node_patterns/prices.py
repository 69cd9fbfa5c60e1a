"""What jobs are charged for running, what their parts are worth beyond that, and the bound this gives.

The Lagrangian bound of the decomposition: what jobs and quotas pay, plus the best pattern of every node at these
prices. It holds for any prices of at least 0, hence at every step of column generation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.plans.node_patterns.items import Items, NodeFamily
from muri_opt.systems.plans.node_patterns.node_dp import swept
from muri_opt.systems.plans.node_patterns.size_grid import Grid
from muri_opt.systems.plans.quota_lines import line_prices

Floats = NDArray[np.float64]

_CELLS = 400_000
"""Cells of the grid of a bound: finer than those that patterns are found on, since a bound is computed rarely."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prices:
    """``once[k]`` for a job of kind k that runs, ``quota[v]`` for each GPU of a tenant's quota it uses."""

    once: Floats
    quota: Floats

    def profits(self, items: Items) -> Floats:
        """Return what each part of an item is worth beyond its prices."""
        quota = line_prices(self.quota, items.lines)[items.tenant]
        charged = self.once + items.asks * quota
        return np.asarray((items.e - charged[items.owner]) / items.q, dtype=np.float64)

    def paid(self, items: Items) -> float:
        """Return what all jobs and quotas together would pay."""
        return float(self.once @ items.count + self.quota @ items.quota)

    def lowered(self, part: float) -> Prices:
        """Return a part of the prices."""
        return Prices(once=part * self.once, quota=part * self.quota)

    def between(self, other: Prices, share: float) -> Prices:
        """Return prices of which a share is this one's, and the rest the other's."""
        return Prices(
            once=share * self.once + (1 - share) * other.once, quota=share * self.quota + (1 - share) * other.quota
        )


def bound(items: Items, families: Sequence[NodeFamily], prices: Prices) -> float:
    """Return what no decision is worth more than: all prices, and the best profit of every node.

    A decision is worth what its jobs pay and what its parts are worth beyond that. The first is at most the price of
    every job and of all quotas, the second at most the best profit node by node.
    """
    profit = prices.profits(items)
    total = prices.paid(items)
    for family in families:
        grid = family.grid(items, cells=_CELLS, up=False)
        groups = [
            group
            for group in by_kind(items, profitable(family.free, profit))
            for _ in range(most_of(group, int(items.count[items.owner[group[0]]]), grid))
        ]
        anywhere = swept(groups, profit, grid.sizes, np.zeros(grid.shape))
        plain = len(family.nodes)
        for home in family.at_home:
            stays = [profitable(group, profit) for group in home.homes]
            total += len(home.nodes) * float(swept(stays, profit, grid.sizes, anywhere)[grid.extent])
            plain -= len(home.nodes)
        total += plain * float(anywhere[grid.extent])
    return total


def profitable(some: Ints, profit: NDArray[np.floating]) -> Ints:
    """Return the items that have a profit."""
    return some[profit[some] > 0]


def by_kind(items: Items, some: Ints) -> list[Ints]:
    """Return items in order, those of each kind of job together."""
    cuts = np.flatnonzero(np.diff(items.owner[some])) + 1
    return [group for group in np.split(some, cuts) if len(group)]


def most_of(group: Ints, jobs: int, grid: Grid) -> int:
    """Return how many of so many jobs can be on a node at most, each with an item of the group."""
    if not len(group):
        return 0
    fits = [
        extent // least
        for extent, least in zip(grid.extent, grid.sizes[group].min(axis=0).tolist(), strict=True)
        if least
    ]
    return min(jobs, min(fits, default=jobs))
