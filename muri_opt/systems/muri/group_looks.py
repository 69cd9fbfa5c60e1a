"""The jobs that may share so many GPUs, and the pairs of them that are looked at with two more (:mod:`.group_pricing`).

Of each pair half a cycle apart, every third job is tried in both free seats; what three of them are above their price
at their period tells which two could make a group of four pay. Where slots add up, these meet the pair by arrays
(:mod:`.pair_meetings`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.muri.interleaving import SLOWDOWN
from muri_opt.systems.muri.look_choices import best_places, rows_alike, spread_places, suited
from muri_opt.systems.muri.pair_meetings import SLOTS, STEPS_OF_PAIR, PairMeetings

if TYPE_CHECKING:
    from muri_opt.systems.muri.group_pricing import Charges, GroupPricing

Floats = NDArray[np.floating[Any]]
PER_STEP: Final = 7e-8
"""Work of a step: two jobs with a third."""
PER_JOB: Final = 4
"""Pairs that a quick look takes of each job."""
MOST_STEPS: Final = 500_000_000
"""Pairs times third jobs of one look."""
SUITED: Final = 8
"""Jobs that are tried for each of the two free seats of a pair in a quick look."""
MOST_SUITED: Final = 96
"""Jobs that are tried for each of them in a wide look, at most, of those that could make the group pay."""
WIDE_PARTS: Final = 96
"""Parts of the line of pairs that a wide look takes."""
TRIED_PARTS: Final = 12
"""Parts of it from which the work of a full look is told."""
_STEPS_OF_TWO: Final = 0.45
_STEPS_OF_FOUR: Final = 3
OF_PAIR: Final = 32
"""Groups of a pair that are found in wide and full looks."""
MOST_FOUND: Final = 100_000
"""Groups of four after which a full look goes on with those only that are above their price by more."""
MOST_PAIRS: Final = 2_000_000
"""Pairs that are kept in a tree."""
_PERIODS: Final = 200
"""Periods for which it is known what the best third job is above its price."""
_BLOCK: Final = 1 << 15
_TOGETHER: Final = 1 << 16
_CELLS: Final = 1 << 21
_NEVER: Final = -1e30


class Reach(Enum):
    """What is looked at: the best pairs of each job; some of all that could pay, with the jobs that suit best; or all.

    Every wide look takes other pairs.
    """

    QUICK = 1
    WIDE = 2
    FULL = 3


class _Suits(NamedTuple):
    """Every job in one free seat of pairs: what it is above its price with half of what the two add, and the period."""

    half: Floats
    period: Floats

    def of(self, pairs: Ints) -> _Suits:
        """Return the same of some of the pairs."""
        return _Suits(self.half[pairs], self.period[pairs])


class Bucket:
    """Jobs that may share so many GPUs: type, what each adds times the period, and what it pays."""

    def __init__(self, pricing: GroupPricing, units: Ints, gpus: int, charges: Charges, least: float) -> None:
        types, rules = pricing.types, pricing.types.rules
        self.pricing, self.units, self.largest = pricing, units, types.largest
        self.rule, self.slots, self.count = pricing.rule, pricing.slots, len(units)
        # Floats of 32 bits take half the time; what groups are worth is counted anew.
        self.times = [times[units].astype(np.float32) for times in pricing.times]
        adds = pricing.adds[units] * pricing.unit
        if rules.objective == "efficiency":
            adds = adds * types.g[units] / gpus
        self.adds = adds.astype(np.float32)
        self.pays = (charges.job[units] + gpus * charges.per_gpu[units]).astype(np.float32)
        self.fixed = gpus * (charges.gpu + (1e6 if rules.objective == "gpu-time" else 0.0)) + least
        self.slow = SLOWDOWN[rules.slowdown]
        self.idle = bool(np.any(sum(self.times) < pricing.unit))
        shortest = np.maximum(pricing.unit, sum(self.times))
        self.alone = float((self.adds / (shortest * self.slow[3]) - self.pays).max()) if self.largest > 2 else 0.0
        self.step = max(1, _BLOCK // max(1, self.count))
        self.third_seats = ((0, 2, 1), (0, 2, 3)) if self.slots >= 4 else ((0, 1, 2), (1, 0, 2))

    def groups(self, reach: Reach) -> Iterator[Ints]:
        """Yield groups of types that may be worth more than they pay."""
        if self.count < 2 or self.largest < 2:
            return
        first, second, score, alone = self._all_pairs(wide=reach is not Reach.QUICK)
        yield self._types(first[alone], second[alone])
        if self.largest == 2:
            return
        if reach is Reach.FULL and self.meets:
            yield from self._all_met()
            yield from self._all_threes(first, second, score)
            return
        first, second = self._in_line(first, second, score)
        if reach is Reach.WIDE:
            some = spread_places(len(first), WIDE_PARTS, self.pricing.turn)
            first, second = first[some], second[some]
        for begin in range(0, len(first), self.step):
            if reach is Reach.FULL and self.pricing.budget.over():
                self.pricing.complete = False
                return
            yield from self._filled(first[begin : begin + self.step], second[begin : begin + self.step], reach)

    def full_work(self) -> float:
        """Return the work of a full look, as far as some pairs tell, at equal distances in their line."""
        if self.count < 2 or self.largest < 3:
            return 0.0
        if self.meets:
            threes = np.count_nonzero(self._may_be_threes(*self._all_pairs(wide=True)[:3]))  # each both ways round
            steps = STEPS_OF_PAIR * self.count**2 / 2 + self.meetings.count(self.fixed) + threes * self.count
            return PER_STEP * steps
        first, second, score, _ = self._all_pairs(wide=True)
        first, second = self._in_line(first, second, score)
        some = spread_places(len(first), TRIED_PARTS, 0)
        before = self.pricing.spent
        for at in np.array_split(some, len(some) // self.step + 1):
            for _ in self._filled(first[at], second[at], Reach.FULL):
                pass
        return (self.pricing.spent - before) * len(first) / max(1, len(some))

    def _all_pairs(self, *, wide: bool) -> tuple[Ints, Ints, Floats, NDArray[np.bool_]]:
        """Return pairs with what they are above their own prices, and whether they may pay without others."""
        if wide:
            self.score = np.empty((self.count, self.count), dtype=np.float32)
        first, second, score, alone = (np.concatenate(part) for part in zip(*self._pairs(wide=wide), strict=True))
        return first, second, score, alone

    def _in_line(self, first: Ints, second: Ints, score: Floats) -> tuple[Ints, Ints]:
        """Return pairs, no more than may be looked at: the best first, but of some thousands those alike together."""
        if self.slots == 4:  # turned by half a cycle, the second is the first
            key = np.unique(np.minimum(first, second) * self.count + np.maximum(first, second), return_index=True)[1]
            first, second, score = first[key], second[key], score[key]
        best = np.argsort(-score, kind="stable")[: max(1, MOST_STEPS // self.count)]
        best = best[np.lexsort((second[best], first[best], np.arange(len(best)) // _TOGETHER))]
        return first[best], second[best]

    def _pairs(self, *, wide: bool) -> Iterator[tuple[Ints, Ints, Floats, NDArray[np.bool_]]]:
        """Yield pairs with what they are above their own prices: of each job the best, half a cycle apart.

        Or all that could make a group pay: one of the two pairs of four jobs is above half of what its GPUs cost, and
        two of three jobs are above what is missing with the best third one; and two alone, in any seats, above all.
        """
        step = max(1, 8 * _BLOCK // self.count)
        for begin in range(0, self.count, step):
            rows = np.arange(begin, min(self.count, begin + step))
            score = self._scores(rows, 2 if self.slots >= 4 else 1, self.slow[self.largest])
            if not wide:
                best = min(PER_JOB, self.count - 1)
                row = np.repeat(np.arange(len(rows)), best)
                second = np.argpartition(-score, best - 1, axis=1)[:, :best].ravel()
                yield rows[row], second, score[row, second], np.ones(len(row), dtype=np.bool_)
                continue
            self.score[rows] = score
            alone = self._scores(rows, 1, self.slow[2]) >= self.fixed
            alone |= score * (self.slow[self.largest] / self.slow[2]) >= self.fixed
            pays = alone | (score >= (self.fixed / 2 if self.largest > 3 else self.fixed))
            if self.largest > 2:
                pays |= score * (self.slow[self.largest] / self.slow[3]) + self.alone >= self.fixed
            row, second = np.nonzero(pays)
            yield rows[row], second, score[row, second], alone[row, second]

    def _scores(self, rows: Ints, apart: int, slow: float) -> Floats:
        """Return what some jobs and every other, so many slots apart, are above their prices."""
        seats = {0: [times[rows, None] for times in self.times], apart: [times[None] for times in self.times]}
        period = self._period(seats)
        score: Floats = (self.adds[rows, None] + self.adds) / (period * slow) - self.pays[rows, None] - self.pays
        score[np.arange(len(rows)), rows] = _NEVER
        return score

    @cached_property
    def every(self) -> list[Floats]:
        """Stage times of all jobs, then what they add and pay, written out for all pairs that are looked at at once."""
        return [np.tile(values, (self.step, 1)) for values in (*self.times, self.adds, self.pays)]

    def _for_all(self, values: Floats) -> Floats:
        """Return numbers of pairs written out for all jobs: numpy takes far less time if nothing is broadcast."""
        return np.repeat(values, self.count).reshape(len(values), self.count)

    def _period(self, seats: Mapping[int, Sequence[Any]]) -> Any:
        sitting: list[Any] = [seats.get(slot) for slot in range(self.slots)]
        period = self.rule.periods(sitting)
        return np.maximum(self.pricing.unit, period) if self.idle else period

    def _filled(self, first: Ints, second: Ints, reach: Reach) -> Iterator[Ints]:
        """Yield pairs with the third jobs that suit best, and with two of them in both seats."""
        self.pricing.spend(2 * len(first) * self.count)
        rows, two = np.arange(len(first)), self.adds[first] + self.adds[second]
        pays = self.pays[first] + self.pays[second] + self.fixed
        suits = []
        *every, all_add, all_pay = (values[: len(first)] for values in self.every)
        for one, other, free in self.third_seats:
            period = self._period(self._sitting(first, second, one, other) | {free: every})
            # Threes are rare: only pairs that pay nearly all by themselves become one.
            near = rows if reach is Reach.QUICK else np.flatnonzero(self._at_most(two, period) > pays)
            if len(near):
                yield self._best_threes(first[near], second[near], period[near])
            if self.largest > 3:
                period = period if self.slow[4] == 1.0 else period * self.slow[4]
                half = self._for_all(two / 2)
                half += all_add
                half /= period
                half -= all_pay
                half[rows, first] = half[rows, second] = _NEVER
                suits.append(_Suits(half, period))
        if self.largest < 4 or self.count < 4:
            return
        yield from self._fours(first, second, suits[0], suits[1], reach)

    def _all_threes(self, first: Ints, second: Ints, score: Floats) -> Iterator[Ints]:
        """Yield all pairs that may pay with a third job, with the one that suits best in each free seat."""
        able = self._may_be_threes(first, second, score)
        first, second = self._in_line(first[able], second[able], score[able])
        for begin in range(0, len(first), self.step):
            if self.pricing.budget.over():
                self.pricing.complete = False
                return
            some, others = first[begin : begin + self.step], second[begin : begin + self.step]
            self.pricing.spend(2 * len(some) * self.count)
            every = [times[: len(some)] for times in self.every[:-2]]
            for one, other, free in self.third_seats:
                period = self._period(self._sitting(some, others, one, other) | {free: every})
                yield self._best_threes(some, others, period)

    def _may_be_threes(self, first: Ints, second: Ints, score: Floats) -> NDArray[np.bool_]:
        """Return which pairs may pay with a third job: with the best one at a period a little shorter than theirs."""
        adds, pays = (every[first] + every[second] for every in (self.adds, self.pays))
        period = adds / ((score + pays) * self.slow[self.largest])
        steps = np.quantile(period, np.linspace(0.0, 1.0, _PERIODS)) if len(period) else np.zeros(1)
        alone = np.maximum(self.pricing.unit, sum(self.times))
        most = (self.adds / (np.maximum(steps[:, None], alone) * self.slow[3]) - self.pays).max(axis=1)
        third = most[np.maximum(0, np.searchsorted(steps, period, side="right") - 1)]
        able: NDArray[np.bool_] = adds / (period * self.slow[3]) - pays + third >= self.fixed
        return able

    def _best_threes(self, first: Ints, second: Ints, period: Floats) -> Ints:
        """Return pairs with the third job that is most above its price, given their periods with every job."""
        three = (self.adds[first] + self.adds[second])[:, None] + self.adds
        three = three / (period * self.slow[3]) - self.pays
        rows = np.arange(len(first))
        three[rows, first] = three[rows, second] = _NEVER
        return self._types(first, second, three.argmax(axis=1))

    def _sitting(self, first: Ints, second: Ints, one: int, other: int) -> dict[int, Sequence[Any]]:
        """Return pairs of jobs in two seats; as one job in the first, if a slot takes as long as the longer stage."""
        if not self.rule.adds_up:
            pair = {one: first, other: second}
            return {seat: [self._for_all(times[jobs]) for times in self.times] for seat, jobs in pair.items()}
        stages = [(slot - one) % self.slots for slot in range(self.slots)]
        later = [(slot - other) % self.slots for slot in range(self.slots)]
        both = zip(stages, later, strict=True)
        return {0: [self._for_all(np.maximum(self.times[a][first], self.times[b][second])) for a, b in both]}

    def _at_most(self, two: Floats, period: Floats) -> Floats:
        """Return what three jobs are at most above the price of the third, by the shortest period of the pair."""
        most: Floats = two / (period.min(axis=1) * self.slow[3]) + self.alone
        return most

    def _fours(self, first: Ints, second: Ints, one: _Suits, other: _Suits, reach: Reach) -> Iterator[Ints]:
        """Yield the best two jobs for both free seats of each pair that may be above its price with any two.

        In a full look, all jobs are tried that could make a group pay with the best one in the other seat.
        """
        pays = self.pays[first] + self.pays[second] + self.fixed
        high, top = one.half.max(axis=1), other.half.max(axis=1)
        able = np.flatnonzero(high + top > pays)
        some = min(SUITED, self.count)
        if not len(able):
            return
        if reach is Reach.QUICK:
            third, fourth = (best_places(suits.half[able], some) for suits in (one, other))
            row = np.repeat(np.arange(len(able)), some * some)
            pairs = first[able][row], second[able][row]
            groups = np.column_stack([*pairs, np.repeat(third, some, axis=1).ravel(), np.tile(fourth, some).ravel()])
            yield self._best_fours(groups, row, _NEVER, 2)
            return
        most = min(MOST_SUITED, self.count) if reach is Reach.WIDE else self.count
        thirds = suited(one.half[able], (pays - top)[able], most)
        fourths = suited(other.half[able], (pays - high)[able], most)
        for wide, rows in rows_alike(thirds.sum(axis=1), fourths.sum(axis=1)):
            self.pricing.spend(_STEPS_OF_TWO * len(rows) * wide[0] * wide[1])
            for places in np.array_split(able[rows], len(rows) * wide[0] * wide[1] // _CELLS + 1):
                yield self._paying(first[places], second[places], one.of(places), other.of(places), wide)

    @property
    def meets(self) -> bool:
        """Whether all pairs can be kept, and their slots add up to the period of a group of four."""
        adds_up = self.rule.adds_up and self.slots == SLOTS and not self.idle
        return adds_up and self.largest > 3 and self.fixed > 0 and self.count * (self.count - 1) // 2 <= MOST_PAIRS

    @cached_property
    def meetings(self) -> PairMeetings:
        """All pairs, with what they add and pay."""
        return PairMeetings(self.pricing.tree(self.units, self.times), self.adds / self.slow[4], self.pays)

    def _all_met(self) -> Iterator[Ints]:
        """Yield all groups of four above their price; after very many, of the others those that are above by more."""
        self.pricing.spend(STEPS_OF_PAIR * self.count**2 / 2)
        bar, profits = [self.fixed], np.zeros(0)
        for met in self.meetings.above(lambda: bar[-1]):
            self.pricing.spend(self.meetings.work)
            self.meetings.work = 0.0
            if self.pricing.budget.over():
                self.pricing.complete = False
                return
            groups, worth = self._best(met.groups, met.pair, bar[-1], OF_PAIR)
            yield self._types(*groups.T)
            profits = np.append(profits, worth)
            if len(profits) > MOST_FOUND:
                self.pricing.complete = False
                bar.append(float(np.median(profits)))
                profits = profits[profits > bar[-1]]

    def _paying(self, first: Ints, second: Ints, one: _Suits, other: _Suits, most: tuple[int, int]) -> Ints:
        """Return the best groups of each pair that are above their price, with so many jobs in the two free seats.

        The two of them are a pair half a cycle apart as well: they are above their prices by what the first two lack.
        Where the cycle has four slots, turning it makes the better pair the first one. And no period of four is shorter
        than that of either three.
        """
        pays = self.pays[first] + self.pays[second] + self.fixed
        thirds, fourths = best_places(one.half, most[0]), best_places(other.half, most[1])
        lacks = pays[:, None] - np.take_along_axis(one.half, thirds, axis=1)
        row, left, right = np.nonzero(np.take_along_axis(other.half, fourths, axis=1)[:, None] > lacks[:, :, None])
        third, fourth = thirds[row, left], fourths[row, right]
        score, both = self.score[third, fourth], self.score[first, second][row]
        able = score > self.fixed - both
        if self.slots == 4:
            able &= score <= both
        row, third, fourth = row[able], third[able], fourth[able]
        added = (self.adds[first] + self.adds[second])[row] + self.adds[third] + self.adds[fourth]
        longest = np.maximum(one.period[row, third], other.period[row, fourth])
        able = added / longest > pays[row] + self.pays[third] + self.pays[fourth]
        row, third, fourth = row[able], third[able], fourth[able]
        return self._best_fours(np.column_stack([first[row], second[row], third, fourth]), row, self.fixed, OF_PAIR)

    def _best_fours(self, groups: Ints, row: Ints, least: float, most: int) -> Ints:
        """Return so many of the best groups of each row, of those above what they have to be, as types."""
        return self._types(*self._best(groups, row, least, most)[0].T)

    def _best(self, groups: Ints, row: Ints, least: float, most: int) -> tuple[Ints, Floats]:
        """Return the same as jobs, with what they are worth above the prices of their jobs."""
        self.pricing.spend(_STEPS_OF_FOUR * len(groups))
        apart = (groups[:, 2] != groups[:, 3]) & (groups[:, 2:, None] != groups[:, None, :2]).all(axis=(1, 2))
        row, groups = row[apart], groups[apart]
        seats = {slot: [times[groups[:, place]] for times in self.times] for place, slot in enumerate((0, 2, 1, 3))}
        worth = self.adds[groups].sum(axis=1) / (self._period(seats) * self.slow[4]) - self.pays[groups].sum(axis=1)
        above = np.flatnonzero(worth > least)
        line = above[np.lexsort((-worth[above], row[above]))]
        rank = np.arange(len(line)) - np.searchsorted(row[line], row[line])
        best = line[rank < most]
        return groups[best], worth[best]

    def _types(self, *jobs: Ints) -> Ints:
        groups = np.sort(self.units[np.column_stack(jobs)], axis=1)
        return np.pad(groups, ((0, 0), (0, self.largest - len(jobs))), constant_values=-1)
