"""A bound on the value of any grouping from its jobs alone, one by one: fast at every size, for every objective.

A group of p jobs is worth no more than what each of its jobs would add to it at the shortest period that any group with
the job can have. It takes no fewer GPUs than its jobs on average, so that each of them takes at least one part in p of
the GPUs that it asks for, all of its own CPUs and memory, and all of its quota. What is left is a knapsack of single
jobs: its value is bounded by prices, or by counting what there is of one thing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.verify.amounts import word_for
from muri_opt.verify.muri.periods import slot_count
from muri_opt.verify.muri.value import Sharers

Whole = NDArray[Any]
"""Whole numbers: machine words, or of any size."""
PARTS: Final = 12
"""GPUs, and what jobs add, are counted in parts of which so many are one: a third and a fourth are whole numbers."""
FINE: Final = 1 << 20
"""What counted prices are over."""
_MILLION: Final = 1_000_000
_UNITS: Final = {"progress": 1_000}
"""How often the speed of a job counts, by the objective; 1 where its weight says all."""
_UNSURE: Final = 64
"""Microseconds by which the authors' recurrence, in floats of seconds, may be off."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JobCaps:
    """What jobs can add at most to groups of p jobs: ``most[p - 1][j]``, in twelfths, rounded up.

    ``gpus`` is what they ask for. A group of more than one job loses ``lost`` for each of its GPUs.
    """

    gpus: Whole
    most: Sequence[Whole]
    lost: int

    @classmethod
    def of(cls, sharers: Sharers, jobs: Sequence[int], largest: int) -> JobCaps:
        """Return the caps of jobs by their places, in groups of up to ``largest``, by what they add to the first class.

        A job of another class adds nothing to it.
        """
        places = np.array(jobs, dtype=np.int64)
        sharing, first = sharers.sharing, sharers.classes.of_job[places] == 0
        counts, parts = _counts(sharers, places)
        amount = counts * _time(sharers, places)
        shortest = _shortest(sharers, places)
        steps = max(max(slow.numerator, slow.denominator) for slow in sharing.slowdowns) * PARTS * parts
        alone: Whole = np.where(first, sharers.of_class(places[:, None], 0), 0)
        word = word_for(steps * max(int(some.max(initial=0)) for some in (amount, counts, shortest, alone)))
        up: Whole = np.where(first, amount, 0).astype(word) * PARTS
        down: Whole = shortest.astype(word) * parts
        # Nobody runs faster with others than alone, whatever was measured.
        freely: Whole = -(-np.where(first, counts, 0).astype(word) * PARTS // parts)
        found: list[Whole] = [alone.astype(word) * PARTS]
        for size in range(2, largest + 1):
            slow = sharing.slowdown(size)
            in_step = -(-up * slow.denominator // (down * slow.numerator))
            found.append({"lock-step": in_step, "free": freely, "best": np.maximum(in_step, freely)}[sharing.run])
        return cls(
            gpus=sharers.gpus[places],
            most=tuple(found),
            lost=_MILLION if sharing.objective == "gpu-time" else 0,
        )

    def profit(self, denominator: int, gpu: int, paid: Whole) -> int:
        """Return by how much all jobs can add more than they pay, for themselves and their part of the GPUs.

        Prices are over the denominator, and so is the profit.
        """
        reach = denominator * (max(int(most.max(initial=0)) for most in self.most) + 1)
        asked = (gpu + self.lost * denominator) * int(self.gpus.max(initial=1))
        word = word_for(4 * (reach + asked + int(paid.max(initial=0))))
        gpus: Whole = self.gpus.astype(word)
        worth: Whole = -(-self.most[0].astype(word) * denominator // PARTS) - gpu * gpus
        for size, most in enumerate(self.most[1:], start=2):
            share = (gpu + self.lost * denominator) * gpus // size
            worth = np.maximum(worth, -(-most.astype(word) * denominator // PARTS) - share)
        profits: list[int] = np.maximum(worth - paid, 0).tolist()
        return sum(profits)

    def counted(self, supplies: Iterable[tuple[Whole, int]]) -> int:
        """Return what all jobs can add: of what is scarcest first to those that add most for it.

        A supply is what each job takes of something at least, and how much there is.
        """
        caps = np.maximum(0, self.most[0])
        for size, most in enumerate(self.most[1:], start=2):
            caps = np.maximum(caps, most - PARTS * self.lost * self.gpus // size)
        best: int = FINE * sum(caps.tolist())
        for takes, there_is in supplies:
            best = min(best, _filled(caps, takes, there_is))
        return best // (PARTS * FINE)


def added(sharers: Sharers, jobs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what each job adds to the first class, in a group that is not slowed down, times the period."""
    counts, parts = _counts(sharers, jobs)
    amount = np.where(sharers.classes.of_job[jobs] == 0, counts * _time(sharers, jobs), 0)
    return np.asarray(amount.astype(np.float64) / parts)


def _counts(sharers: Sharers, jobs: NDArray[np.int64]) -> tuple[Whole, int]:
    """Return what each job adds at the speed that it has alone, and in how many parts of the value that is counted."""
    sharing, gpus = sharers.sharing, sharers.gpus[jobs]  # in words that hold any value of a group times its period
    if sharing.objective == "efficiency":  # of its GPUs, and the group has no fewer
        return _MILLION * np.minimum(gpus, 1), max(1, slot_count(sharing.pattern, sharers.stages.shape[1]))
    if sharing.objective == "gpu-time":
        return _MILLION * gpus, 1
    counted = gpus if sharing.objective == "progress" else np.minimum(gpus, 1)
    return _UNITS.get(sharing.objective, 1) * counted * sharers.weight[jobs], 1


def _time(sharers: Sharers, jobs: NDArray[np.int64]) -> Whole:
    """Return how long each job takes alone as the objective counts it: all its stages, or an iteration."""
    return sharers.stages[jobs].sum(axis=1) if sharers.sharing.objective == "efficiency" else sharers.alone[jobs]


def _shortest(sharers: Sharers, jobs: NDArray[np.int64]) -> Whole:
    """Return what no period of a group with a job is shorter than: all its stages.

    In the authors' recurrence some of the first eight slots wait for nothing, but for every use of the GPU.
    """
    stages = sharers.stages[jobs]
    authors = sharers.sharing.pattern == "muri-4slot"
    shortest: Whole = stages[:, 1:2].sum(axis=1) - _UNSURE if authors else stages.sum(axis=1)
    return np.asarray(np.maximum(1, shortest))


def _filled(worth: Whole, takes: Whole, there_is: int) -> int:
    """Return, over ``FINE``, what no jobs are worth together that take no more than there is.

    They pay the price of the first that is left out. Which one that is, is a matter of floats; that jobs are worth no
    more than this is not.
    """
    some = np.flatnonzero(takes > 0)
    order = some[np.argsort(-(worth[some] / takes[some]).astype(np.float64), kind="stable")]
    out = order[np.cumsum(takes[order]) > there_is]
    price = FINE * int(worth[out[0]]) // int(takes[out[0]]) if len(out) else 0
    word = word_for(FINE * int(worth.max(initial=0)) + price * int(takes.max(initial=0)))
    profits: list[int] = np.maximum(0, FINE * worth.astype(word) - price * takes.astype(word)).tolist()
    return sum(profits) + price * there_is
