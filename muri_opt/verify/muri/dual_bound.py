"""A bound on the value of any grouping, from prices of jobs and of what they use, in exact integers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Prices, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.amounts import word_for
from muri_opt.verify.gangs.counting import able_jobs
from muri_opt.verify.muri.periods import Ints
from muri_opt.verify.muri.prices import SharingPrices, sharing_prices
from muri_opt.verify.muri.rules import Sharing
from muri_opt.verify.muri.value import Sharers

MOST_GROUPS = 3_000_000
"""Groups beyond which they are not all looked at, and no bound is given."""
_AT_ONCE = 100_000


@recalled
def sharing_bound(round_: Round, rules: Sharing, duals: Prices) -> int | None:
    """Return the largest total value that prices of jobs and of what they use allow any grouping.

    If every group paid at least its value, the price of all jobs and of everything there is would bound the total.
    Where groups pay up to ``short`` too little, a grouping has at most as many groups as jobs, and as GPUs over the
    smallest job, so that many times ``short`` is added. Groups with two jobs or more of an odd set of 2k + 1 jobs are
    at most k, so the price of the set counts k times. Every group that the rules allow is looked at; a job
    that could not run alone is in none. ``None`` where a job has no GPUs or no stage times to share, and where
    there are too many groups to look at.
    """
    prices = sharing_prices(round_, duals)
    if any(job.gpus < 1 or job.stage_seconds is None for job in round_.jobs):
        return None
    able = [round_.job_index[job.id] for job in able_jobs(round_)]
    buckets: dict[int, list[int]] = {}
    for job in able:
        buckets.setdefault(0 if rules.mixed else round_.jobs[job].gpus, []).append(job)
    offers = _Offers.of(round_, rules, prices)
    short = 0
    for members in buckets.values():
        unpaid = offers.most_unpaid(members, rules.most_jobs(len(round_.resources)))
        if unpaid is None:
            return None
        short = max(short, unpaid)
    smallest = min((round_.jobs[job].gpus for job in able), default=1)
    groups = min(len(able), round_.cluster.total_gpus // smallest)
    return (sum(prices.once[job] for job in able) + prices.supply + groups * short) // prices.denominator


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Offers:
    """Jobs by position, with what they are worth together and what they pay."""

    sharers: Sharers
    prices: SharingPrices
    pay: Ints
    per_gpu: Ints
    within: NDArray[np.bool_]
    """At ``[s, j]`` whether odd set s has job j."""

    @classmethod
    def of(cls, round_: Round, rules: Sharing, prices: SharingPrices) -> _Offers:
        sharers = Sharers.of(round_, rules)
        most = 4 * max(prices.pay, default=0) + (4 * max(prices.per_gpu, default=0) + prices.gpu) * max(
            (job.gpus for job in round_.jobs), default=0
        )
        most += sum(odd.price for odd in prices.odd_sets)
        word = word_for(most)  # prices are anybody's: they may be too large for a machine word
        within = np.zeros((len(prices.odd_sets), len(round_.jobs)), dtype=np.bool_)
        for place, odd in enumerate(prices.odd_sets):
            within[place, list(odd.jobs)] = True
        return cls(
            sharers=sharers,
            prices=prices,
            pay=np.array(prices.pay, dtype=word),
            per_gpu=np.array(prices.per_gpu, dtype=word),
            within=within,
        )

    def most_unpaid(self, members: list[int], largest: int) -> int | None:
        """Return by how much the value of any group of the members exceeds what it pays, at most; at least 0."""
        kinds = Counter(self._kind(job) for job in members)
        first = {self._kind(job): job for job in reversed(members)}
        jobs = np.array([first[kind] for kind in kinds], dtype=np.int64)
        count = np.array(list(kinds.values()), dtype=np.int64)
        worst = 0
        for size in range(1, min(largest, len(members)) + 1):
            groups = _groups(len(count), size)
            if groups is None:
                return None
            for block in np.array_split(groups, len(groups) // _AT_ONCE + 1):
                worst = max(worst, self._unpaid(jobs[block[_within(block, count)]]))
        return worst

    def _kind(self, job: int) -> tuple[object, ...]:
        """Return all that tells a job from others: of jobs alike in it, any may stand for another."""
        sharers = self.sharers
        traits = (sharers.gpus, sharers.alone, sharers.weight, self.pay, self.per_gpu)
        return (*(int(trait[job]) for trait in traits), *sharers.stages[job].tolist(), self.within[:, job].tobytes())

    def _unpaid(self, groups: Ints) -> int:
        value, scale = self.sharers.values(groups), self.prices.denominator
        gpus = self.sharers.gpus[groups].max(axis=1).astype(self.pay.dtype)
        paid = self.pay[groups].sum(axis=1) + gpus * (self.per_gpu[groups].sum(axis=1) + self.prices.gpu)
        for odd, has in zip(self.prices.odd_sets, self.within, strict=True):
            paid[has[groups].sum(axis=1) >= 2] += odd.price
        word = word_for((int(np.abs(value).max(initial=0)) + 1) * scale + int(paid.max(initial=0)))
        return int((value.astype(word) * scale - paid.astype(word)).max(initial=0))


def _groups(kinds: int, size: int) -> Ints | None:
    total = 1
    for i in range(size):
        total = total * (kinds + i) // (i + 1)
    if total > MOST_GROUPS:
        return None
    flat = (kind for group in combinations_with_replacement(range(kinds), size) for kind in group)
    return np.fromiter(flat, dtype=np.int64, count=total * size).reshape(total, size)


def _within(groups: Ints, count: Ints) -> NDArray[np.bool_]:
    """Return which groups take no kind more often than there are jobs of it."""
    used = (groups[:, :, None] == groups[:, None, :]).sum(axis=2)
    return np.asarray((used <= count[groups]).all(axis=1))
