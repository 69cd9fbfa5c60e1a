"""The patterns found so far, and the program that combines them.

The restricted master problem of the Dantzig-Wolfe decomposition; the duals of its rows are the prices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import Model, ModelBuilder, Stage, Values
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.plans.node_patterns.items import Items, NodeFamily
from muri_opt.systems.plans.node_patterns.patterns import Pattern
from muri_opt.systems.plans.node_patterns.prices import Prices
from muri_opt.systems.plans.quota_lines import pairs

NO_HOME = -1

Key = tuple[int, int, Pattern]
"""A family of nodes, one of its homes or none, and the pattern."""


@dataclass(slots=True, kw_only=True, eq=False)
class Master:
    """Patterns in the order in which they were found, each for a family of nodes, or for the nodes of a home."""

    items: Items
    families: Sequence[NodeFamily]
    found: dict[Key, int] = field(default_factory=dict)

    def add(self, family: int, pattern: Pattern, home: int = NO_HOME) -> bool:
        """Take up a pattern and return whether it is new."""
        key = (family, home, pattern)
        if not pattern or key in self.found:
            return False
        self.found[key] = len(self.found)
        return True

    def program(self, least: Mapping[Key, int] | None = None) -> Model:
        """Return the program over the patterns: p counts nodes, x counts jobs that run in several parts.

        ``least`` says how often patterns are taken at least.
        """
        builder = ModelBuilder("patterns")
        table = _Table.of(self, builder, least or {})
        table.add_once(builder)
        table.add_parts(builder)
        table.add_nodes(builder)
        table.add_homes(builder)
        table.add_quota(builder)
        worth = np.zeros(len(table.p), dtype=np.int64)
        np.add.at(worth, table.pattern[table.alone], (self.items.e[table.item] * table.times)[table.alone])
        return builder.finish(
            maximise=True,
            columns=np.append(table.p, table.x),
            coefficients=np.append(worth, self.items.e[table.several]),
        )

    def stages(self, model: Model) -> tuple[Stage, ...]:
        """Return the objectives one after another: guaranteed jobs that run, if there are any, then all they gain."""
        served = self.items.options.served
        if not served:
            return (Stage(objective=model.objective, weight=1, best=0),)
        runs = model.objective // served  # what jobs gain beyond being served is less than one more of them
        most = int(self.items.options.guaranteed.sum())
        return (
            Stage(objective=runs, weight=served, best=most),
            Stage(objective=model.objective - served * runs, weight=1, best=served - 1),
        )

    def prices(self, model: Model, duals: NDArray[np.float64]) -> tuple[Prices, float]:
        """Return the prices in the duals of the linear relaxation, and its value."""
        ends = np.cumsum([len(rows) for rows in model.rows])[:-1]
        price = dict(zip(model.labels, np.split(np.maximum(0.0, duals), ends), strict=True))
        value = sum(float(price[rows.label] @ rows.rhs) for rows in model.rows)
        return Prices(once=price["once"], quota=np.where(self.items.quota > 0, price["quota"], 0.0)), value

    def values(self, model: Model, patterns: Mapping[Key, int], jobs: Mapping[int, int]) -> Ints:
        """Return how often patterns are taken, and how many jobs run in several parts, as values of the program."""
        values = np.zeros(model.column_count, dtype=np.int64)
        for key, times in patterns.items():
            values[self.found[key]] = times
        values[len(self.found) :] = [jobs.get(item, 0) for item in model.columns[1].index[:, 0].tolist()]
        return values

    def counts(self, model: Model, values: Values) -> tuple[dict[Key, int], dict[int, int]]:
        """Return what whole values stand for, the other way round than :meth:`values`."""
        whole = [round(value) for value in values.tolist()]
        several = model.columns[1].index[:, 0].tolist()
        patterns = {key: times for key, times in zip(self.found, whole, strict=False) if times}
        jobs = {item: times for item, times in zip(several, whole[len(self.found) :], strict=True) if times}
        return patterns, jobs


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Table:
    """Which pattern has which item how many times, and the columns of patterns and of items in ``several`` parts."""

    master: Master
    pattern: Ints
    item: Ints
    times: Ints
    alone: NDArray[np.bool_]
    several: Ints
    p: Ints
    x: Ints

    @classmethod
    def of(cls, master: Master, builder: ModelBuilder, least: Mapping[Key, int]) -> _Table:
        """Return the table of all patterns found, whose columns are added here."""
        items, keys = master.items, list(master.found)
        flat = np.array([item for _, _, pattern in keys for item in pattern], dtype=np.int64)
        pairs = np.column_stack([np.repeat(np.arange(len(keys)), [len(pattern) for _, _, pattern in keys]), flat])
        pairs, times = np.unique(pairs, axis=0, return_counts=True)
        pattern, item = pairs.T
        alone = items.q[item] == 1
        several = np.unique(item[~alone])
        # Bounds that rows imply are given one more, or they would take the rows' place in the duals.
        nodes = [1 + len(master.families[family].nodes) for family, _, _ in keys]
        low = np.array([least.get(key, 0) for key in keys], dtype=np.int64)
        return cls(
            master=master,
            pattern=pattern,
            item=item,
            times=times,
            alone=alone,
            several=several,
            p=builder.add_columns("p", np.arange(len(keys)), lower=low, upper=np.array(nodes, dtype=np.int64)),
            x=builder.add_columns("x", several, upper=1 + items.count[items.owner[several]]),
        )

    def _runs(self) -> tuple[Ints, Ints, Ints]:
        """Return (kind, column, how many jobs of the kind run with each of the column)."""
        owner = self.master.items.owner
        return (
            np.append(owner[self.item[self.alone]], owner[self.several]),
            np.append(self.p[self.pattern[self.alone]], self.x),
            np.append(self.times[self.alone], np.ones_like(self.x)),
        )

    def add_once(self, builder: ModelBuilder) -> None:
        """No more jobs of a kind run than there are."""
        count = self.master.items.count
        builder.add_rows("once", np.arange(len(count)), entries=self._runs(), sense="<=", rhs=count)

    def add_parts(self, builder: ModelBuilder) -> None:
        """For each job that runs in several parts there are as many in the patterns, or more."""
        part = ~self.alone
        entries = (
            np.append(np.searchsorted(self.several, self.item[part]), np.arange(len(self.several))),
            np.append(self.p[self.pattern[part]], self.x),
            np.append(self.times[part], -self.master.items.q[self.several]),
        )
        builder.add_rows("parts", self.several, entries=entries, sense=">=", rhs=0)

    def add_nodes(self, builder: ModelBuilder) -> None:
        """A family has only so many nodes."""
        families = self.master.families
        of = np.array([family for family, _, _ in self.master.found], dtype=np.int64)
        have = np.array([len(family.nodes) for family in families], dtype=np.int64)
        builder.add_rows("nodes", np.arange(len(have)), entries=(of, self.p, 1), sense="<=", rhs=have)

    def add_homes(self, builder: ModelBuilder) -> None:
        """There are only so many nodes where the same jobs are at home."""
        families = self.master.families
        homes = [(f, h) for f, family in enumerate(families) for h in range(len(family.at_home))]
        row = {home: place for place, home in enumerate(homes)}
        there = [(row[f, h], place) for place, (f, h, _) in enumerate(self.master.found) if h != NO_HOME]
        rows, places = np.array(there, dtype=np.int64).reshape(len(there), 2).T
        have = np.array([len(families[f].at_home[h].nodes) for f, h in homes], dtype=np.int64)
        builder.add_rows("homes", np.arange(len(homes)), entries=(rows, self.p[places], 1), sense="<=", rhs=have)

    def add_quota(self, builder: ModelBuilder) -> None:
        """Guaranteed jobs stay within the quota of their tenant, and of those above it."""
        items = self.master.items
        kind, column, jobs = self._runs()
        place, quota = pairs(items.tenant[kind], items.lines)
        entries = (quota, column[place], items.asks[kind[place]] * jobs[place])
        builder.add_rows("quota", np.arange(len(items.quota)), entries=entries, sense="<=", rhs=items.quota)
