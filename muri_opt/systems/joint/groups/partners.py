"""Who shares GPUs at a price of a GPU: pairs by the gain of sharing, then further jobs to a pair."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from muri_opt.algorithms import max_weight_matching
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.stopping import look_at_clock
from muri_opt.systems.joint.groups.offers import Offers
from muri_opt.systems.joint.groups.pair_reach import Reach
from muri_opt.systems.joint.jobs.job_model import Floats

_MOST_OTHERS = 96
"""Jobs of a block that are looked at as a further member of a group, those of the most value for a GPU."""
_PARTS = 1_000_000
_WIDE = 40_000
"""Joinings of a group and a job, with each size, up to which all sizes are looked at; else those near the group's."""
_NEAR = (0, 1, 2)
Pairing = Callable[[Floats], tuple[Ints, Ints, Ints]]


class Blocks:
    """Rows of jobs that may share with others of their row, in the order of what they offer for a GPU.

    ``jobs[b, i]`` is -1 at the end of a row that has fewer. ``pairing`` says which form pairs, from what each pair of a
    row gains: rows, first and second jobs. With a ``reach`` they are asked for at its price only, and no pairs are
    looked at that are out of it.
    """

    def __init__(self, offers: Offers, jobs: Ints, pairing: Pairing, reach: Reach | None = None) -> None:
        self.jobs, self.offers, self._pairing, self._reach = jobs, offers, pairing, reach
        self._there = jobs >= 0
        self._able: NDArray[np.bool_] = offers.shares[jobs] & self._there
        self._gpus = offers.counts.astype(np.float64)
        self._known: dict[float, tuple[Floats, Floats]] = {}
        self.share = offers.most_jobs > 1 and len(offers.grid) > 0 and bool(self._able.any())
        self._pairs = self._pair_values() if self.share else np.zeros((1, *jobs.shape, jobs.shape[1]), dtype=np.float32)

    @cached_property
    def _alone(self) -> Floats:
        """What each job adds alone with each count of GPUs."""
        return np.where(self._there[..., None], self.offers.alone(self.jobs), 0.0)

    def _pair_values(self) -> NDArray[np.float32]:
        """Return ``[s, b, i, j]``, what two jobs of each row b add on the s-th size, 0 where one never shares."""
        if self._reach is not None:
            return self.offers.pairs(self.jobs, self._able, self._reach.sizes)
        most = int(self._able.sum(axis=1).max())
        if most == self.jobs.shape[1]:
            return self.offers.pairs(self.jobs, self._able)
        # Those that can share are put together first: who cannot is not looked at.
        own = np.argsort(~self._able, axis=1, kind="stable")[:, :most]
        rows = np.arange(len(own))[:, None]
        among = self.offers.pairs(self.jobs[rows, own], self._able[rows, own])
        found = np.zeros((len(among), *self.jobs.shape, self.jobs.shape[1]), dtype=np.float32)
        found[:, rows[:, :, None], own[:, :, None], own[:, None, :]] = among
        return found

    def profits(self, price: float) -> tuple[Floats, Floats]:
        """Return what each job gains alone at a price of a GPU, at least 0, and what each pair gains."""
        if price not in self._known:
            self._known = {price: self._profits(price)}
        return self._known[price]

    def _profits(self, price: float) -> tuple[Floats, Floats]:
        if self._reach is None:
            alone = np.maximum(0.0, (self._alone - price * self._gpus).max(axis=2))
        else:
            alone = self._reach.alone
        cost = (price * self.offers.sizes).astype(np.float32) if self.share else np.zeros(1, dtype=np.float32)
        most = self._pairs[0] - cost[0]
        other = np.empty_like(most)
        for pairs, paid in zip(self._pairs[1:], cost[1:], strict=True):  # sizes come first: a pass for each is fast
            np.maximum(most, np.subtract(pairs, paid, out=other), out=most)
        best: Floats = most.astype(np.float64)
        places = np.arange(best.shape[1])
        best[:, places, places] = -np.inf
        return alone, best

    def groups(self, price: float, kept: float = 1.0) -> list[Ints]:
        """Return the groups that gain by sharing at a price of a GPU: arrays with the jobs of a group in each row.

        Only a part ``kept`` of the pairs, those that gain most, wait for a third job; the others are taken apart, to
        be thirds, or pairs again where no pair wants them.
        """
        if not self.share:
            return []
        alone, best = self.profits(price)
        gain = best - alone[:, :, None]
        gain -= alone[:, None, :]
        row, first, second = self._pairing(gain)
        pairs = np.column_stack([first, second])
        if not len(pairs) or self.offers.most_jobs < 3:
            return [self._named(row, pairs)] if len(pairs) else []
        profit = best[row, first, second]
        place, count = _places(row, profit, len(self.jobs))
        cores = place < np.ceil(kept * count)[row]
        free = self._able.copy()
        free[row[cores], first[cores]] = free[row[cores], second[cores]] = False
        done: list[Ints] = []
        row, members, profit = row[cores], pairs[cores], profit[cores]
        while len(row) and members.shape[1] < self.offers.most_jobs:
            core, other, joined = self._join(row, members, profit, free, alone, price)
            done.append(self._named(np.delete(row, core), np.delete(members, core, axis=0)))
            row, members, profit = row[core], np.column_stack([members[core], other]), joined
            free[row, other] = False
        done.append(self._named(row, members))
        if kept < 1:
            again = self._pairing(np.where(free[:, :, None] & free[:, None, :], gain, -np.inf))
            done.append(self._named(again[0], np.column_stack(again[1:])))
        return [some for some in done if len(some)]

    def _join(
        self, row: Ints, members: Ints, profit: Floats, free: NDArray[np.bool_], alone: Floats, price: float
    ) -> tuple[Ints, Ints, Floats]:
        """Return which groups a free job of their row joins, that job, and what they gain then.

        Rows of many groups have few free jobs, and those of few groups many: both are looked at by themselves.
        """
        look_at_clock()
        count = np.bincount(row, minlength=len(self.jobs))
        most = min(_MOST_OTHERS, int(free.sum(axis=1).max()))
        wide = count.size * int(count.max()) * most * len(self.offers.grid) > _WIDE
        many = 2 * count > count.max()
        found = []
        for own in filter(len, (np.flatnonzero(many[row]), np.flatnonzero(~many[row]))):
            rows, block = np.unique(row[own], return_inverse=True)
            place, count = _places(block, profit[own], len(rows))
            of = np.full((len(rows), int(count.max())), -1, dtype=np.int64)
            of[block, place] = own
            most = min(_MOST_OTHERS, int(free[rows].sum(axis=1).max()))
            others = np.argsort(~free[rows], axis=1, kind="stable")[:, :most]
            there = (of >= 0)[:, :, None] & free[rows[:, None], others][:, None, :]
            gain, value = self._joining(rows, members[of], others, alone, price, wide)
            block, core, other = heaviest_between(np.where(there, gain - profit[of][:, :, None], -np.inf))
            found.append((of[block, core], others[block, other], value[block, core, other]))
        core, other, joined = (np.concatenate(some) for some in zip(*found, strict=True))
        return core, other, joined

    def _joining(
        self, rows: Ints, cores: Ints, others: Ints, alone: Floats, price: float, wide: bool
    ) -> tuple[Floats, Floats]:
        """Return ``[b, c, o]``, what group c and job o of some rows gain together, less what the job does alone.

        The same without that comes with it. Where there are ``wide`` ranges of them, not all sizes are looked at.
        """
        rows = rows[:, None]
        named, free = self.jobs[rows[:, :, None], cores], self.jobs[rows, others]
        grid = self.offers.grid
        at = np.broadcast_to(grid, (*cores.shape[:2], len(grid)))
        if wide and cores.shape[2] > 1:
            pairs = np.moveaxis(self._pairs[:, rows, cores[:, :, 0], cores[:, :, 1]], 0, -1)
            pair = pairs - price * self.offers.sizes
            near = np.minimum(pair.argmax(axis=2)[..., None] + np.array(_NEAR), len(grid) - 1)
            at = grid[near]
        profit = self.offers.joined(named, free, at) - price * self.offers.counts[at][..., None]
        value: Floats = profit.max(axis=2)
        return value - alone[rows, others][:, None, :], value

    def regrouped(self, groups: list[Ints], price: float, turn: int) -> list[Ints]:
        """Return groups of the one row in which one member of each was taken out, and all those given out anew.

        ``turn`` says which member. Jobs in no group may take their places. The best way to give them out is an
        assignment problem, which the groups as they were solve, too: at the same price it can only get better.
        """
        from scipy.optimize import linear_sum_assignment

        alone, best = self.profits(price)
        place = np.full(len(self.offers.kind), -1, dtype=np.int64)
        place[self.jobs[0]] = np.arange(self.jobs.shape[1])
        mine = [place[some] for some in groups]
        free = self._able[0].copy()
        for some in mine:
            free[some] = False
        out = [some[:, turn % some.shape[1]] for some in mine]
        cores = [np.delete(some, turn % some.shape[1], axis=1) for some in mine]
        others = np.concatenate([*out, np.flatnonzero(free)[:_MOST_OTHERS]])
        gain = np.concatenate([self._gain(core, others, best, alone, price) for core in cores])
        rows, columns = linear_sum_assignment(np.maximum(0.0, gain), maximize=True)
        takes = np.full(len(gain), -1, dtype=np.int64)
        takes[rows] = np.where(gain[rows, columns] > 0, others[columns], -1)
        found, first = [], 0
        for core in cores:
            taken = takes[first : first + len(core)]
            first += len(core)
            found.append(np.column_stack([core, taken])[taken >= 0])
            if core.shape[1] > 1:
                found.append(core[taken < 0])
        return [self.jobs[0][some] for some in found if len(some)]

    def _gain(self, cores: Ints, others: Ints, best: Floats, alone: Floats, price: float) -> Floats:
        """Return what is gained if another job joins a core of the one row."""
        if cores.shape[1] == 1:
            found: Floats = best[0][cores[:, 0]][:, others] - alone[0][cores] - alone[0][others]
            return found
        wide = len(cores) * len(others) * len(self.offers.grid) > _WIDE
        gain, _ = self._joining(np.zeros(1, dtype=np.int64), cores[None], others[None], alone, price, wide)
        before = best[0][cores[:, 0], cores[:, 1]]
        if cores.shape[1] > 2:
            before = (self.offers.groups(self.jobs[0][cores]) - price * self._gpus).max(axis=1)
        less: Floats = gain[0] - before[:, None]
        return less

    def _named(self, row: Ints, members: Ints) -> Ints:
        return self.jobs[row[:, None], members]


def _places(row: Ints, profit: Floats, rows: int) -> tuple[Ints, Ints]:
    """Return the place of each group among those of its row, the largest profit first, and how many each row has."""
    line = np.lexsort((-profit, row))
    count = np.bincount(row, minlength=rows)
    place = np.empty(len(row), dtype=np.int64)
    place[line] = np.arange(len(row)) - (np.cumsum(count) - count)[row[line]]
    return place, count


def best_pairs(gain: Floats) -> tuple[Ints, Ints, Ints]:
    """Return the pairs that gain most in all, by an exact matching of each row in millionths of its largest gain.

    >>> row, first, second = best_pairs(np.array([[[0.0, 3.0, 4.0], [3.0, 0.0, 2.0], [4.0, 2.0, 0.0]]]))
    >>> first.tolist(), second.tolist()
    ([0], [2])
    """
    found = []
    for row, own in enumerate(gain):
        gains = np.maximum(0.0, np.where(np.isfinite(own), own, 0.0))
        most = float(gains.max(initial=0.0))
        if most > 0:
            weights = np.rint(np.minimum(gains, gains.T) / most * _PARTS).astype(np.int64)
            found += [(row, *pair) for pair in max_weight_matching(weights).pairs]
    rows, first, second = np.array(found, dtype=np.int64).reshape(-1, 3).T
    return rows, first, second


def heaviest_first(gain: Floats) -> tuple[Ints, Ints, Ints]:
    """Return the pairs that taking the largest gain first, again and again, leads to in each row.

    No gain of 0 or less is taken. Pairs that are each other's best are taken together: none of them is in the way of a
    larger gain.

    >>> row, first, second = heaviest_first(np.array([[[-1.0, 3.0, 4.0], [3.0, -1.0, 2.0], [4.0, 2.0, -1.0]]]))
    >>> first.tolist(), second.tolist()
    ([0], [2])
    """
    if not gain.size:
        row, first, second = np.zeros((3, 0), dtype=np.int64)
        return row, first, second
    places, rows = np.arange(gain.shape[1]), np.arange(len(gain))[:, None]
    best = gain.argmax(axis=2)
    most = gain[rows, places, best]
    taken = np.zeros(best.shape, dtype=np.bool_)
    found = []
    while True:
        row, first = ((best[rows, best] == places) & (most > 0) & (places < best)).nonzero()
        if not len(row):
            break
        second = best[row, first]
        found.append(np.array([row, first, second]))
        taken[row, first] = taken[row, second] = True
        most[taken] = -np.inf
        # Only who lost the best partner, and would have gained, looks for another one.
        block, lost = (taken[rows, best] & (most > 0)).nonzero()
        left = np.where(taken[block], -np.inf, gain[block, lost])
        best[block, lost] = left.argmax(axis=1)
        most[block, lost] = left.max(axis=1)
    row, first, second = np.concatenate([np.zeros((3, 0), dtype=np.int64), *found], axis=1)
    return row, first, second


def heaviest_between(gain: Floats) -> tuple[Ints, Ints, Ints]:
    """Return block, row and column of the pairs that taking the largest gain above 0 first leads to in each block."""
    gain = gain.copy()
    blocks, every = np.arange(len(gain))[:, None], np.arange(gain.shape[1])
    found = []
    while gain.size:
        best, back = gain.argmax(axis=2), gain.argmax(axis=1)
        mutual = (back[blocks, best] == every) & (gain[blocks, every, best] > 0)
        block, row = mutual.nonzero()
        if not len(block):
            break
        column = best[block, row]
        found.append(np.array([block, row, column]))
        gain[block, row] = -np.inf
        gain[block, :, column] = -np.inf
    block, row, column = np.concatenate([np.zeros((3, 0), dtype=np.int64), *found], axis=1)
    return block, row, column
