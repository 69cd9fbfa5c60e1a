"""An answer from multipliers: the best option of every job, repaired until it fits, then improved while anything fits.

Many jobs are changed at a time. In every pass each job names the one change it would make, the changes are sorted, and
as many of them are made, in that order, as the free capacity allows.

A Lagrangian heuristic: the answer of the relaxation is made feasible where that loses least, then filled greedily.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from muri_opt.algorithms.knapsack.candidates import Candidates, candidates
from muri_opt.algorithms.knapsack.multipliers import Priced
from muri_opt.algorithms.knapsack.options import Ints, Options

_PER_JOB = 6
"""Options per job, on average, that are looked at for a repair: those that lose least."""
_GOLDEN = (5**0.5 - 1) / 2
"""Multiples of it, without their whole part, are spread evenly from the first on."""
_SAFE = 61
"""Bits of a sum that int64 holds with room to spare."""


def feasible_choice(options: Options, priced: Priced) -> Ints:
    """Return a choice that fits, near the best as far as changing one job at a time can tell.

    All options must fit alone.

    >>> options = Options.of([0, 0, 1], [5, 7, 4], [[1], [2], [1]], [2], jobs=2)
    >>> feasible_choice(options, lagrangian(options))
    array([0, 2])
    """
    count = min(_PER_JOB * options.jobs, len(options))
    most = int(np.partition(priced.loss, count - 1)[count - 1]) if count else 0
    choice = spread_choice(options, priced)
    filling = Filling(candidates(options, priced, choice, most, all_wait=True), options)
    filling.repair()
    filling.improve()
    return filling.choice


def spread_choice(options: Options, priced: Priced) -> Ints:
    """Return for each job an option that loses next to nothing at these prices, -1 for waiting.

    Jobs with several such options, all alike perhaps, are spread over them in the proportions that take about what
    there is: the i-th job takes the option at which the shares add up to the i-th number of an even sequence. Jobs are
    taken in order of what waiting loses, which is the same for jobs that are alike.
    """
    weight = np.exp(-(priced.loss / priced.spread).astype(np.float64))
    waiting = np.exp(-(priced.idle / priced.spread).astype(np.float64))
    before = np.concatenate([[0.0], np.cumsum(weight)])
    first = np.searchsorted(options.job, np.arange(options.jobs + 1))
    share = before[first[1:]] - before[first[:-1]]
    even = np.zeros(options.jobs)
    even[np.argsort(priced.idle, kind="stable")] = (np.arange(1, options.jobs + 1) * _GOLDEN) % 1.0
    target = before[first[:-1]] + even * (share + waiting)
    place = np.searchsorted(before[1:], target, side="right")
    choice = np.where((place < first[1:]) & (even * (share + waiting) < share), place, -1)
    return choice.astype(np.int64)


class Filling:
    """A choice on its way to one that fits, and to a better one."""

    def __init__(self, known: Candidates, options: Options) -> None:
        # Where sums would not fit into int64, amounts are rounded: uses up, capacities down.
        bits = (int(options.capacity.max(initial=0)) * (options.jobs + 1)).bit_length()
        shift = max(0, bits - _SAFE)
        self._known = known
        self._use: Ints = -(-known.use >> shift)
        self._capacity: Ints = options.capacity >> shift
        self._loss = known.loss.astype(np.float64)
        self._now: Ints = known.now.copy()

    @property
    def choice(self) -> Ints:
        """The option of each job, -1 where it waits."""
        return self._known.choice(self._now)

    def repair(self) -> None:
        """Change jobs, the least loss per share of the excess first, until the choice fits.

        A change never takes more of a resource that is short, nor more than is free of another, so that every pass
        leaves less excess; making a job wait is always such a change.
        """
        while True:
            free, more, loss = self._changes()
            short = free < 0
            if not short.any():
                return
            room = np.where(short, 0, free)
            relief = (np.minimum(-more[:, short], -free[short]) / -free[short]).sum(axis=1)
            moves = np.flatnonzero((more <= room).all(axis=1) & (relief > 0))
            moves = self._one_per_job(moves, loss[moves] / relief[moves])
            total = np.cumsum(more[moves], axis=0)
            done = (total[:, short] <= free[short]).any(axis=1)
            last = int(np.argmax(done)) + 1 if done.any() else len(moves)
            self._make(moves[: min(last, _leading(total, room))])

    def improve(self) -> None:
        """Change single jobs for the better, the least loss first, until nothing better fits."""
        while True:
            free, more, loss = self._changes()
            value = self._known.value
            gain = value - value[self._now][self._known.job]
            moves = np.flatnonzero((gain > 0) & (more <= free).all(axis=1))
            if not len(moves):
                return
            moves = self._one_per_job(moves, loss[moves])
            self._make(moves[: _leading(np.cumsum(more[moves], axis=0), free)])

    def _changes(self) -> tuple[Ints, Ints, NDArray[np.float64]]:
        """Return what is free of each resource, and how much more each candidate takes and loses than what is now."""
        job, now = self._known.job, self._now
        free = self._capacity - self._use[now].sum(axis=0)
        return free, self._use - self._use[now][job], self._loss - self._loss[now][job]

    def _one_per_job(self, moves: Ints, cost: NDArray[np.float64]) -> Ints:
        """Return the cheapest of the changes of each job, the cheapest first."""
        moves = moves[np.argsort(cost, kind="stable")]
        first = np.unique(self._known.job[moves], return_index=True)[1]
        return moves[np.sort(first)]

    def _make(self, moves: Ints) -> None:
        self._now[self._known.job[moves]] = moves


def _leading(total: Ints, room: Ints) -> int:
    """Return how many changes, from the first on, fit together by their running total; the first always fits alone."""
    fits = np.append((total <= room).all(axis=1), False)
    return int(np.argmin(fits))
