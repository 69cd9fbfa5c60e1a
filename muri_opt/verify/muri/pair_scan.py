"""The groups of very many jobs that pay the least for what they are worth, found without looking at all of them.

In lock step a group is worth at most the sum of what its jobs add, over its period. No period is shorter with fewer
jobs, each where it sits. So a pair of the group alone, at its own period, is above what it pays by no less than in the
group; of four jobs in four slots half the profit is that of one of their two pairs of opposite slots, and turning the
cycle by one slot makes either pair the first. In longer cycles a pair must be above what the best other pair leaves.
Only pairs with so much are looked at further: with every third job, and with every two that could make up for the rest
together.

All this is done in floats, with a margin for their rounding. What is found is counted by others, in whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.verify.muri.pair_tree import PairTree
from muri_opt.verify.muri.periods import FOUR_SLOTS, Ints, slot_count, steady_periods

Floats = NDArray[np.float64]
MONOTONE: Final = ("cyclic", "muri-cyclic", "muri-4slot-steady")
"""Patterns in which no period is shorter with fewer jobs, and turning the cycle changes nothing."""
MOST_STEPS: Final = 1_000_000_000
"""Pairs times third jobs that are looked at; where there are more, profits up to some amount are conceded."""
MOST_FOURS: Final = 100_000_000
"""Groups of four that are looked at before more is conceded."""
MOST_PAIRS: Final = 2_000_000
"""Pairs that are kept to be looked at with one another."""
LARGEST: Final = 1e36
"""Numbers up to which floats of 32 bits hold the sum of some."""
_OF_A_GROUP: Final = 0.04
"""Part of the time that a group of four takes alone, where pairs are looked at with one another."""
_STEPS: Final = 200
"""Periods for which it is known what the best third job adds at most."""
_BLOCK: Final = 1 << 15
_TOGETHER: Final = 1 << 16
_MARGIN: Final = 1e-9
_NEVER: Final = -1e300


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bidders:
    """Jobs that may share: stage times, what each adds to a group times its period, and what it pays.

    Each is there as often as a group may have it. ``left`` is the part of its value that a group with the job keeps,
    at most. A group pays ``fixed`` besides. Where profits are not ``exact`` but may be less, as something else is to be
    paid, one that is found does not tell which others are too small.
    """

    pattern: str
    stages: Floats
    adds: Floats
    pays: Floats
    left: Floats
    fixed: float
    exact: bool

    @property
    def alone(self) -> Floats:
        """What each job adds above its price at the shortest period that it can have."""
        worth: Floats = self.adds * self.left / np.maximum(1.0, self.stages.sum(axis=1)) - self.pays
        return worth

    @property
    def margin(self) -> float:
        """What rounding can make of a profit, and more: values are rounded down twice, floats hardly."""
        largest = np.abs(self.alone).max(initial=0.0) + 2 * self.pays.max(initial=0.0)
        return 2.0 + _MARGIN * (8 * float(largest) + self.fixed)


class Found(NamedTuple):
    """No group has more than the largest profit of ``groups`` (by the place of their jobs), or ``conceded``."""

    groups: Ints
    conceded: float


def most_profitable(bidders: Bidders, size: int, floor: float) -> Found:
    """Return the groups of so many jobs, 2 to 4, that may have the largest profit, if that is above the ``floor``."""
    scan = _Scan(bidders, size, floor)
    for seats in _seatings(bidders, size):
        scan.look(seats)
    return scan.found()


def _seatings(bidders: Bidders, size: int) -> Iterator[tuple[int, ...]]:
    """Yield the slots that so many jobs may begin in, of those that only turn the cycle one."""
    slots = slot_count(bidders.pattern, bidders.stages.shape[1])
    if bidders.pattern == "muri-cyclic":
        yield tuple(range(size))
        return
    seen = set[tuple[int, ...]]()
    for later in combinations(range(1, slots), size - 1):
        seats = (0, *later)
        turned = min(tuple(sorted((seat - by) % slots for seat in seats)) for by in range(slots))
        if turned not in seen:
            seen.add(turned)
            yield turned


class _Scan:
    """Groups of one size, and the profit above which they are looked for: the largest that was seen."""

    def __init__(self, bidders: Bidders, size: int, floor: float) -> None:
        self.bidders, self.size, self.margin = bidders, size, bidders.margin
        self.floor, self.conceded = floor, 0.0
        self.fours = 0
        self.loses = bool((bidders.left < 1.0).any())
        self.idle = bool((bidders.stages.sum(axis=1) < 1.0).any())
        self.slots = slot_count(bidders.pattern, bidders.stages.shape[1])
        self.times = [np.ascontiguousarray(bidders.stages[:, stage]) for stage in range(bidders.stages.shape[1])]
        self.kept: list[tuple[Ints, Floats]] = []
        self.step = max(1, _BLOCK // max(1, len(self.times[0])))
        self.every = {name: self._tiled(getattr(bidders, name)) for name in ("adds", "pays", "left")}
        self.every_time = [self._tiled(times) for times in self.times]

    def _tiled(self, values: Floats) -> Floats:
        """Return numbers of all jobs for as many pairs as are looked at at once."""
        return np.tile(values, (self.step, 1))

    def found(self) -> Found:
        """Return what was found so far."""
        empty = np.zeros((0, self.size), dtype=np.int64)
        groups = np.concatenate([empty, *(groups for groups, _ in self.kept)])
        profits = np.concatenate([np.zeros(0), *(profits for _, profits in self.kept)])
        return Found(groups[profits > self.floor - 2 * self.margin], self.conceded)

    def look(self, seats: tuple[int, ...]) -> None:
        """Look at all groups that sit on these slots."""
        if self.size == 2:
            for first, second, profit in self._pairs(*seats, whole=True, least=self.floor - self.margin):
                self._keep(np.column_stack([first, second]), profit)
            return
        # In a cycle of four slots, and in no longer one, either pair may be turned into the place of the other.
        opposite = self.size == self.slots == 4
        if opposite and self._can_meet:
            self._meet(seats)
            return
        needs = self._needs(best := self._best_rest(seats, opposite=opposite), opposite=opposite)
        pairs = [*self._pairs(seats[0], seats[2], whole=not opposite, least=needs - self.bidders.fixed)]
        first, second = (np.concatenate([pair[place] for pair in pairs]) for place in (0, 1))
        score = np.concatenate([pair[2] for pair in pairs]) + self.bidders.fixed
        if self.size == 3 and len(score):
            score += self._best_third(first, second, seats) - best
            able = np.flatnonzero(score >= needs)
            first, second, score = first[able], second[able], score[able]
        order = np.argsort(-score, kind="stable")
        first, second, score = first[order], second[order], score[order]
        best = float(score[0]) if opposite and len(score) else best
        self._concede(score, best, opposite=opposite)
        # The best first, but of some thousands those together that have jobs in common.
        line = np.lexsort((second, first, np.arange(len(first)) // _TOGETHER))
        for begin in range(0, len(first), self.step):
            places = line[begin : begin + self.step]
            places = places[score[places] >= self._needs(best, opposite=opposite)]
            if len(places):
                self._extend(first[places], second[places], seats)

    @property
    def _can_meet(self) -> bool:
        """Whether all pairs can be kept, and their slots add up to the period.

        What they lose is not looked at there, nor jobs without any work, nor numbers too large for 32 bits.
        """
        count, bidders = len(self.times[0]), self.bidders
        if bidders.pattern in FOUR_SLOTS or self.loses or self.idle or count * (count - 1) // 2 > MOST_PAIRS:
            return False
        return bool(max(bidders.adds.max(initial=0.0), bidders.stages.max(initial=0.0)) <= LARGEST)

    def _meet(self, seats: tuple[int, ...]) -> None:
        """Look at all groups of four by their two pairs of opposite slots."""
        if self.bidders.fixed + self.floor <= self.margin:  # groups must pay something besides
            self._raise(2 * self.margin - self.bidders.fixed)
        most = 2 * float(self.bidders.alone.max(initial=0.0))
        pairs = self._pairs(seats[0], seats[2], whole=False, least=self.floor - self.margin - most)
        first, second, profit = (np.concatenate(part) for part in zip(*pairs, strict=True))
        able = np.flatnonzero(profit + profit.max(initial=_NEVER) > self.floor - self.margin - self.bidders.fixed)
        if not len(able):
            return
        tree = PairTree(self.times, self.bidders.adds, self.bidders.pays, first[able], second[able])
        for groups in tree.above(lambda: self.bidders.fixed + self.floor - self.margin):
            self._count(int(_OF_A_GROUP * tree.looked))
            if len(groups):
                self._fours(groups, seats)

    def _best_rest(self, seats: tuple[int, ...], *, opposite: bool) -> float:
        """Return what the jobs of a group beside its first pair are above what they pay, at most."""
        if self.size == 3:
            return float(self.bidders.alone.max(initial=_NEVER))
        if opposite:
            return float(2 * self.bidders.alone.max(initial=0.0))
        others = (pair[2].max(initial=_NEVER) for pair in self._pairs(seats[1], seats[3], whole=True, least=_NEVER))
        return float(max(others, default=_NEVER)) + self.bidders.fixed

    def _best_third(self, first: Ints, second: Ints, seats: tuple[int, ...]) -> Floats:
        """Return what any third job is above what it pays, at most, at the period of each pair or a little less."""
        pair = {seats[0]: [times[first] for times in self.times], seats[2]: [times[second] for times in self.times]}
        period, own = self._period(pair), self.bidders.stages.sum(axis=1)
        steps = np.quantile(period, np.linspace(0.0, 1.0, _STEPS))
        worth = self.bidders.adds * self.bidders.left / np.maximum(1.0, np.maximum(steps[:, None], own))
        most = (worth - self.bidders.pays).max(axis=1)
        best: Floats = most[np.searchsorted(steps, period, side="right") - 1]
        return best

    def _needs(self, best: float, *, opposite: bool) -> float:
        """Return what a pair must be above what it pays, so that a group with it can be above the floor.

        Of two opposite pairs one is above half of it.
        """
        together = self.bidders.fixed + self.floor - self.margin
        return max(together - best, together / 2) if opposite else together - best

    def _concede(self, score: Floats, best: float, *, opposite: bool) -> None:
        """Concede profits up to what leaves only as many pairs as can be looked at."""
        most = MOST_STEPS // max(1, len(self.times[0]))
        if len(score) > most:
            edge = float(score[most])
            self._raise((2 * edge if opposite else edge + best) - self.bidders.fixed)

    def _raise(self, floor: float) -> None:
        if floor > self.floor:
            self.floor = self.conceded = floor

    def _pairs(self, slot: int, other: int, *, whole: bool, least: float) -> Iterator[tuple[Ints, Ints, Floats]]:
        """Yield pairs in these slots with profits above the least; where it is not the ``whole``, each pair once."""
        bidders, count = self.bidders, len(self.times[0])
        step = max(1, 8 * _BLOCK // max(1, count))
        for begin in range(0, count, step):
            rows = np.arange(begin, min(count, begin + step))
            seats = {slot: [times[rows, None] for times in self.times], other: [times[None] for times in self.times]}
            period = self._period(seats)
            profit = (bidders.adds[rows, None] + bidders.adds) / period
            if self.loses:
                profit *= np.minimum(bidders.left[rows, None], bidders.left)
            profit -= bidders.pays[rows, None] + bidders.pays + bidders.fixed
            apart = (rows[:, None] != np.arange(count)) if whole else (rows[:, None] < np.arange(count))
            first, second = np.nonzero(apart & (profit > least))
            yield rows[first], second, profit[first, second]

    def _period(self, seats: Mapping[int, Sequence[Any]]) -> Any:
        """Return the periods of jobs by the slot they begin in; of jobs without any work, a microsecond."""
        if self.bidders.pattern in FOUR_SLOTS:
            return np.maximum(1.0, steady_periods(seats))
        total: Any = None
        for slot in range(self.slots):
            longest = reduce(np.maximum, [times[(slot - seat) % self.slots] for seat, times in seats.items()])
            total = longest if total is None else np.add(total, longest, out=total)
        return np.maximum(1.0, total) if self.idle else total

    def _extend(self, first: Ints, second: Ints, seats: tuple[int, ...]) -> None:
        """Look at pairs with every third job, and with those two that may make up for what is missing."""
        bidders = self.bidders
        pays = bidders.pays[first] + bidders.pays[second]
        if self.size == 3:
            profit = self._with(first, second, seats, seats[1], part=1.0) - (pays + bidders.fixed)[:, None]
            at, thirds = np.nonzero(profit > self.floor - self.margin)
            self._keep(np.column_stack([first[at], second[at], thirds]), profit[at, thirds])
            return
        one, other = (self._with(first, second, seats, slot, part=0.5) for slot in (seats[1], seats[3]))
        high, top = one.max(axis=1), other.max(axis=1)
        paid = pays + bidders.fixed
        need = paid + self.floor - self.margin
        next_to = one + top[:, None] > need[:, None], other + high[:, None] > need[:, None]
        rows = np.flatnonzero(high + top > need)
        for row in rows.tolist():
            third, fourth = (np.flatnonzero(suits[row]) for suits in next_to)
            enough = np.flatnonzero(one[row, third][:, None] + other[row, fourth] > need[row])
            some, others = third[enough // len(fourth)], fourth[enough % len(fourth)]
            some, others = some[some != others], others[some != others]
            if len(some):
                same = np.full(len(some), first[row]), np.full(len(some), second[row])
                self._count(len(some))
                self._fours(np.column_stack([*same, some, others]), seats)

    def _count(self, groups: int) -> None:
        """Count groups that are looked at; after too many more is conceded."""
        self.fours += groups
        if self.fours > MOST_FOURS:
            self.fours = 0
            self._raise(max(2 * self.floor, self.floor + self.bidders.fixed / 200))

    def _with(self, first: Ints, second: Ints, seats: tuple[int, ...], slot: int, *, part: float) -> Floats:
        """Return what every third job adds above its price, with a part of what the two add, at the period of three."""
        bidders, every = self.bidders, self.every
        pair = {
            seats[0]: [times[first] for times in self.times],
            seats[2]: [times[second] for times in self.times],
        }
        period = self._with_all(pair, slot)
        worth = self._for_all(part * (bidders.adds[first] + bidders.adds[second]))
        worth += every["adds"][: len(first)]
        worth /= period
        if self.loses:
            least = self._for_all(np.minimum(bidders.left[first], bidders.left[second]))
            worth *= np.minimum(least, every["left"][: len(first)])
        worth -= every["pays"][: len(first)]
        rows = np.arange(len(first))
        worth[rows, first] = worth[rows, second] = _NEVER
        return worth

    def _with_all(self, pair: Mapping[int, Sequence[Floats]], slot: int) -> Any:
        """Return the periods of pairs, by the slots they begin in, with every job in another slot."""
        rows = len(next(iter(pair.values()))[0])
        third = [times[:rows] for times in self.every_time]
        if self.bidders.pattern in FOUR_SLOTS:
            seats = {seat: [self._for_all(times) for times in jobs] for seat, jobs in pair.items()}
            return self._period({**seats, slot: third})
        total: Any = None
        for now in range(self.slots):
            longest = reduce(np.maximum, [times[(now - seat) % self.slots] for seat, times in pair.items()])
            both = np.maximum(self._for_all(longest), third[(now - slot) % self.slots])
            total = both if total is None else np.add(total, both, out=total)
        return np.maximum(1.0, total) if self.idle else total

    def _for_all(self, values: Floats) -> Floats:
        """Return numbers of pairs written out for every job: numpy takes far less time if nothing is broadcast."""
        count = len(self.times[0])
        return np.repeat(values, count).reshape(len(values), count)

    def _fours(self, groups: Ints, seats: tuple[int, ...]) -> None:
        bidders = self.bidders
        order = (seats[0], seats[2], seats[1], seats[3])
        period = self._period(
            {slot: [times[groups[:, place]] for times in self.times] for place, slot in enumerate(order)}
        )
        worth = bidders.adds[groups].sum(axis=1) * bidders.left[groups].min(axis=1) / period
        self._keep(groups, worth - bidders.pays[groups].sum(axis=1) - bidders.fixed)

    def _keep(self, groups: Ints, profits: Floats) -> None:
        some = profits > self.floor - self.margin
        if some.any():
            if self.bidders.exact:
                self.floor = max(self.floor, float(profits.max()) - self.margin)
            near = profits > self.floor - 2 * self.margin
            self.kept.append((groups[near], profits[near]))
