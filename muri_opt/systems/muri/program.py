"""Chapter *grouping*: which jobs interleave on the same GPUs.

Letters as in the chapter: types t of equal jobs, groups S of up to p jobs, as multisets of types; x_S how often
group S runs.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import Ints, Model, ModelBuilder, Values
from muri_opt.rounds import Decision, Prices, Round
from muri_opt.rounds.quantities import MICROSECONDS_PER_SECOND
from muri_opt.systems.capacity import Leftover, Placed, best_fit, group_decision
from muri_opt.systems.muri.group_values import GroupRules
from muri_opt.systems.muri.interleaving import SLOWDOWN, group_periods
from muri_opt.systems.muri.program_columns import GroupColumns
from muri_opt.systems.muri.program_duals import matching_duals
from muri_opt.systems.orders import priority_order
from muri_opt.systems.pooled_limits import Uses, add_limits, row_prices, whole_prices
from muri_opt.systems.program import Formulation


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupingFormulation(Formulation):
    """Choose disjoint groups of jobs, so that their values add up to the most.

    >>> rules = GroupRules(order="srsf", largest_group=2, pattern="cyclic", slowdown="none")
    >>> len(GroupingFormulation(rules=rules).build(shipped_round("toy/eight-stages")).objective)
    36
    """

    rules: GroupRules

    chapter: ClassVar[str] = "grouping"
    late_imports: ClassVar[tuple[str, ...]] = ("scipy.optimize",)

    def build(self, round_: Round) -> Model:
        """Return the program: every job in at most one group, groups within the GPUs, CPUs, memory and quotas."""
        columns = GroupColumns.of(round_, self.rules)
        builder = ModelBuilder("grouping")
        count = len(columns.value)
        x = builder.add_columns("x", np.arange(count), upper=columns.most)
        group, kind, times = columns.entries
        types = np.arange(len(columns.count))
        builder.add_rows("once", types, entries=(kind, x[group], times), sense="<=", rhs=columns.count)
        uses = Uses(
            columns=x[group],
            cpus=columns.c[kind] * times * columns.gpus[group],
            memory=columns.m[kind] * times * columns.gpus[group],
            tenant=columns.tenant[kind],
            held=times * columns.g[kind],
        )
        add_limits(builder, round_, x, columns.gpus, uses)
        return builder.finish(maximise=True, columns=x, coefficients=columns.value)

    def decode(self, round_: Round, values: Values) -> Decision:
        """Return the decision: of equal jobs the first in the policy's order run; large groups are placed first.

        A group that CPUs or memory of single nodes keep from being placed is left out. Jobs in no group, or in one that
        was left out, run alone where there still is room.
        """
        columns = GroupColumns.of(round_, self.rules)
        order = priority_order(round_, self.rules.order)
        queues: list[deque[int]] = [deque() for _ in columns.count]
        for job in order:
            queues[columns.type_of[job]].append(job)
        chosen = [
            tuple(queues[kind].popleft() for kind in columns.members(group))
            for group in np.flatnonzero(values).tolist()
            for _ in range(int(values[group]))
        ]
        g = round_.amounts.g
        chosen.sort(key=lambda jobs: -int(g[list(jobs)].max()))
        left = Leftover(round_)
        running: set[int] = set()
        placed = []
        for jobs in (*chosen, *((job,) for job in order)):
            if running.isdisjoint(jobs) and left.within_quota(*jobs):
                share = best_fit(left.room(*jobs), int(g[list(jobs)].max()))
                if share is not None:
                    left.take(share, *jobs)
                    running.update(jobs)
                    placed.append(self._timed(round_, columns, jobs, share))
        return group_decision(round_, placed, consolidate=False)

    def encode(self, round_: Round, decision: Decision) -> Ints:
        """Return how often each group runs in a decision."""
        columns = GroupColumns.of(round_, self.rules)
        values = np.zeros(len(columns.value), dtype=np.int64)
        position = {columns.members(group): group for group in range(len(values))}
        for assignment in decision.assignments:
            kinds = tuple(sorted(int(columns.type_of[round_.job_index[job]]) for job in assignment.jobs))
            values[position[kinds]] += 1
        return values

    @property
    def has_duals(self) -> bool:
        """Jobs and everything that is limited have a price in the linear relaxation."""
        return True

    def duals(self, round_: Round, model: Model, row_duals: NDArray[np.float64]) -> Prices:
        """Return the prices of jobs, GPUs, CPUs, memory and quotas from the duals of the linear relaxation.

        A group that runs as often as it can may be worth more than its rows charge; the type that it uses up is charged
        the rest. Where groups are pairs, odd sets of jobs have prices too.
        """
        columns = GroupColumns.of(round_, self.rules)
        matrix = model.matrix
        duals = np.maximum(0.0, row_duals)
        charged = np.repeat(duals, np.diff(matrix.starts)) * matrix.coefficients
        rest = np.maximum(0.0, model.objective - np.bincount(matrix.columns, charged, minlength=model.column_count))
        group, kind, times = columns.entries
        short = np.flatnonzero((columns.count[kind] // times == model.upper[group]) & (rest[group] > 0))
        short = short[np.unique(group[short], return_index=True)[1]]
        extra = np.zeros(len(columns.count))
        np.maximum.at(extra, kind[short], rest[group[short]] / times[short])
        prices = row_prices(round_, model, duals)
        prices["once"] = (prices["once"] + extra)[columns.type_of]
        linear = whole_prices(prices, always=("once", "gpus"))
        return matching_duals(round_, columns, linear) or linear

    def _timed(self, round_: Round, columns: GroupColumns, jobs: tuple[int, ...], share: Ints) -> Placed:
        if len(jobs) == 1:
            return Placed(jobs=jobs, share=share, period_seconds=round_.jobs[jobs[0]].iteration_seconds)
        rules = self.rules
        found = group_periods(columns.stages[columns.type_of[list(jobs)]][None], rules.pattern, worst=rules.worst_order)
        period = int(found.microseconds[0]) / MICROSECONDS_PER_SECOND * SLOWDOWN[rules.slowdown][len(jobs)]
        return Placed(jobs=jobs, share=share, order=tuple(found.orders[0].tolist()), period_seconds=period)
