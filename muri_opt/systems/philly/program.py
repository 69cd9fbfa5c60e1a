"""Chapter *placement*: which gangs of which tenants run, and where; who is moved, who is preempted.

Letters as in the chapter: jobs j, nodes s, racks r, tenants v, spreads l; x_j stays, e_j preempted, y_jl put down
spread as l (a running job: moved, or preempted and started again), b_js whether and n_js with how many GPUs on s, t_jr
whether in rack r, o_v GPUs over the quota, p_v whether a tenant loses a job, f the jobs about which there is nothing to
decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

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
from muri_opt.systems.philly.tenant_rules import OLDEST, WHOLE, TenantRules
from muri_opt.systems.program import Formulation, Searched


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
        within, preempted, worth = _tiers(round_, table, at)
        value = table.standing.values.premium * within + table.standing.values.penalty * preempted + worth
        return builder.finish(maximise=True, columns=np.arange(at.count), coefficients=value)

    def stages(self, round_: Round, model: Model) -> tuple[Stage, ...]:
        """Return one stage, or three: GPUs within quotas, preempted GPUs as far as there can be any, and worth."""
        if self.rules.objective == "weighted":
            return Formulation.stages(self, round_, model)
        table, gpus = self.table(round_), int(round_.amounts.g.sum())
        within, preempted, worth = _tiers(round_, table, Letters.of(table))
        first = Stage(objective=within, weight=table.standing.values.premium, best=min(gpus, round_.cluster.total_gpus))
        second = Stage(objective=preempted, weight=table.standing.values.penalty, best=0)
        last = Stage(objective=worth, weight=1, best=(WHOLE + OLDEST) * gpus)
        return (first, second, last) if len(table.tenants.losing) else (first, last)

    def decode(self, round_: Round, values: Values) -> Decision:
        """Return the decision: jobs stay where they are unless the values say otherwise."""
        table = self.table(round_)
        return placement_decision(round_, table.standing, places_of(round_, table, values))

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

    def duals(self, round_: Round, model: Model, row_duals: NDArray[np.float64]) -> LinearDuals:
        """Return the multipliers of jobs and quotas from the duals of the linear relaxation."""
        return relaxed_duals(round_, self.table(round_), model, row_duals)


def _tiers(round_: Round, table: PlacementColumns, at: Letters) -> tuple[Ints, Ints, Ints]:
    """Return per column the GPUs within quotas, minus the preempted GPUs, and what else is gained or lost."""
    standing, gpus = table.standing, round_.amounts.g
    job = table.placements.first[table.placements.spreads.item]
    within, preempted, worth = (np.zeros(at.count, dtype=np.int64) for _ in range(3))
    within[at.f] = gpus[table.running.fixed].sum() - table.tenants.surplus
    within[at.x], within[at.y], within[at.o] = gpus[table.running.leavers], gpus[job], -1
    preempted[at.e], preempted[at.y] = -gpus[table.running.evictable], -gpus[job] * table.restarting
    worth[at.f], worth[at.x] = (
        standing.values.kept[table.running.fixed].sum(),
        standing.values.kept[table.running.leavers],
    )
    worth[at.e] = -standing.values.restart[table.running.evictable]
    worth[at.y] = standing.values.placed[job, table.placements.spreads.of] - standing.values.penalty * preempted[at.y]
    return within, preempted, worth
