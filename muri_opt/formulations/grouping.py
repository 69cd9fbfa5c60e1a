"""Chapter *grouping*: which jobs interleave on the same GPUs.

Letters as in the chapter: types t of equal jobs, groups S of up to p jobs of equal GPU count, as multisets of types;
x_S how often group S runs.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from muri_opt.formulations.base import Formulation
from muri_opt.formulations.group_columns import GroupColumns
from muri_opt.instance import Round
from muri_opt.instance.amounts import UNLIMITED
from muri_opt.instance.quantities import MICROSECONDS_PER_SECOND
from muri_opt.interleaving import SLOWDOWN, group_periods
from muri_opt.modelling import Ints, Model, ModelBuilder, Values
from muri_opt.ordering import priority_order
from muri_opt.placement import Leftover, best_fit
from muri_opt.solution import Decision, LinearDuals, Placed, group_decision

DENOMINATOR = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupingFormulation(Formulation):
    """Choose disjoint groups of jobs of equal GPU count, so that their efficiencies add up to the most."""

    order: str
    largest_group: int
    pattern: str
    slowdown: str

    chapter: ClassVar[str] = "grouping"

    def build(self, round_: Round) -> Model:
        """Return the program: every job in at most one group, groups within the GPUs, CPUs, memory and quotas."""
        columns = self._columns(round_)
        amounts = round_.amounts
        builder = ModelBuilder("grouping")
        count = len(columns.efficiency)
        x = builder.add_columns("x", np.arange(count), upper=columns.most)
        group, kind, times = columns.entries
        types = np.arange(len(columns.count))
        builder.add_rows("once", types, entries=(kind, x[group], times), sense="<=", rhs=columns.count)
        total = [round_.cluster.total_gpus]
        builder.add_rows("gpus", [0], entries=(np.zeros(count, dtype=np.int64), x, columns.gpus), sense="<=", rhs=total)
        for label, need, has in (("cpus", columns.c, amounts.C), ("memory", columns.m, amounts.M)):
            limited = np.arange(int(len(has) > 0 and bool((has < UNLIMITED).all())))
            use = (need[kind] * times * columns.gpus[group])[: len(group) * len(limited)]
            entries = (np.zeros_like(use), x[group[: len(use)]], use)
            builder.add_rows(label, limited, entries=entries, sense="<=", rhs=[int(has.sum())] * len(limited))
        limited = np.flatnonzero(amounts.U < UNLIMITED)
        owned = np.isin(columns.tenant[kind], limited)
        rows = np.searchsorted(limited, columns.tenant[kind[owned]])
        use = times[owned] * columns.gpus[group[owned]]
        builder.add_rows("quota", limited, entries=(rows, x[group[owned]], use), sense="<=", rhs=amounts.U[limited])
        return builder.finish(maximise=True, columns=x, coefficients=columns.efficiency)

    def decode(self, round_: Round, values: Values) -> Decision:
        """Return the decision: of equal jobs the first in the policy's order run; large groups are placed first.

        A group that CPUs or memory of single nodes keep from being placed is left out; its jobs wait.
        """
        columns = self._columns(round_)
        queues: list[deque[int]] = [deque() for _ in columns.count]
        for job in priority_order(round_, self.order):
            queues[columns.type_of[job]].append(job)
        chosen = [
            tuple(queues[kind].popleft() for kind in columns.members(group))
            for group in np.flatnonzero(values).tolist()
            for _ in range(int(values[group]))
        ]
        chosen.sort(key=lambda jobs: -round_.jobs[jobs[0]].gpus)
        left = Leftover(round_)
        placed = []
        for jobs in chosen:
            share = best_fit(left.room(*jobs), round_.jobs[jobs[0]].gpus)
            if share is not None:
                left.take(share, *jobs)
                placed.append(self._timed(round_, columns, jobs, share))
        return group_decision(round_, placed, consolidate=False)

    def encode(self, round_: Round, decision: Decision) -> Ints:
        """Return how often each group runs in a decision."""
        columns = self._columns(round_)
        values = np.zeros(len(columns.efficiency), dtype=np.int64)
        position = {columns.members(group): group for group in range(len(values))}
        for assignment in decision.assignments:
            kinds = tuple(sorted(int(columns.type_of[round_.job_index[job]]) for job in assignment.jobs))
            values[position[kinds]] += 1
        return values

    @property
    def has_duals(self) -> bool:
        """Only periods in exact integers give evidence that can be checked."""
        return self.pattern == "cyclic" and self.slowdown == "none"

    def duals(self, round_: Round, model: Model, row_duals: NDArray[np.float64]) -> LinearDuals | None:
        """Return the prices of jobs and GPUs from the duals of the linear relaxation.

        A group that runs as often as it can may be worth more than its rows charge; the type that it uses up is charged
        the rest.
        """
        columns = self._columns(round_)
        types = len(columns.count)
        matrix = model.matrix
        duals = np.maximum(0.0, row_duals)
        charged = np.repeat(duals, np.diff(matrix.starts)) * matrix.coefficients
        rest = np.maximum(0.0, model.objective - np.bincount(matrix.columns, charged, minlength=model.column_count))
        group, kind, times = columns.entries
        short = np.flatnonzero((columns.count[kind] // times == model.upper[group]) & (rest[group] > 0))
        short = short[np.unique(group[short], return_index=True)[1]]
        extra = np.zeros(types)
        np.maximum.at(extra, kind[short], rest[group[short]] / times[short])
        once = np.rint((duals[:types] + extra) * DENOMINATOR).astype(np.int64)
        gpus = round(float(duals[types]) * DENOMINATOR)
        prices = {"once": tuple(once[columns.type_of].tolist()), "gpus": (gpus,)}
        return LinearDuals(denominator=DENOMINATOR, multipliers=prices)

    def _columns(self, round_: Round) -> GroupColumns:
        return GroupColumns.of(round_, self.largest_group, self.pattern, self.slowdown)

    def _timed(self, round_: Round, columns: GroupColumns, jobs: tuple[int, ...], share: Ints) -> Placed:
        if len(jobs) == 1:
            return Placed(jobs=jobs, share=share, period_seconds=round_.jobs[jobs[0]].iteration_seconds)
        found = group_periods(columns.stages[columns.type_of[list(jobs)]][None], self.pattern)
        period = int(found.microseconds[0]) / MICROSECONDS_PER_SECOND * SLOWDOWN[self.slowdown][len(jobs)]
        return Placed(jobs=jobs, share=share, order=tuple(found.orders[0].tolist()), period_seconds=period)
