"""Chapter *planning*: by which plan each job runs, and on which nodes.

Letters as in the chapter: options o of jobs j, nodes s, tenants v; x_o whether option o of several parts is taken, y_os
whether a part of it is on s, z_os whether that is one of its larger parts, where it has parts of two sizes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.modelling import Ints, Model, ModelBuilder, Relax, SolveStages, Stage, Values
from muri_opt.rounds import Budget, Decision, LinearDuals, Round
from muri_opt.rounds.amounts import UNLIMITED
from muri_opt.systems.plans.decision import chosen_in, plan_decision
from muri_opt.systems.plans.level_duals import first_level, of_all_levels
from muri_opt.systems.plans.node_patterns import cluster_prices
from muri_opt.systems.plans.options import PlanOptions
from muri_opt.systems.plans.plan_rules import PlanRules
from muri_opt.systems.plans.program_columns import PlanColumns
from muri_opt.systems.plans.program_duals import relaxed_duals
from muri_opt.systems.plans.program_search import search_patterns
from muri_opt.systems.plans.program_stages import plan_stages
from muri_opt.systems.plans.quota_lines import limited_lines, pairs
from muri_opt.systems.plans.stillness import undone
from muri_opt.systems.program import Formulation, Searched


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningFormulation(Formulation):
    """Run each job by at most one of its plans, guaranteed jobs first, so that the options add up to the most.

    >>> program = PlanningFormulation(rules=PlanRules())
    >>> len(program.build(shipped_round("toy/five-plans")).objective)
    24
    """

    rules: PlanRules

    chapter: ClassVar[str] = "planning"
    has_search: ClassVar[bool] = True

    def table(self, round_: Round) -> PlanColumns:
        """Return the options of the round and their columns."""
        return PlanColumns.of(round_, self.rules)

    def prepare(self, round_: Round) -> PlanOptions:
        """Return the options of the round, which are kept until another round is read."""
        return PlanOptions.of(round_, self.rules)

    def build(self, round_: Round) -> Model:
        """Return the program: at most one option per job, its parts on distinct nodes, within nodes and quotas.

        Its objective is what jobs of the first level of priorities are worth; stages have all levels.
        """
        table = self.table(round_)
        options, option, several = table.options, table.option, table.several
        builder = ModelBuilder(self.chapter)
        x = builder.add_columns("x", several)
        y = builder.add_columns("y", np.column_stack([option, table.node]))
        taken, of_option = np.append(x, y[table.alone]), np.append(several, option[table.alone])
        job, jobs = options.job[of_option], np.arange(len(round_.jobs))
        builder.add_rows("once", jobs, entries=(job, taken, 1), sense="<=", rhs=1)
        parts = np.flatnonzero(options.q[option] > 1)
        entries = (
            np.append(np.searchsorted(several, option[parts]), np.arange(len(several))),
            np.append(y[parts], x),
            np.append(np.ones_like(parts), -options.q[several]),
        )
        builder.add_rows("parts", several, entries=entries, sense="=", rhs=0)
        z = builder.add_columns("z", np.column_stack([table.wide, table.wide_node])) if len(table.wide) else table.wide
        if options.larger:
            _add_larger(builder, table, x, y, z)
        _add_nodes(builder, round_, table, y, z)
        _add_quota(builder, round_, options, taken, job)
        first = options.level[job] == 0
        return builder.finish(maximise=True, columns=taken, coefficients=np.where(first, options.e[of_option], 0))

    def stages(self, round_: Round, model: Model) -> tuple[Stage, ...]:
        """Return one stage, or more: how many guaranteed jobs run, how many jobs, then all that is gained or lost.

        The first only where jobs have guarantees, the second only where remaining times count; and all of them for each
        level of priorities, the first level first.
        """
        table = self.table(round_)
        stages = plan_stages(table)
        several = len(stages) > 1 or (stages and len(table.options.weights) > 1)
        return stages if several else Formulation.stages(self, round_, model)

    def decode(self, round_: Round, values: Values) -> Decision:
        """Return the decision: each option that has parts on nodes, there; of equal worth, where a job ran."""
        table = self.table(round_)
        parts, wide = np.split(values[len(table.several) :], [len(table.option)])
        used = np.flatnonzero(parts == 1)
        taken, starts = np.unique(table.option[used], return_index=True)
        nodes = np.split(table.node[used], starts[1:])
        chosen = dict(zip(taken.tolist(), nodes, strict=False))
        for option in table.options.larger.keys() & chosen.keys():
            first = table.wide_node[(wide == 1) & (table.wide == option)]
            chosen[option] = np.append(first, np.setdiff1d(chosen[option], first))
        return plan_decision(round_, table.options, undone(round_, table.options, chosen, equal=True))

    def encode(self, round_: Round, decision: Decision) -> Ints:
        """Return the columns of a decision; a job on the nodes it holds, by the plan it has there, is at home."""
        table = self.table(round_)
        here = np.zeros((len(table.options), len(round_.cluster.nodes)), dtype=np.bool_)
        large = np.zeros_like(here[:, :1]) if not len(table.wide) else np.zeros_like(here)
        for option, nodes in _taken(round_, table.options, decision).items():
            here[table.replaced[option], nodes] = True
            if option in table.options.larger:
                large[option, nodes[: table.options.larger[option].number]] = True
        parts = here[table.several].any(axis=1), here[table.option, table.node], large[table.wide, table.wide_node]
        return np.concatenate(parts).astype(np.int64)

    def search(
        self, round_: Round, start: Decision | None, budget: Budget, relax: Relax, solve: SolveStages
    ) -> Searched | None:
        """Return what patterns of whole nodes add up to, from the start on, and their prices.

        They add up values of one level of priorities only, and of options whose parts are all of one size.
        """
        options = self.prepare(round_)
        if len(options.weights) > 1 or options.larger:
            return None
        known = {} if start is None else _taken(round_, options, start)
        return search_patterns(round_, options, known, budget, relax, solve)

    @property
    def has_duals(self) -> bool:
        """The linear relaxation has a multiplier for every job and quota."""
        return True

    def quick_duals(self, round_: Round) -> LinearDuals | None:
        """Return multipliers from the knapsack of the whole cluster, without a solver."""
        options = self.prepare(round_)
        return of_all_levels(options, cluster_prices(round_, first_level(options)))

    @property
    def has_hurried_duals(self) -> bool:
        """A sample of the jobs tells nearly the same multipliers."""
        return True

    def hurried_duals(self, round_: Round) -> LinearDuals | None:
        """Return multipliers from the knapsack of a sample of the jobs."""
        options = self.prepare(round_)
        return of_all_levels(options, cluster_prices(round_, first_level(options), sampled=True))

    def duals(self, round_: Round, model: Model, row_duals: NDArray[np.float64]) -> LinearDuals:
        """Return the multipliers of jobs and quotas from the duals of the linear relaxation."""
        table = self.table(round_)
        first = replace(table, options=first_level(table.options))
        return of_all_levels(table.options, relaxed_duals(round_, first, model, row_duals))


def _add_larger(builder: ModelBuilder, table: PlanColumns, x: Ints, y: Ints, z: Ints) -> None:
    """Add the rows of options of two sizes: so many of their parts are larger ones, each of them a part of it."""
    options = np.array([o for o in table.several.tolist() if o in table.options.larger], dtype=np.int64)
    count = np.array([table.options.larger[o].number for o in options.tolist()], dtype=np.int64)
    mine = x[np.searchsorted(table.several, options)]
    entries = (
        np.append(np.searchsorted(options, table.wide), np.arange(len(options))),
        np.append(z, mine),
        np.append(np.ones_like(z), -count),
    )
    builder.add_rows("larger", options, entries=entries, sense="=", rhs=0)
    place = {pair: at for at, pair in enumerate(zip(table.option.tolist(), table.node.tolist(), strict=True))}
    pairs = zip(table.wide.tolist(), table.wide_node.tolist(), strict=True)
    part = y[np.array([place[pair] for pair in pairs], dtype=np.int64)]
    rows = np.arange(len(z))
    entries = np.append(rows, rows), np.append(z, part), np.append(np.ones_like(z), -np.ones_like(z))
    builder.add_rows("of_part", np.column_stack([table.wide, table.wide_node]), entries=entries, sense="<=", rhs=0)


def _add_nodes(builder: ModelBuilder, round_: Round, table: PlanColumns, y: Ints, z: Ints) -> None:
    """Add the rows of the nodes; CPUs and memory in the largest unit all parts are multiples of, to keep them small."""
    amounts, options = round_.amounts, table.options
    limits = (("gpus", options.g, amounts.G), ("cpus", options.c, amounts.C), ("memory", options.m, amounts.M))
    wide = np.array([options.more(o) for o in table.wide.tolist()], dtype=np.int64).reshape(len(table.wide), 3)
    for (label, need, has), more in zip(limits, wide.T, strict=True):
        unit = 1 if label == "gpus" else max(1, int(np.gcd.reduce(np.append(need, more))))
        bound = np.flatnonzero(has < UNLIMITED)
        here = np.flatnonzero(np.isin(table.node, bound))
        rows = np.searchsorted(bound, table.node[here])
        entries = (rows, y[here], need[table.option[here]] // unit)
        if len(wide):
            there = np.flatnonzero(np.isin(table.wide_node, bound))
            entries = (
                np.append(rows, np.searchsorted(bound, table.wide_node[there])),
                np.append(entries[1], z[there]),
                np.append(entries[2], more[there] // unit),
            )
        builder.add_rows(label, bound, entries=entries, sense="<=", rhs=has[bound] // unit)


def _add_quota(builder: ModelBuilder, round_: Round, options: PlanOptions, taken: Ints, job: Ints) -> None:
    """Add the rows of the quotas, in which guaranteed jobs count with the GPUs they ask for.

    A job counts for its tenant and for all tenants above it.
    """
    amounts = round_.amounts
    limited = np.flatnonzero(amounts.U < UNLIMITED)
    counts, quota = pairs(np.where(options.guaranteed, amounts.tenant, -1)[job], limited_lines(amounts))
    rows = np.searchsorted(limited, quota)
    entries = (rows, taken[counts], amounts.g[job[counts]])
    builder.add_rows("quota", limited, entries=entries, sense="<=", rhs=amounts.U[limited])


def _taken(round_: Round, options: PlanOptions, decision: Decision) -> dict[int, Ints]:
    """Return the options a decision takes, and their nodes, or refuse one that no option of its job matches."""
    found = chosen_in(round_, options, decision)
    if found is None:
        raise InputError(
            "decision", "a job by a plan that it may not run by", "plans, GPUs and CPUs as the round has them"
        )
    return found
