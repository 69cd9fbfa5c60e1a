"""The search of the chapter *grouping* where groups are too many to list: columns are priced on demand.

The linear relaxation of the program over some groups tells prices, at these prices groups are looked for that are worth
more than they pay (:mod:`.group_pricing`), and so on until there are none (:mod:`muri_opt.algorithms`). The prices
bound the round; the verifier shows it by its own means. Then the relaxation is rounded: groups that run for the most
part are taken, groups of the others are priced anew, and the few jobs that are left are a program for a solver.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from muri_opt.algorithms.column_generation import Smoothing, Told, Turn, generate_columns
from muri_opt.modelling import Model, Relax, Relaxed, SolveStages, Stage, Values
from muri_opt.rounds import Budget, Decision, Limits, LinearDuals, Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.systems.muri.coarse_prices import coarse_columns
from muri_opt.systems.muri.group_pricing import PER_STEP, Charges, GroupPricing, Seen, different
from muri_opt.systems.muri.program_columns import GroupColumns
from muri_opt.systems.muri.program_prices import job_prices
from muri_opt.systems.muri.program_types import GroupTypes
from muri_opt.systems.pooled_limits import whole_prices
from muri_opt.systems.program import Searched

Floats = NDArray[np.float64]
Prices = Mapping[str, Floats]
"""Prices by the labels of rows; those of ``once`` for every job."""
CLOSE: Final = 0.002
"""Part of the bound by which prices may be off at the end."""
CHECK: Final = 2.5e-9
"""Seconds that checking prices takes, for each three jobs that may share."""
PRICING: Final = 0.7
"""Part of the budget that is for prices; what is left of it is for a decision."""
SHORT: Final = 0.75
"""Part of the budget that is used where it is too short to check prices: one that ends too late has no answer."""
FEW: Final = 40
"""Jobs up to which the rest of a program is left to a solver."""
ENOUGH: Final = 20.0
"""Units of work of the last program where there is no limit."""
_NEW_OF_TYPE: Final = 2
"""Groups of each type that are taken up in other quick looks."""
_FIRST: Final = 6
"""Groups of each type that are taken up at the very first prices, and in wide looks, which are dear."""
_NEAR: Final = 1.0
"""Standard deviations of profits by which those groups may be below what they pay."""
_TAKEN: Final = 0.3
"""Part of the groups that is taken at once, those that run for the most part first."""
_TINY: Final = 1e-6


class Program(Protocol):
    """The program over some groups."""

    def model_over(self, round_: Round, columns: GroupColumns) -> Model:
        """Return the program."""

    def prices_over(self, round_: Round, columns: GroupColumns, model: Model, row_duals: Floats) -> dict[str, Floats]:
        """Return the prices that duals of its relaxation stand for."""

    def decision_over(self, round_: Round, columns: GroupColumns, values: Values) -> Decision:
        """Return the decision that values stand for."""


def seconds_to_check(types: GroupTypes) -> float:
    """Return about how long the verifier takes to check prices of a round."""
    sizes = types.g if types.rules.sizes == "equal" else np.zeros_like(types.g)
    most = np.bincount(np.unique(sizes, return_inverse=True)[1], np.minimum(types.count, types.largest))
    return 0.02 + CHECK * float((most**3).sum())


def search_groups(
    program: Program,
    round_: Round,
    types: GroupTypes,
    start: Decision | None,
    budget: Budget,
    relax: Relax,
    solve: SolveStages,
) -> Searched | None:
    """Return a decision over priced groups and the prices that bound the round.

    Where there is no time to check such prices, those of single jobs bound it instead. Where there is a decision to
    ``start`` from, ``None`` is returned then, and where so little work is allowed (a unit counts as a second).
    """
    left = budget.limits.seconds
    check = seconds_to_check(types)
    is_short = left is not None and left < 4 * check
    has_little_work = budget.limits.work is not None and budget.limits.work < 4 * check
    if start is not None and (is_short or has_little_work):
        return None
    within = budget if left is None else budget.until(SHORT if is_short else 1 - check / left)
    master = _Master(program, round_, types, relax)
    master.take(_started(round_, types, start))
    duals: LinearDuals | None
    if is_short:
        master.look_quickly(within.until(PRICING))
        duals = job_prices(round_, types.rules)
    else:
        duals = whole_prices(dict(master.priced(within.until(PRICING))), always=("once", "gpus"))
    values = master.rounded(within, solve)
    found = f"{len(master.groups):,} groups were priced of those that there are"
    return Searched(
        decision=program.decision_over(round_, master.columns, values),
        duals=duals,
        detail=found,
    )


def _between(best: Prices, told: Prices, share: float) -> Prices:
    """Return prices with so large a share of the best ones."""
    return {label: share * best[label] + (1 - share) * price for label, price in told.items() if label in best}


def _started(round_: Round, types: GroupTypes, start: Decision | None) -> Ints:
    """Return every type alone that can run, and the groups of a decision."""
    able = np.flatnonzero(types.able(round_) > 0)
    rows = [[kind] for kind in able.tolist()]
    decided = () if start is None else start.assignments
    rows += [sorted(int(types.type_of[round_.job_index[job]]) for job in assignment.jobs) for assignment in decided]
    groups = np.full((len(rows), types.largest), -1, dtype=np.int64)
    for place, row in enumerate(rows):
        groups[place, : len(row)] = row
    return groups


class _Master:
    """The groups that are known, and what the program over them says."""

    def __init__(self, program: Program, round_: Round, types: GroupTypes, relax: Relax) -> None:
        self.program, self.round_, self.types, self.relax = program, round_, types, relax
        self.able = types.able(round_)
        self.pricing = GroupPricing(types, self.able)
        self.groups = np.zeros((0, types.largest), dtype=np.int64)
        self.wide = self.dry = False
        self.told: Prices = {}
        self.parts, self.parts_at_home = np.zeros(0), np.zeros(len(types.homes.home))
        self.best: Prices = {}
        self.bound = float("inf")
        smallest = int(types.g[self.able > 0].min(initial=round_.cluster.total_gpus) or 1)
        self.most = min(int(self.able.sum()), round_.cluster.total_gpus // smallest)
        self._columns: GroupColumns | None = None

    @property
    def columns(self) -> GroupColumns:
        """The groups with their values, and those that go on as they are."""
        if self._columns is None or len(self._columns.value) != len(self.groups) + len(self.types.homes.home):
            self._columns = GroupColumns.over(self.round_, self.types.rules, self.groups)
        return self._columns

    def take(self, groups: Ints) -> int:
        """Take up groups that are not known yet; return how many."""
        before = len(self.groups)
        known = {tuple(row) for row in self.groups.tolist()}
        new = [row for row in different(groups).tolist() if tuple(row) not in known]
        if new:
            self.groups = np.concatenate([self.groups, np.array(new, dtype=np.int64)])
        return len(self.groups) - before

    def first_prices(self, budget: Budget) -> Prices:
        """Return prices to begin with: those of similar jobs put together.

        Where the budget is too small for these, the GPUs are for groups as good as the best known, and nobody pays.
        """
        columns = coarse_columns(self.round_, self.types)
        model = self.program.model_over(self.round_, columns)
        relaxed = self.relax(model, budget)
        if relaxed is not None:
            return self.program.prices_over(self.round_, columns, model, relaxed.duals)
        columns = self.columns
        each = np.sort(columns.value / np.maximum(1, columns.gpus))[::-1]
        return {"once": np.zeros(len(self.round_.jobs)), "gpus": np.array([each[: self.most].mean()])}

    def look_quickly(self, budget: Budget) -> None:
        """Take up groups by quick looks, at prices that bound nothing, until these find few or the budget is over.

        The first prices are good, and those of the program are not before it has enough groups: most of the best ones
        so far is mixed in. What quick looks say of a bound is only good enough to tell which prices are the best.
        """
        self.told = first = self.first_prices(budget)
        mixed: Smoothing[Prices] = Smoothing(between=_between, share=0.8, few=len(self.types.g) / 5, least=0.05)
        generate_columns(self, first, budget, smoothing=mixed, enough=lambda _: self.dry)

    def priced(self, budget: Budget) -> Prices:
        """Return the best prices in the budget: first by quick looks, then by wide ones.

        Jobs of groups that still are above what they pay have risen prices, each by its part of the most that is
        missing: that covers every group that was seen, for less than all GPUs at a higher price.
        """
        self.look_quickly(budget)
        self.wide = True
        mixed: Smoothing[Prices] = Smoothing(between=_between, share=0.4, few=5, least=0.05)
        generate_columns(self, self.told, budget, smoothing=mixed, close=CLOSE)
        return self.best

    def price(self, multipliers: Prices) -> Turn:
        """Take up groups that are worth more than they pay; the bound is as good as what was looked at."""
        seen = self._look(multipliers)
        new = self.take(self._chosen(seen))
        total = sum(float(price @ self._supply(label)) for label, price in multipliers.items())
        raised = self._raised(seen)
        more = float(raised @ self.able)
        most = self.most * float(seen.profit.max(initial=0.0))
        bound = total + min(more, most)
        self.dry = new < len(self.types.g) / 4
        if self.wide and bound < self.bound:
            self.bound = bound
            self.best = dict(multipliers)
            if more < most:
                self.best["once"] = multipliers["once"] + raised[self.types.type_of]
        return Turn(bound, new if self.wide else max(1, new))

    def _raised(self, seen: Seen) -> Floats:
        """Return by how much prices of types have to rise so that no group that was seen is above what it pays."""
        above = np.maximum(0.0, seen.profit) / np.maximum(1, (seen.groups >= 0).sum(axis=1))
        raised = np.zeros(len(self.types.g) + 1)
        np.maximum.at(raised, seen.groups, above[:, None])  # the last is for no job
        return raised[:-1]

    def _look(self, prices: Prices, among: Ints | None = None) -> Seen:
        return self.pricing.look(self._charges(prices), wide=self.wide and among is None, among=among)

    def _chosen(self, seen: Seen) -> Ints:
        """Return the best groups of every type; at the very first prices also those that nearly pay."""
        first = len(self.groups) < _FIRST * len(self.types.g)
        least = -_NEAR * float(seen.profit.std() if first and len(seen.profit) else 0.0)
        able = np.flatnonzero(seen.profit > least + _TINY * max(1.0, float(np.abs(seen.profit).max(initial=0.0))))
        able = able[np.argsort(-seen.profit[able], kind="stable")]
        most = _FIRST if first or self.wide else _NEW_OF_TYPE
        taken, kept = np.zeros(len(self.types.g) + 1, dtype=np.int64), []
        for place, row in zip(able.tolist(), seen.groups[able].tolist(), strict=True):
            kinds = [kind for kind in row if kind >= 0]
            if (taken[kinds] < most).any():
                taken[kinds] += 1
                kept.append(place)
        return seen.groups[kept]

    def solve_master(self, budget: Budget) -> Told[Prices] | None:
        """Return the prices of the program over the known groups."""
        budget.spend(PER_STEP * self.pricing.steps)
        self.pricing.steps = 0
        model = self.program.model_over(self.round_, self.columns)
        relaxed = self.relax(model, budget)
        if relaxed is None:
            return None
        self._remember(relaxed)
        self.told = prices = self.program.prices_over(self.round_, self.columns, model, relaxed.duals)
        return Told(prices, float(model.objective @ relaxed.values))

    def _remember(self, relaxed: Relaxed) -> None:
        """Remember for which part groups run in the last relaxation that was solved."""
        stay = len(self.groups)
        self.parts, self.parts_at_home = relaxed.values[:stay], relaxed.values[stay : len(self.columns.value)]

    def _line(self) -> Ints:
        """Return the known groups, those first that ran for the largest part, and of others those that pay the most."""
        new = np.zeros(len(self.groups) - len(self.parts))
        parts = np.concatenate([self.parts, new, self.parts_at_home])
        profit = self.columns.value.astype(np.float64)
        if self.told:
            profit -= self._charges(self.told).of(self.types, self.columns.groups)
        return np.lexsort((-profit, -parts[: len(profit)]))

    def _charges(self, prices: Prices) -> Charges:
        """Return prices as what jobs of each type pay."""
        types, nothing = self.types, np.zeros(1)
        tenants = prices.get("quota", np.zeros(len(self.round_.amounts.U)))
        lines = self.round_.amounts.lines
        own = tenants if lines is None else np.array([tenants[[*line]].sum() for line in lines])
        quota = np.append(own, 0.0)[types.tenant]  # the last is for jobs of no tenant, which are -1
        cpu, memory = (float(prices.get(label, nothing).sum()) for label in ("cpus", "memory"))
        return Charges(
            job=prices["once"][types.first_job] + quota * types.g,
            per_gpu=cpu * types.c + memory * types.m,
            gpu=float(prices["gpus"][0]),
        )

    def _supply(self, label: str) -> Floats:
        """Return how much there is of what has prices of that label."""
        round_, amounts = self.round_, self.round_.amounts
        if label in ("cpus", "memory"):
            has = amounts.C if label == "cpus" else amounts.M
            return np.array([float(has.sum())] if len(has) and (has < UNLIMITED).all() else [], dtype=np.float64)
        supply: dict[str, Floats] = {
            "once": (self.able > 0)[self.types.type_of].astype(np.float64),
            "gpus": np.array([float(round_.cluster.total_gpus)]),
            "quota": np.where(amounts.U < UNLIMITED, amounts.U, 0).astype(np.float64),
            "kept": np.array([float(job.state == "running") for job in round_.jobs]),
            "home": amounts.G.astype(np.float64),
        }
        return supply[label]

    def rounded(self, budget: Budget, solve: SolveStages) -> Values:
        """Return values of the known groups, found by taking those that run for the most part, step by step."""
        taken = np.zeros(0, dtype=np.int64)
        while True:
            taken = np.append(taken, np.zeros(len(self.columns.value) - len(taken), dtype=np.int64))
            model = _at_least(self.program.model_over(self.round_, self.columns), taken)
            if self._left(taken).sum() <= FEW or len(self.columns.types.weights) > 1 or budget.over():
                return self._solved(model, taken, budget, solve)
            relaxed = self.relax(model, budget)
            if relaxed is None:
                return _filled(model, taken, self._line())
            self._remember(relaxed)
            more = self._more(taken, relaxed)
            if not more.any():
                return self._solved(model, taken, budget, solve)
            taken = self._widened(taken + more, model, relaxed)

    def _left(self, taken: Ints) -> Ints:
        """Return how many jobs of each type are left that could be taken."""
        group, kind, times = self.columns.entries
        used = np.bincount(kind, times * taken[group], minlength=len(self.able)).astype(np.int64)
        return self.able - used

    def _more(self, taken: Ints, relaxed: Relaxed) -> Ints:
        """Return which groups to take next, and how often: all whole ones, and some of the largest fractions."""
        rest = relaxed.values[: len(taken)] - taken
        more = np.floor(rest + _TINY).astype(np.int64)
        parts = rest - more
        line = np.argsort(-parts, kind="stable")
        line = line[parts[line] > _TINY]
        left, (group, kind, times) = self._left(taken + more), self.columns.entries
        starts = np.searchsorted(group, np.arange(len(taken) + 1))
        wanted = int(np.ceil(_TAKEN * rest.sum())) - int(more.sum())
        room = self.round_.cluster.total_gpus - int(self.columns.gpus @ (taken + more))
        for place in line.tolist() if wanted > 0 else ():
            span = slice(starts[place], starts[place + 1])
            if (times[span] <= left[kind[span]]).all() and self.columns.gpus[place] <= room:
                left[kind[span]] -= times[span]
                room -= int(self.columns.gpus[place])
                more[place] += 1
                wanted -= 1
                if wanted <= 0:
                    break
        return more

    def _widened(self, taken: Ints, model: Model, relaxed: Relaxed) -> Ints:
        """Take up groups of the jobs that are left, by the prices of what is left; return what is taken, as before."""
        before, homes = len(self.groups), len(self.types.homes.home)
        prices = self.program.prices_over(self.round_, self.columns, model, relaxed.duals)
        self.take(self._chosen(self._look(prices, self._left(taken))))
        added = np.zeros(len(self.groups) - before, dtype=np.int64)
        return np.concatenate([taken[:before], added, taken[before : before + homes]])

    def _solved(self, model: Model, taken: Ints, budget: Budget, solve: SolveStages) -> Values:
        """Return what a solver makes of the rest, or what is taken if it says nothing in time."""
        greedy = _filled(model, taken, self._line())
        if budget.over():
            return greedy
        several = len(self.columns.types.weights) > 1
        plain = (Stage(objective=model.objective, weight=1, best=0),)
        stages = self.columns.classes.stages(model.column_count) if several else plain
        limits = budget.left() if budget.limited else Limits(work=ENOUGH)
        outcome = solve(model, stages, limits, None if model.column_count > len(greedy) else greedy)
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
