"""Chapter *placement*: which gangs of which tenants run, and where; who is moved, who is preempted.

Letters as in the chapter: jobs j, nodes s, racks r, tenants v, spreads l; x_j stays, e_j preempted, y_jl put down
spread as l (a running job: moved, or preempted and started again), b_js whether and n_js with how many GPUs on s, t_jr
whether in rack r, o_v GPUs over the quota, p_v whether a tenant loses a job, f the jobs about which there is nothing to
decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import Ints, Model, ModelBuilder, Relax, SolveStages, Stage, Values
from muri_opt.rounds import Budget, Decision, LinearDuals, Round
from muri_opt.systems.philly.decision import placement_decision
from muri_opt.systems.philly.program_columns import Letters, PlacementColumns
from muri_opt.systems.philly.program_duals import relaxed_duals
from muri_opt.systems.philly.program_rows import add_gangs, add_letters, add_nodes, add_tenants
from muri_opt.systems.philly.program_search import search_places
from muri_opt.systems.philly.program_values import decided_places, places_of, values_of
from muri_opt.systems.philly.tenant_rules import TenantRules
from muri_opt.systems.program import Formulation, Searched

MOST_IN_STAGE: Final = 1 << 23
"""The most by which the sum of several tiers in one stage can differ: its coefficients are those of a row later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementFormulation(Formulation):
    """Run gangs within quotas first, then with the fewest preempted GPUs, then as fast as locality allows.

    >>> times = {"rack_after": 600_000_000, "any_after": 1_800_000_000, "hold": 150_000_000, "backoff": 0}
    >>> rates = {"aging": 86_400_000_000, "horizon": 600_000_000, "speed": (1000, 854, 729)}
    >>> rules = TenantRules(**times, **rates, preempt_at=900, migrate=0, dedicated=None, objective="weighted")
    >>> len(PlacementFormulation(rules=rules).build(shipped_round("toy/four-tenants")).objective)
    29
    """

    rules: TenantRules

    chapter: ClassVar[str] = "placement"
    has_search: ClassVar[bool] = True

    def table(self, round_: Round) -> PlacementColumns:
        """Return what the round leaves to decide."""
        return PlacementColumns.of(round_, self.rules)

    def build(self, round_: Round) -> Model:
        """Return the program: every job stays, goes, or is put down whole, within nodes and close enough together."""
        table = self.table(round_)
        at, builder = Letters.of(table), ModelBuilder(self.chapter)
        add_letters(builder, round_, table)
        add_gangs(builder, round_, table, at)
        add_nodes(builder, round_, table, at)
        add_tenants(builder, round_, table, at)
        return builder.finish(maximise=True, columns=np.arange(at.count), coefficients=_objective(round_, table, at))

    def stages(self, round_: Round, model: Model) -> tuple[Stage, ...]:
        """Return one stage, or several: GPUs within quotas, preempted GPUs as far as there can be any, and work.

        With several priorities each of these is counted for one after another, as many in a stage as are not too large.
        """
        if self.rules.objective == "weighted":
            return Formulation.stages(self, round_, model)
        table = self.table(round_)
        tiers = _tiers(round_, table, Letters.of(table))
        if table.status.classes == 1:
            return tuple(Stage(objective=tier.adds, weight=tier.weight, best=tier.best) for tier in tiers)
        return tuple(_stages(tiers))

    def decode(self, round_: Round, values: Values) -> Decision:
        """Return the decision: jobs stay where they are unless the values say otherwise."""
        table = self.table(round_)
        return placement_decision(round_, table.status, places_of(round_, table, values))

    def encode(self, round_: Round, decision: Decision) -> Ints:
        """Return the columns of a decision; nodes that are alike change places so that the most used come first."""
        return values_of(round_, self.table(round_), decided_places(round_, decision))

    def search(
        self, round_: Round, start: Decision | None, budget: Budget, relax: Relax, solve: SolveStages
    ) -> Searched | None:
        """Return what prices node by node make of a large round, from the places of ``start``."""
        return search_places(round_, self.rules, start, budget, relax)

    @property
    def has_duals(self) -> bool:
        """The linear relaxation has a price for every node and quota."""
        return True

    def duals(self, round_: Round, model: Model, row_duals: NDArray[np.float64]) -> LinearDuals | None:
        """Return the multipliers of jobs and quotas from the duals of the linear relaxation, if that has the value."""
        if not self.table(round_).status.values.fit:
            return None
        return relaxed_duals(round_, self.table(round_), model, row_duals)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Tier:
    """One sum of the value: what each column adds, its weight, how much it can differ by, and the most it can be."""

    adds: Ints
    weight: int
    base: int
    best: int


def _tiers(round_: Round, table: PlacementColumns, at: Letters) -> list[_Tier]:
    """Return GPUs within quotas, minus the preempted GPUs, and work; in each the largest priority first."""
    status, gpus, choices = table.status, round_.amounts.g, table.placements
    job, weights = choices.first[choices.spreads.item], status.values.weights
    leavers, evictable, fixed = table.running.leavers, table.running.evictable, table.running.fixed
    work, surplus = status.values.work[job, choices.spreads.of], np.append(table.tenants.surplus, 0)
    within, preempted, worth = list[_Tier](), list[_Tier](), list[_Tier]()
    bases = [part or (0,) * status.classes for part in weights.bases]
    for rank in reversed(range(status.classes)):
        mine = status.rank == rank
        asked = int(gpus[mine].sum())
        adds = np.zeros((3, at.count), dtype=np.int64)
        adds[0, at.f] = gpus[fixed & mine].sum() - surplus[rank] + surplus[rank + 1]
        adds[0, at.x], adds[0, at.y] = gpus[leavers] * mine[leavers], gpus[job] * mine[job]
        adds[0, at.o] = (table.tenants.rank == rank + 1).astype(np.int64) - (table.tenants.rank == rank)
        adds[1, at.e] = -gpus[evictable] * mine[evictable]
        adds[1, at.y] = -gpus[job] * table.restarting * mine[job]
        adds[2, at.f] = status.values.stays[fixed & mine].sum()
        adds[2, at.x] = status.values.stays[leavers] * mine[leavers]
        adds[2, at.e] = -status.values.restart[evictable] * mine[evictable]
        adds[2, at.y] = work * mine[job]
        most = min(asked, status.total) if status.classes == 1 else asked
        within.append(_Tier(adds=adds[0], weight=weights.premium[rank], base=bases[0][rank], best=most))
        preempted.append(_Tier(adds=adds[1], weight=weights.penalty[rank], base=bases[1][rank], best=0))
        best = int(status.values.most[mine].sum())
        worth.append(_Tier(adds=adds[2], weight=weights.work[rank], base=bases[2][rank], best=best))
    return [*within, *(preempted if len(table.tenants.losing) else ()), *worth]


def _stages(tiers: list[_Tier]) -> Iterator[Stage]:
    """Yield the tiers as stages, several together while they are small enough."""
    block: list[_Tier] = []
    for tier in tiers:
        if block and block[0].weight // tier.weight * block[0].base > MOST_IN_STAGE:
            yield _stage(block)
            block = []
        block.append(tier)
    yield _stage(block)


def _stage(block: list[_Tier]) -> Stage:
    weight = block[-1].weight
    times = [tier.weight // weight for tier in block]
    adds = sum((tier.adds * each for tier, each in zip(block, times, strict=True)), np.zeros_like(block[0].adds))
    best = sum(tier.best * each for tier, each in zip(block, times, strict=True))
    return Stage(objective=adds, weight=weight, best=best)


def _objective(round_: Round, table: PlacementColumns, at: Letters) -> Ints:
    """Return what columns add to the value; where that is too large for machine words, to its first stage."""
    tiers = _tiers(round_, table, at)
    if table.status.values.fit:
        return sum((tier.weight * tier.adds for tier in tiers), np.zeros(at.count, dtype=np.int64))
    return next(_stages(tiers)).objective
