"""The relaxation of a program over known groups, rounded to a decision.

Groups that run for the most part are taken, groups of the others are priced anew, and so on; the few jobs that are left
are a program for a solver. Then members are exchanged between groups (:mod:`.group_exchange`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from muri_opt.errors import RefusalError
from muri_opt.modelling import Model, Relaxed, SolveStages, Stage, Values
from muri_opt.rounds import Budget, Limits
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.muri.group_exchange import exchanged, in_order
from muri_opt.systems.muri.group_keys import keys
from muri_opt.systems.muri.group_pricing import TINY
from muri_opt.systems.muri.program_master import Master

FEW: Final = 40
"""Jobs up to which the rest of a program is left to a solver."""
ENOUGH: Final = 20.0
"""Units of work of the last program where there is no limit."""
DIVING: Final = 0.85
"""Part of the budget that is used up when members begin to be exchanged, at the latest."""
EXCHANGING: Final = 0.95
"""Part of the budget that is used up when that ends."""
_TAKEN: Final = 0.3
"""Part of the groups that is taken at once, those that run for the most part first."""


@dataclass(frozen=True, slots=True, eq=False)
class Rounding:
    """The groups to round, and what solves the last program."""

    master: Master
    solve: SolveStages

    def values(self, budget: Budget) -> Values:
        """Return values of the known groups; those that the exchange of members has found become known."""
        values = self._dived(budget.until(DIVING))
        if len(self.master.columns.types.weights) > 1:  # groups are worth something to each class
            return values
        return self._exchanged(np.asarray(values, dtype=np.int64), budget.until(EXCHANGING))

    def _exchanged(self, values: Ints, budget: Budget) -> Values:
        """Return values after members were exchanged between groups on as many GPUs; those that go on stay as they are.

        That changes nothing in what jobs take together. Others only take part where GPUs alone are limited.
        """
        master, types = self.master, self.master.types
        known = len(master.groups)
        runs = np.repeat(master.groups, values[:known], axis=0)
        gpus, left, found = types.gpus_of(runs), self._left(values), [np.zeros((0, types.largest), dtype=np.int64)]
        for size in np.unique(gpus).tolist():
            fits = (types.g == size) if types.rules.sizes == "equal" else (types.g <= size)
            spare = np.where(fits, left, 0) if master.is_free else np.zeros_like(left)
            before = runs[gpus == size]
            found.append(in_order(exchanged(types, before, np.repeat(np.arange(len(left)), spare), budget), len(left)))
            left = left + _counted(before, len(left)) - _counted(found[-1], len(left))
        groups = np.concatenate(found)
        master.take(groups[(groups >= 0).any(axis=1)])
        more = len(master.groups) - known
        better = np.concatenate([np.zeros(known + more, dtype=np.int64), values[known:]])
        better[: known + more] = _times(master.groups, groups, len(left))
        return better

    def _dived(self, budget: Budget) -> Values:
        """Return values of the known groups, found by taking those that run for the most part, step by step."""
        taken = np.zeros(0, dtype=np.int64)
        while True:
            taken = np.append(taken, np.zeros(len(self.master.columns.value) - len(taken), dtype=np.int64))
            model = _at_least(self.master.program.model_over(self.master.round_, self.master.columns), taken)
            if self._left(taken).sum() <= FEW or len(self.master.columns.types.weights) > 1 or budget.over():
                return self._solved(model, taken, budget)
            relaxed = self.master.relax(model, budget, central=True)
            if relaxed is None:
                return _filled(model, taken, self.master.line())
            self.master.remember(relaxed)
            more = self._more(taken, relaxed)
            if not more.any():
                return self._solved(model, taken, budget)
            taken = self._widened(taken + more, model, relaxed)

    def _left(self, taken: Ints) -> Ints:
        """Return how many jobs of each type are left that could be taken."""
        group, kind, times = self.master.columns.entries
        used = np.bincount(kind, times * taken[group], minlength=len(self.master.able)).astype(np.int64)
        return self.master.able - used

    def _more(self, taken: Ints, relaxed: Relaxed) -> Ints:
        """Return which groups to take next, and how often: all whole ones, and some of the largest fractions."""
        rest = relaxed.values[: len(taken)] - taken
        more = np.floor(rest + TINY).astype(np.int64)
        if (self._left(taken + more) < 0).any():  # the relaxation is solved to some digits only
            more = np.zeros_like(taken)
        parts = rest - more
        line = np.argsort(-parts, kind="stable")
        line = line[parts[line] > TINY]
        left, (group, kind, times) = self._left(taken + more), self.master.columns.entries
        starts = np.searchsorted(group, np.arange(len(taken) + 1))
        wanted = int(np.ceil(_TAKEN * rest.sum())) - int(more.sum())
        room = self.master.round_.cluster.total_gpus - int(self.master.columns.gpus @ (taken + more))
        for place in line.tolist() if wanted > 0 else ():
            span = slice(starts[place], starts[place + 1])
            if (times[span] <= left[kind[span]]).all() and self.master.columns.gpus[place] <= room:
                left[kind[span]] -= times[span]
                room -= int(self.master.columns.gpus[place])
                more[place] += 1
                wanted -= 1
                if wanted <= 0:
                    break
        return more

    def _widened(self, taken: Ints, model: Model, relaxed: Relaxed) -> Ints:
        """Take up groups of the jobs that are left, by the prices of what is left; return what is taken, as before."""
        before, kept = len(self.master.groups), len(self.master.types.kept.placement)
        prices = self.master.program.prices_over(self.master.round_, self.master.columns, model, relaxed.duals)
        self.master.take(self.master.chosen(self.master.look(prices, self._left(taken))))
        added = np.zeros(len(self.master.groups) - before, dtype=np.int64)
        return np.concatenate([taken[:before], added, taken[before : before + kept]])

    def _solved(self, model: Model, taken: Ints, budget: Budget) -> Values:
        """Return what a solver makes of the rest, or what is taken if it says nothing in time."""
        greedy = _filled(model, taken, self.master.line())
        if budget.over():
            return greedy
        several = len(self.master.columns.types.weights) > 1
        plain = (Stage(objective=model.objective, weight=1, best=0),)
        stages = self.master.columns.classes.stages(model.column_count) if several else plain
        limits = budget.left() if budget.limited else Limits(work=ENOUGH)
        try:
            outcome = self.solve(model, stages, limits, None if model.column_count > len(greedy) else greedy)
        except RefusalError:  # numbers too large for the solver: what is taken is an answer, too
            return greedy
        budget.spend(outcome.work)
        return greedy if outcome.values is None else outcome.values


def _filled(model: Model, taken: Ints, line: Ints) -> Ints:
    """Return what is taken with all that still fits, in line."""
    matrix, count = model.matrix, len(taken)
    rows = np.repeat(np.arange(model.row_count), np.diff(matrix.starts))
    mine = matrix.columns < count  # those of the groups are the first
    rows, columns, uses = rows[mine], matrix.columns[mine], matrix.coefficients[mine]
    order = np.argsort(columns, kind="stable")
    rows, uses, starts = rows[order], uses[order], np.searchsorted(columns[order], np.arange(count + 1))
    left = matrix.upper - np.bincount(rows, uses * taken[columns[order]], minlength=model.row_count).astype(np.int64)
    values = taken.copy()
    for place in line.tolist():
        span = slice(starts[place], starts[place + 1])
        positive = uses[span] > 0
        times = int(
            (left[rows[span]][positive] // uses[span][positive]).min(initial=model.upper[place] - values[place])
        )
        if times > 0 and model.objective[place] > 0:
            values[place] += times
            left[rows[span]] -= times * uses[span]
    return values


def _at_least(model: Model, taken: Ints) -> Model:
    """Return the program in which groups run at least as often as they are taken."""
    first, *others = model.columns
    return replace(model, columns=(replace(first, lower=taken), *others))


def _counted(groups: Ints, kinds: int) -> Ints:
    """Return how many jobs of each type groups have."""
    return np.bincount(groups[groups >= 0], minlength=kinds)


def _times(known: Ints, groups: Ints, kinds: int) -> Ints:
    """Return how often each known group is among groups, all of which are known or empty."""
    place = {key: at for at, key in enumerate(keys(known, kinds).tolist())}
    found = [place[key] for key in keys(groups[(groups >= 0).any(axis=1)], kinds).tolist()]
    return np.bincount(np.array(found, dtype=np.int64), minlength=len(known))
