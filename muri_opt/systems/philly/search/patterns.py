"""The patterns found so far, and the program that combines them.

The restricted master problem of the Dantzig-Wolfe decomposition; the duals of its rows are the prices.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from muri_opt.modelling import Model, ModelBuilder
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.philly.search.gang_classes import NO_QUOTA
from muri_opt.systems.philly.search.prices import Floats, Ground, Prices, Weights
from muri_opt.systems.philly.search.pricing import Pattern


class Patterns:
    """Patterns in the order in which they were found, with what each holds.

    Row i of ``uses`` says that a pattern has so many GPUs of a kind, row i of ``counts`` of a tenant with a quota. A
    pattern is worth ``worth[p]``, keeps ``kept[p]`` GPUs of running jobs, and has ``free[p]`` of tenants without quota.
    """

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.found: dict[Pattern, int] = {}
        self.worth: list[int] = []
        self.kept: list[int] = []
        self.free: list[int] = []
        self.uses: list[tuple[int, int, int]] = []
        self.counts: list[tuple[int, int, int]] = []
        for which in range(len(ground.rooms)):
            self.add((which, (1 << len(ground.rooms.of_class(which))) - 1, ()))

    def __len__(self) -> int:
        return len(self.found)

    def take_up(self, patterns: Iterable[Pattern]) -> int:
        """Take up patterns and return how many were new."""
        return sum(self.add(pattern) for pattern in patterns)

    def earned(self, weights: Weights, prices: Prices) -> Floats:
        """Return what the best of the patterns of each class earns at these prices."""
        gain = self._gain(weights).astype(np.float64)
        kind, pattern, units = _triplets(self.uses)
        np.subtract.at(gain, pattern, units * prices.once[kind])
        tenant, pattern, units = _triplets(self.counts)
        np.add.at(gain, pattern, units * prices.quota[tenant])
        best = np.zeros(len(self.ground.rooms))
        np.maximum.at(best, self.nodes, gain)
        return best

    @property
    def nodes(self) -> Ints:
        """The class of nodes of each pattern."""
        return np.array([which for which, _, _ in self.found], dtype=np.int64)

    def _gain(self, weights: Weights) -> Ints:
        worth, kept, free = (np.array(part, dtype=np.int64) for part in (self.worth, self.kept, self.free))
        return weights.worth * worth + weights.kept * kept + weights.quota * free

    def add(self, pattern: Pattern) -> bool:
        """Take up a pattern and return whether it is new."""
        if pattern in self.found:
            return False
        place = self.found[pattern] = len(self.found)
        asks, residents = self.ground.asks, self.ground.rooms.residents
        which, stay, parts = pattern
        worth = kept = 0
        kinds: dict[int, int] = {}
        tenants: dict[int, int] = {}
        for bit, resident in enumerate(self.ground.rooms.of_class(which)):
            if stay >> bit & 1:
                units, kind, tenant = (
                    int(part[resident]) for part in (residents.units, residents.kind, residents.tenant)
                )
                worth += units * int(residents.worth[resident])
                kept += units
                tenants[tenant] = tenants.get(tenant, 0) + units
                if kind >= 0:
                    kinds[kind] = kinds.get(kind, 0) + units
        for kind, units in parts:
            worth += units * asks.worth(kind, units)
            kept += units * int(asks.moves[kind])
            tenant = int(asks.tenant[kind])
            tenants[tenant] = tenants.get(tenant, 0) + units
            kinds[kind] = kinds.get(kind, 0) + units
        self.worth.append(worth)
        self.kept.append(kept)
        self.free.append(tenants.pop(NO_QUOTA, 0))
        self.uses.extend((kind, place, units) for kind, units in kinds.items())
        self.counts.extend((tenant, place, units) for tenant, units in tenants.items())
        return True

    def program(self, weights: Weights) -> Model:
        """Return the linear program: p counts nodes that hold a pattern, t GPUs of tenants within their quotas."""
        ground, asks = self.ground, self.ground.asks
        builder = ModelBuilder("placements")
        nodes = self.nodes
        # Bounds that rows imply are given one more, or they would take the rows' place in the duals.
        p = builder.add_columns("p", np.arange(len(self)), upper=1 + ground.rooms.count[nodes])
        tenants = np.flatnonzero(ground.limited)
        t = builder.add_columns("t", tenants, upper=ground.quota[tenants])
        kind, pattern, units = _triplets(self.uses)
        entries = (kind, p[pattern], units)
        builder.add_rows("once", np.arange(len(asks)), entries=entries, sense="<=", rhs=asks.count * asks.g)
        tenant, pattern, units = _triplets(self.counts)
        row = np.searchsorted(tenants, tenant)
        entries = (np.append(np.arange(len(t)), row), np.append(t, p[pattern]), np.append(np.ones_like(t), -units))
        builder.add_rows("quota", tenants, entries=entries, sense="<=", rhs=ground.fixed[tenants])
        entries = (nodes, p, np.ones_like(p))
        builder.add_rows("nodes", np.arange(len(ground.rooms)), entries=entries, sense="<=", rhs=ground.rooms.count)
        gain = np.append(self._gain(weights), np.full_like(t, weights.quota))
        return builder.finish(maximise=True, columns=np.append(p, t), coefficients=gain)

    def prices(self, weights: Weights, duals: Floats) -> tuple[Prices, Floats]:
        """Return the prices in the duals of the program, and what it pays for a node of each class."""
        ground, kinds = self.ground, len(self.ground.asks)
        tenants = np.flatnonzero(ground.limited)
        once, quota, nodes = np.split(np.maximum(0.0, duals), [kinds, kinds + len(tenants)])
        every = np.full(len(ground.quota), float(weights.quota))
        every[tenants] = np.minimum(quota, weights.quota)
        return Prices(once=once, quota=every), nodes


def _triplets(rows: list[tuple[int, int, int]]) -> tuple[Ints, Ints, Ints]:
    first, second, third = np.array(rows, dtype=np.int64).reshape(len(rows), 3).T
    return first, second, third
