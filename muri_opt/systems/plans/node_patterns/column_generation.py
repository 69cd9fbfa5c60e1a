"""The search: prices, a choice at these prices, patterns and better prices in turn, and patterns combined.

Column generation with patterns of nodes: at given prices the best pattern of every node bounds all decisions; the
linear program over all patterns taken up tells the next prices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from muri_opt.algorithms.column_generation import Smoothing, Told, Turn, generate_columns
from muri_opt.algorithms.knapsack import solve_options
from muri_opt.errors import RefusalError
from muri_opt.modelling import Model, Relax, Solved, SolveStages, Stage, Values
from muri_opt.rounds import Budget, Limits, LinearDuals, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.plans.node_patterns.cluster import cluster_prices
from muri_opt.systems.plans.node_patterns.diving import dive
from muri_opt.systems.plans.node_patterns.fill_leftover import filled
from muri_opt.systems.plans.node_patterns.gpus_only import best_by_gpus, placed_by_gpus
from muri_opt.systems.plans.node_patterns.greedy_fill import one_by_one
from muri_opt.systems.plans.node_patterns.items import Items, node_families
from muri_opt.systems.plans.node_patterns.master import Key, Master
from muri_opt.systems.plans.node_patterns.patterns import patterns
from muri_opt.systems.plans.node_patterns.patterns_to_nodes import placed, seen_patterns
from muri_opt.systems.plans.node_patterns.prices import Prices, bound
from muri_opt.systems.plans.node_patterns.repacking import repacked
from muri_opt.systems.plans.node_patterns.residual import Remaining
from muri_opt.systems.plans.node_patterns.when_nodes_do_not_matter import equivalent_knapsack
from muri_opt.systems.plans.options import PlanOptions

_CELLS = 80_000
"""Cells of the grids that patterns are found on. Far coarser ones cost some percent of the value by rounding."""
_SHARE, _LEAST_SHARE = 0.8, 0.05
"""Part of the best prices so far in the next ones to try, at first and at last."""
_FEW = 0.1
"""New patterns that are few, as a part of the kinds of jobs."""
_LOWERED = 0.9
"""Part of the prices at which nodes are filled that would stay empty at full prices."""
_CLOSE = 1e-4
"""The search for prices ends when bound and relaxation are this close, whatever gap is asked for: with fewer patterns
whole numbers of them are far worse than fractions."""
_OF_GAP = 0.25
"""Part of the gap asked for that the combination of patterns may leave open."""
_FIRST, _SEARCHING, _DIVING = 0.3, 0.6, 0.75
"""Parts of the budget after which the first choice, the search for patterns and the rounding end."""
_PROGRAM_WORK = 30.0
"""Work for the combination of patterns where there is no limit."""
_PER_FAMILY = 5e-3
"""Work to look for the best patterns of a family of nodes, once."""
_DENOMINATOR = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Packed:
    """Options with the nodes of their parts, prices that bound the round, and in words how they were found."""

    chosen: dict[int, Ints]
    duals: LinearDuals
    how: str


def pack(
    round_: Round,
    options: PlanOptions,
    start: Mapping[int, Ints],
    budget: Budget,
    relax: Relax,
    solve: SolveStages,
) -> Packed:
    """Return a good choice of options and nodes, at least as good as ``start``, and prices that prove how good it is.

    Where nodes do not matter, the knapsack of the cluster is solved instead; and first of all it is tried whether they
    matter to the best choice by GPUs alone.
    """
    search = _Search(round_, options, start, budget, relax, solve)
    if not len(options) or not search.families:
        return Packed(chosen=search.chosen, duals=search.duals(), how="there was nothing to choose")
    return search.counted() or search.knapsack() or search.run()


class _Search:
    def __init__(
        self,
        round_: Round,
        options: PlanOptions,
        start: Mapping[int, Ints],
        budget: Budget,
        relax: Relax,
        solve: SolveStages,
    ) -> None:
        self.round_, self.options, self.budget, self.relax, self.solve = round_, options, budget, relax, solve
        self.chosen = dict(start)
        self.items = Items.of(round_, options)
        self.families = node_families(round_, self.items)
        self.master = Master(items=self.items, families=self.families)
        self.best = Prices(once=np.zeros(len(self.items.members)), quota=np.zeros(len(self.items.quota)))
        self.bound = inf

    def counted(self) -> Packed | None:
        """Return the best choice by the GPUs of the cluster if all of it finds nodes: it is the best there is."""
        chosen = best_by_gpus(self.round_, self.options)
        found = {} if chosen is None else placed_by_gpus(self.round_, self.options, chosen)
        self._offer(found)
        if chosen is None or len(found) < len(chosen):
            return None
        duals = cluster_prices(self.round_, self.options)
        return Packed(chosen=self.chosen, duals=duals, how="the best choice by GPUs alone found its nodes")

    def knapsack(self) -> Packed | None:
        """Return the best choice by the knapsack of the cluster, or ``None`` where that is not the same choice."""
        same = equivalent_knapsack(self.round_, self.options, self.items, self.families)
        if same is None:
            return None
        knapsack, kept = same

        def solve_rest(model: Model, limits: Limits, start: Values | None) -> Solved:
            return self.solve(model, (Stage(objective=model.objective, weight=1, best=0),), limits, start)

        answer = solve_options(knapsack, solve_rest, self.budget.left())
        self.budget.spend(answer.work)
        self._offer(placed_by_gpus(self.round_, self.options, kept[answer.choice[answer.choice >= 0]].tolist()))
        once = {"once": tuple(answer.priced.idle.tolist())}
        return Packed(
            chosen=self.chosen,
            duals=LinearDuals(denominator=answer.priced.denominator, multipliers=once),
            how="nodes do not matter: the knapsack of the cluster was solved",
        )

    def run(self) -> Packed:
        """Return what patterns make of the round."""
        self._remember(self.chosen)
        self._choose_first()
        if not self._enough():
            self._find_patterns()
        if not self._enough():
            self._round()
        if not self._enough():
            self._combine()
        self._offer(filled(self.round_, self.options, self.chosen))
        how = f"{len(self.master.found)} patterns of nodes were combined"
        return Packed(chosen=self.chosen, duals=self.duals(), how=how)

    def _choose_first(self) -> None:
        """Take the prices of the cluster as a whole, and fill the nodes one after another at these prices."""
        duals = cluster_prices(self.round_, self.options)
        heads = [int(jobs[0]) for jobs in self.items.members]
        once, quota = (np.array(duals.multipliers[label]) / duals.denominator for label in ("once", "quota"))
        self.best = Prices(once=once[heads], quota=quota)
        if self.budget.over():
            return
        self.bound = self._bound(self.best)
        remaining = Remaining(self.items, self.families)
        found = self._one_by_one(self.best, remaining, _FIRST)
        found += self._one_by_one(self.best.lowered(_LOWERED), remaining, _FIRST)
        self._offer(self._better(placed(self.items, self.families, found, {})))

    def _find_patterns(self) -> None:
        """Look for patterns and prices until they meet, nothing new is found, or it is time to combine."""
        few = _FEW * len(self.items.members)
        smoothing = Smoothing(between=Prices.between, share=_SHARE, few=few, least=_LEAST_SHARE)
        budget = self.budget.until(_SEARCHING)
        if not budget.over():
            found = generate_columns(self, self.best, budget, smoothing=smoothing, close=_CLOSE)
            self.best, self.bound = found.multipliers, float(found.bound)

    def price(self, prices: Prices) -> Turn:
        """Take up good patterns at the prices; where that proves no bound, it is computed apart, if it is not known."""
        new, proved = 0, prices.paid(self.items)
        known = True
        for place, family in enumerate(self.families):
            self.budget.spend(_PER_FAMILY)
            found = patterns(self.items, family, prices, cells=_CELLS)
            new += sum(self.master.add(place, pattern) for pattern in found.free)
            new += sum(self.master.add(place, pattern, home) for home, pattern in found.at_home)
            known = known and found.earned is not None
            proved += found.earned or 0.0
        before = self.bound if prices is self.best else inf
        if not known:
            proved = before if before < inf else self._bound(prices)
        return Turn(min(proved, before), new)

    def solve_master(self, budget: Budget) -> Told[Prices] | None:
        """Return the prices of the program over all patterns taken up."""
        model = self.master.program()
        relaxed = self.relax(model, budget)
        return None if relaxed is None else Told(*self.master.prices(model, relaxed.duals))

    def _round(self) -> None:
        """Round the relaxation step by step, and fill the nodes that this leaves empty."""
        remaining = Remaining(self.items, self.families)
        found = dive(self.master, self.relax, remaining, self.budget.until(_DIVING))
        jobs = remaining.take_parts(found)
        found += self._one_by_one(self.best.lowered(0.0), remaining, _DIVING)
        self._offer(self._better(placed(self.items, self.families, found, jobs)))

    def _combine(self) -> None:
        """Let a solver combine the patterns, from the best choice so far on."""
        if self.budget.over():
            return
        model = self.master.program()
        remaining = Remaining(self.items, self.families)
        seen = seen_patterns(self.items, self.families, self.chosen)
        for key, times in seen.items():
            remaining.take(key, times)
        start = self.master.values(model, seen, remaining.take_parts(seen))
        left = self.budget.left() if self.budget.limited else replace(self.budget.limits, work=_PROGRAM_WORK)
        limits = replace(left, gap=_OF_GAP * left.gap)
        with suppress(RefusalError):
            solved = self.solve(model, self.master.stages(model), limits, start)
            self.budget.spend(solved.work)
            values = solved.values
            if values is not None:
                chosen = placed(self.items, self.families, *self.master.counts(model, values))
                self._offer(self._better(chosen))

    def _one_by_one(self, prices: Prices, remaining: Remaining, share: float) -> Counter[Key]:
        return one_by_one(self.items, self.families, prices, remaining, cells=_CELLS, budget=self.budget.until(share))

    def _better(self, chosen: Mapping[int, Ints]) -> dict[int, Ints]:
        """Return a choice after every node has taken what is best for it, and what is still free is given away."""
        better = repacked(self.round_, self.options, chosen, cells=_CELLS, budget=self.budget)
        return filled(self.round_, self.options, better)

    def _offer(self, chosen: dict[int, Ints]) -> None:
        """Keep a choice if it is the best so far, and take up its patterns."""
        self._remember(chosen)
        if self._value(chosen) > self._value(self.chosen):
            self.chosen = chosen

    def _remember(self, chosen: Mapping[int, Ints]) -> None:
        for family, home, pattern in seen_patterns(self.items, self.families, chosen):
            self.master.add(family, pattern, home)

    def _value(self, chosen: Mapping[int, Ints]) -> int:
        return sum(self.options.e[list(chosen)].tolist())

    def _enough(self) -> bool:
        """Return whether the choice is as good as asked for, by the best bound so far."""
        value = self._value(self.chosen)
        return self.bound - value < 1 or self.bound - value <= self.budget.limits.gap * value

    def _bound(self, prices: Prices) -> float:
        self.budget.spend(_PER_FAMILY * len(self.families))
        return bound(self.items, self.families, prices)

    def duals(self) -> LinearDuals:
        """Return the best prices per job and per tenant, as whole numbers."""
        once = np.zeros(len(self.round_.jobs), dtype=np.int64)
        for kind, jobs in enumerate(self.items.members):
            once[jobs] = round(self.best.once[kind] * _DENOMINATOR)
        quota = np.rint(self.best.quota * _DENOMINATOR).astype(np.int64)
        told = {"once": tuple(once.tolist())} | ({"quota": tuple(quota.tolist())} if quota.any() else {})
        return LinearDuals(denominator=_DENOMINATOR, multipliers=told)
