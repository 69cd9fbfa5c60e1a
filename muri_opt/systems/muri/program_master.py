"""The groups that are known where they are too many to list, and the prices that the program over them tells.

The linear relaxation of the program over some groups tells prices, at these prices groups are looked for that are worth
more than they pay (:mod:`.group_pricing`), and so on until there are none (:mod:`muri_opt.algorithms`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.algorithms.column_generation import Smoothing, Told, Turn, generate_columns
from muri_opt.modelling import Relax, Relaxed
from muri_opt.rounds import Budget, Round, unlimited
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.systems.muri.coarse_prices import coarse_columns
from muri_opt.systems.muri.group_keys import different
from muri_opt.systems.muri.group_looks import Reach
from muri_opt.systems.muri.group_pricing import Charges, GroupPricing, Seen, best_of_types
from muri_opt.systems.muri.program_columns import GroupColumns
from muri_opt.systems.muri.program_over import Program
from muri_opt.systems.muri.program_types import GroupTypes

Floats = NDArray[np.float64]
Prices = Mapping[str, Floats]
"""Prices by the labels of rows; those of ``once`` for every job."""
CLOSE: Final = 0.001
"""Part of the bound by which prices may be off at the end."""
QUICK_PART: Final = 0.35
"""Part of the budget for prices that quick looks may take, of what the first prices leave."""
WIDE_PART: Final = 0.45
"""Part of what they leave that wide looks may take."""
GRANTS: Final = (0.0, 0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.014, 0.02, 0.03, 0.04, 0.06, 0.09, 0.14, 0.25)
"""Parts of the value by which GPUs may be dearer than prices tell, so that groups that are hardly above are left out:
the last is as good as no bound."""
FULL_PART: Final = 0.65
"""Part of what is left that a full look may take: what is checked at last is as much as what such a look sees."""
LITTLE_PART: Final = 0.1
"""Part of it that a full look may take where no wide ones come before."""
_FINE: Final = 1e-4
"""Part of the value that all groups together may be above their prices."""
_NEW_OF_TYPE: Final = 2
"""Groups of each type that are taken up in other quick looks."""
_FIRST: Final = 6
"""Groups of each type that are taken up at the very first prices, and in looks that are dear."""
_NEAR: Final = 1.0
"""Standard deviations of profits by which those groups may be below what they pay."""
_DRY: Final = 50
"""Quick looks are over that find fewer groups than one for so many types."""
_RISEN_LITTLE: Final = 0.015
"""Part of their bound by which prices to begin with may rise, so that they are kept."""
_COVERED: Final = 12
"""Times that the best prices are looked at again, and rise where groups are above them."""
_RISEN: Final = 4_000
"""Groups that are added at once to the program that tells by how much prices rise."""
_RISES: Final = 4
"""Times that it is solved."""


class _Risen(NamedTuple):
    """Prices that have risen, and what that adds to their bound."""

    prices: Prices
    more: float


def _between(best: Prices, told: Prices, share: float) -> Prices:
    """Return prices with so large a share of the best ones."""
    return {label: share * best[label] + (1 - share) * price for label, price in told.items() if label in best}


class Master:
    """The groups that are known, and what the program over them says."""

    def __init__(self, program: Program, round_: Round, types: GroupTypes, relax: Relax) -> None:
        self.program, self.round_, self.types, self.relax = program, round_, types, relax
        self.able = types.able(round_)
        self.pricing = GroupPricing(types, self.able)
        self.groups = np.zeros((0, types.largest), dtype=np.int64)
        self.reach, self.dry = Reach.QUICK, False
        self.first: Prices | None = None
        """Prices to begin with, if there are any."""
        self.told: Prices = {}
        self.parts, self.parts_kept = np.zeros(0), np.zeros(len(types.kept.placement))
        self.best: Prices = {}
        self.bound, self.value = float("inf"), 0.0
        self.covered = False
        """Whether no group was seen that is above the best prices."""
        self.rising = unlimited()
        """What programs may take that tell rises of prices, and looks once they have begun."""
        self.looking = unlimited()
        """What looks should take."""
        self.pace = 1.0
        """Seconds that a unit of work takes in looks, where seconds are limited; else they are not looked at."""
        smallest = int(types.g[self.able > 0].min(initial=round_.cluster.total_gpus) or 1)
        self.most = min(int(self.able.sum()), round_.cluster.total_gpus // smallest)
        self._columns: GroupColumns | None = None

    @property
    def is_free(self) -> bool:
        """Whether nothing but GPUs is limited for all jobs together."""
        limited = any(len(self._supply(label)) for label in ("cpus", "memory"))
        return not limited and bool((self.round_.amounts.U >= UNLIMITED).all())

    @property
    def columns(self) -> GroupColumns:
        """The groups with their values, and those that go on as they are."""
        if self._columns is None or len(self._columns.value) != len(self.groups) + len(self.types.kept.placement):
            self._columns = GroupColumns.of_types(self.types, self.groups)
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
        relaxed = self.relax(model, budget, central=True)
        if relaxed is not None:
            return self.program.prices_over(self.round_, columns, model, relaxed.duals)
        columns = self.columns
        each = np.sort(columns.value / np.maximum(1, columns.gpus))[::-1]
        return {"once": np.zeros(len(self.round_.jobs)), "gpus": np.array([each[: self.most].mean()])}

    def look_quickly(self, budget: Budget, part: float = 1.0) -> Prices:
        """Take up groups by quick looks, in a part of what is left or until they find few; return the first prices.

        The first prices are good, and those of the program are not before it has enough groups: half of the best ones
        so far is mixed in. What quick looks say of a bound is only good enough to tell which prices are the best.
        """
        self.told = first = self.first or self.first_prices(budget)
        self._generate(budget.share(part), share=0.5, few=len(self.types.g) / 5)
        return first

    def _generate(self, budget: Budget, *, share: float, few: float) -> Prices:
        """Take up groups from the prices that were told last, until there are few new ones or prices are close.

        Return the prices that looks liked best.
        """
        mixed: Smoothing[Prices] = Smoothing(between=_between, share=share, few=few, least=0.05)
        best = generate_columns(self, self.told, budget, smoothing=mixed, close=CLOSE, enough=lambda _: self.dry)
        return best.multipliers

    def priced(self, budget: Budget, covering: Budget | None = None) -> Prices:
        """Return the best prices in the budget: by quick looks, wide ones where full ones are dear, and full ones.

        Groups that are still above what they pay are covered by rises of prices, of jobs for the most part: that costs
        less than a higher price of all GPUs, and may take the budget of ``covering``, if there is one. Where a full
        look is too much work, GPUs are dearer by so much that it is not: then the check, which looks at as much, is
        quick enough, too.
        """
        known = self.groups
        if self.first is not None and self._cover(self.first, budget):
            return self.best
        self.reach, self.groups, self.first = Reach.QUICK, known, None
        first = self.look_quickly(budget, QUICK_PART)
        self.told = _between(first, self.told, 0.5)  # quick looks do not tell which of the two are better
        if self._is_dear(budget):
            self._look_widely(budget)
        self.reach, self.looking = Reach.FULL, budget
        self._generate(budget, share=0.4, few=5)
        for _ in range(_COVERED):
            if self.covered or self._ends(covering or budget):
                break
            seen = self.look(self.best)
            self.covered = not (seen.profit > self._least).any()
            self.best = self._risen(self.best, seen).prices
        return self.best

    def _is_dear(self, budget: Budget) -> bool:
        """Return whether a full look at the prices that were told last is much of the work that is left."""
        work = self.pricing.full_work(self._charges(self.told), self.rising)
        return not self.pricing.is_quick_in_full or work > LITTLE_PART * self._units_left(budget)

    def _look_widely(self, budget: Budget) -> None:
        """Take up groups by wide looks, in a part of what is left."""
        self.reach = Reach.WIDE
        good = self._generate(budget.share(WIDE_PART), share=0.4, few=5)
        self.solve_master(budget)  # with the groups of the last look
        self.told = _between(good, self.told, 0.5)  # a full look is dear: prices should not jump before it

    def _cover(self, first: Prices, budget: Budget) -> bool:
        """Make the best prices of those to begin with: they rise where groups of full looks are above them.

        Return whether they rise by so little that nothing better is to be expected in a short time.
        """
        self.take(self.chosen(self.look(first)))
        self.reach, self.looking, self.value = Reach.FULL, budget, self._total(first)
        self.best = self._dearer(first)
        for _ in range(_COVERED):
            seen = self.look(self.best)
            self.take(self.chosen(seen))
            self.best = self._risen(self.best, seen).prices
            self.covered = self.pricing.complete and not (seen.profit > self._least).any()
            if self.pricing.complete:
                self.bound = self._total(self.best)
            is_near = self._total(self.best) <= (1 + _RISEN_LITTLE) * self._total(first)
            if not is_near or self.covered or self._ends(budget):
                break
        return is_near

    def price(self, multipliers: Prices) -> Turn:
        """Take up groups that are worth more than they pay; the bound is as good as what was looked at."""
        if self.reach is Reach.FULL:
            return self._price_fully(multipliers)
        seen = self.look(multipliers)
        new = self.take(self.chosen(seen))
        more = float(seen.equal_rise(len(self.types.g)) @ self.able)
        bound = self._total(multipliers) + min(more, self.most * float(seen.profit.max(initial=0.0)))
        self.dry = new < len(self.types.g) / _DRY
        return Turn(bound, max(1, new))

    def _price_fully(self, multipliers: Prices) -> Turn:
        """Do the same by a full look, at dearer GPUs where that would be too much work, until that is of no use."""
        prices = self._dearer(multipliers)
        self.dry = self._total(prices) - self._total(multipliers) + self.value >= self.bound
        if self.dry:
            return Turn(self.bound, 0)
        seen = self.look(prices)
        new = self.take(self.chosen(seen))
        risen = self._risen(prices, seen)
        bound = self._total(risen.prices)
        # Prices of a complete look are better than any others: the bound of those is infinite.
        if not self.best or (not self.pricing.complete, bound) < (self.bound == float("inf"), self._total(self.best)):
            self.bound, self.best = bound if self.pricing.complete else float("inf"), risen.prices
            self.covered = not (seen.profit > self._least).any()
        return Turn(bound, new)

    def _dearer(self, prices: Prices) -> Prices:
        """Return prices with GPUs just so much dearer that a full look is not too much work."""
        left, gpus = self._units_left(self.looking), self.round_.cluster.total_gpus

        def with_grant(place: int) -> Prices:
            return dict(prices) | {"gpus": prices["gpus"] + GRANTS[place] * self.value / gpus}

        def is_enough(place: int) -> bool:
            return self.pricing.full_work(self._charges(with_grant(place)), self.rising) <= FULL_PART * left

        if left <= 0:
            return with_grant(len(GRANTS) - 1)
        if left == float("inf"):
            return with_grant(0)
        return with_grant(bisect_left(range(len(GRANTS) - 1), True, key=is_enough))

    def _units_left(self, budget: Budget) -> float:
        """Return how much work may still be done, by the pace of looks where seconds are limited."""
        left = budget.left()
        by_clock = float("inf") if left.seconds is None else left.seconds / self.pace
        return min(by_clock, float("inf") if left.work is None else left.work)

    def seconds_of_look(self) -> float:
        """Return about how long a full look at the best prices takes, where seconds are limited."""
        return self.pace * self.pricing.full_work(self._charges(self.best), self.rising)

    def _total(self, prices: Prices) -> float:
        """Return what all that has a price costs together."""
        return sum(float(price @ self._supply(label)) for label, price in prices.items())

    def _risen(self, prices: Prices, seen: Seen) -> _Risen:
        """Return prices that cover the groups that were seen, at the least cost: those of a program over these groups.

        In it a group is worth what it is above its price. It begins with the groups that are above by most, and those
        that its rises do not cover are added; what is missing at last is the same for all jobs of a group. Rises never
        uncover others.
        """
        above = np.flatnonzero(seen.profit > 0)
        left = Seen(seen.groups[above], seen.profit[above])
        rises: Prices = {"once": np.zeros(len(self.round_.jobs))}
        known, missing = np.zeros(0, dtype=np.int64), np.arange(len(above))
        for _ in range(_RISES):
            worst = missing[np.argsort(-left.profit[missing], kind="stable")]
            known = np.concatenate([known, worst[:_RISEN]])
            told = self._rises_over(seen.groups[above[known]], seen.profit[above[known]]) if len(worst) else None
            if told is None:
                break
            rises = told
            left = left._replace(profit=seen.profit[above] - self._charges(rises).of(self.types, left.groups))
            missing = np.setdiff1d(np.flatnonzero(left.profit > self._least), known)
        once = rises["once"] + left.equal_rise(len(self.types.g))[self.types.type_of]
        rises = dict(rises) | {"once": once}
        both = {label: price + rises.get(label, np.zeros_like(price)) for label, price in prices.items()}
        both |= {label: rise for label, rise in rises.items() if label not in prices}
        return _Risen(both, sum(float(rise @ self._supply(label)) for label, rise in rises.items()))

    def _rises_over(self, groups: Ints, profits: Floats) -> Prices | None:
        """Return the cheapest rises of prices that cover some groups, if that is not too late."""
        columns = GroupColumns.of_types(self.types, groups)
        worth = np.zeros(len(columns.value), dtype=np.int64)  # of those that go on as they are nothing is said
        worth[: len(groups)] = np.ceil(profits)
        columns = replace(columns, value=worth)
        model = self.program.model_over(self.round_, columns)
        relaxed = self.relax(model, self.rising, central=True)
        if relaxed is None:
            return None
        return self.program.prices_over(self.round_, columns, model, relaxed.duals)

    @property
    def _least(self) -> float:
        """What groups are above their price at least that full looks ask for: all of them together next to nothing."""
        return _FINE * max(0.0, self.value) / max(1, self.most)

    def look(self, prices: Prices, among: Ints | None = None) -> Seen:
        """Return groups at prices, of all jobs or quickly ``among`` some."""
        if among is not None:
            return self.pricing.look(self._charges(prices), Reach.QUICK, self.rising, among=among)
        least = self._least if self.reach is Reach.FULL else 0.0
        before = self.rising.left().seconds
        seen = self.pricing.look(self._charges(prices), self.reach, self.rising, least=least)
        after = self.rising.left().seconds
        if self.reach is not Reach.QUICK and before is not None and after is not None and self.pricing.spent > 0:
            self.pace = (before - after) / self.pricing.spent
        return seen

    def chosen(self, seen: Seen) -> Ints:
        """Return the best groups of every type; at the very first prices also those that nearly pay."""
        first = len(self.groups) < _FIRST * len(self.types.g)
        least = -_NEAR * float(seen.profit.std() if first and len(seen.profit) else 0.0)
        most = _NEW_OF_TYPE if self.reach is Reach.QUICK and not first else _FIRST
        return seen.groups[best_of_types(seen, len(self.types.g), most, least)]

    def solve_master(self, budget: Budget) -> Told[Prices] | None:
        """Return the prices of the program over the known groups."""
        if self._ends(budget):
            return None
        model = self.program.model_over(self.round_, self.columns)
        relaxed = self.relax(model, budget, central=True)
        if relaxed is None:
            return None
        self.remember(relaxed)
        self.told = prices = self.program.prices_over(self.round_, self.columns, model, relaxed.duals)
        self.value = float(model.objective @ relaxed.values)
        return Told(prices, self.value)

    def _ends(self, budget: Budget) -> bool:
        """Return whether another look as dear as the last one would be too late."""
        return budget.over() or (self.reach is Reach.FULL and self._units_left(budget) < self.pricing.spent)

    def remember(self, relaxed: Relaxed) -> None:
        """Remember for which part groups run in the last relaxation that was solved."""
        stay = len(self.groups)
        self.parts, self.parts_kept = relaxed.values[:stay], relaxed.values[stay : len(self.columns.value)]

    def line(self) -> Ints:
        """Return the known groups, those first that ran for the largest part, and of others those that pay the most."""
        new = np.zeros(len(self.groups) - len(self.parts))
        parts = np.concatenate([self.parts, new, self.parts_kept])
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
            gpu=float(prices.get("gpus", nothing)[0]),
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
