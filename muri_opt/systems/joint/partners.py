"""Who shares GPUs at a price of a GPU: pairs by the gain of sharing, then a third job to a pair."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

import numpy as np

from muri_opt.algorithms import max_weight_matching
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.joint.job_model import Floats
from muri_opt.systems.joint.offers import Offers

_MOST_THIRDS = 96
"""Jobs that are looked at as the third of a pair, those of the most value for a GPU."""
_PARTS = 1_000_000


class Block:
    """Some jobs that may share with each other, in the order of what they offer for a GPU, with all their pairs.

    ``pairing`` says which of them form pairs, from what each pair gains.
    """

    def __init__(self, offers: Offers, jobs: Ints, pairing: Callable[[Floats], Ints]) -> None:
        self.jobs, self._offers, self._pairing = jobs, offers, pairing
        self._alone = offers.alone(jobs)
        self._gpus = offers.counts.astype(np.float64)
        shares = offers.most_jobs > 1 and len(offers.sizes) > 0 and bool(offers.shares[jobs].any())
        self._pairs = offers.pairs(jobs).astype(np.float32) if shares else None

    def _profits(self, price: float) -> tuple[Floats, Floats]:
        """Return what each job gains alone at a price of a GPU, at least 0, and what each pair gains."""
        alone = np.maximum(0.0, (self._alone - price * self._gpus).max(axis=1))
        if self._pairs is None:
            return alone, np.zeros((len(alone), len(alone)))
        cost = (price * self._offers.sizes).astype(np.float32)
        best: Floats = (self._pairs - cost).max(axis=2).astype(np.float64)
        np.fill_diagonal(best, -np.inf)
        return alone, best

    def groups(self, price: float, kept: float = 1.0) -> list[Ints]:
        """Return the pairs and triples that gain by sharing at a price of a GPU: arrays with a group in each row.

        Only a part ``kept`` of the pairs, those that gain most, wait for a third job; the others are taken apart, to
        be thirds, or pairs again where no pair wants them.
        """
        if self._pairs is None:
            return []
        alone, best = self._profits(price)
        gain = best - alone[:, None] - alone[None, :]
        pairs = self._pairing(gain)
        if not len(pairs) or self._offers.most_jobs < 3:
            return [self.jobs[pairs]] if len(pairs) else []
        line = np.argsort(-best[pairs[:, 0], pairs[:, 1]], kind="stable")
        cores = pairs[line[: ceil(kept * len(pairs))]]
        free = self._offers.shares[self.jobs].copy()
        free[cores] = False
        others = np.flatnonzero(free)[:_MOST_THIRDS]
        if not len(others):
            return [self.jobs[cores]]
        core, other = heaviest_between(self._joining(cores, others, best, alone, price))
        triples = np.column_stack([cores[core], others[other]])
        rest = np.delete(others, other)
        again = rest[self._pairing(gain[np.ix_(rest, rest)])] if kept < 1 else cores[:0]
        found = (np.delete(cores, core, axis=0), triples, again)
        return [self.jobs[groups] for groups in found if len(groups)]

    def _joining(self, pairs: Ints, others: Ints, best: Floats, alone: Floats, price: float) -> Floats:
        """Return ``[p, q]``, what is gained if job q joins pair p."""
        value = self._offers.triples(self.jobs[pairs], self.jobs[others]) - price * self._offers.sizes
        gain: Floats = value.max(axis=2) - best[pairs[:, 0], pairs[:, 1]][:, None] - alone[others]
        return gain

    def regrouped(self, groups: list[Ints], price: float, turn: int) -> list[Ints]:
        """Return groups in which one member of each was taken out, and all those given out anew as gains most.

        ``turn`` says which member. Jobs in no group may take their places. The best way to give them out is an
        assignment problem, which the groups as they were solve, too: at the same price it can only get better.
        """
        from scipy.optimize import linear_sum_assignment

        alone, best = self._profits(price)
        place = np.full(len(self._offers.kind), -1, dtype=np.int64)
        place[self.jobs] = np.arange(len(self.jobs))
        mine = [place[some] for some in groups]
        free = self._offers.shares[self.jobs].copy()
        for some in mine:
            free[some] = False
        out = [some[:, turn % some.shape[1]] for some in mine]
        cores = [np.delete(some, turn % some.shape[1], axis=1) for some in mine]
        others = np.concatenate([*out, np.flatnonzero(free)[:_MOST_THIRDS]])
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
        return [self.jobs[some] for some in found if len(some)]

    def _gain(self, cores: Ints, others: Ints, best: Floats, alone: Floats, price: float) -> Floats:
        """Return what is gained if another job joins a core of one job or two."""
        if cores.shape[1] == 1:
            return best[cores[:, 0]][:, others] - alone[cores] - alone[others]
        return self._joining(cores, others, best, alone, price)


def best_pairs(gain: Floats) -> Ints:
    """Return the pairs that gain most in all, by an exact matching of gains in millionths of the largest.

    >>> best_pairs(np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 2.0], [4.0, 2.0, 0.0]])).tolist()
    [[0, 2]]
    """
    gains = np.maximum(0.0, np.where(np.isfinite(gain), gain, 0.0))
    most = float(gains.max(initial=0.0))
    if most <= 0:
        return np.zeros((0, 2), dtype=np.int64)
    weights = np.rint(np.minimum(gains, gains.T) / most * _PARTS).astype(np.int64)
    return np.array(max_weight_matching(weights).pairs, dtype=np.int64).reshape(-1, 2)


def heaviest_first(gain: Floats) -> Ints:
    """Return the pairs that taking the largest gain first, again and again, leads to; no gain of 0 or less is taken.

    Pairs that are each other's best are taken together: none of them is in the way of a larger gain.

    >>> heaviest_first(np.array([[-1.0, 3.0, 4.0], [3.0, -1.0, 2.0], [4.0, 2.0, -1.0]])).tolist()
    [[0, 2]]
    """
    gain = gain.copy()
    places = np.arange(len(gain))
    found = []
    while len(gain):
        best = gain.argmax(axis=1)
        mutual = (best[best] == places) & (gain[places, best] > 0) & (places < best)
        if not mutual.any():
            break
        first, second = places[mutual], best[mutual]
        found.append(np.column_stack([first, second]))
        taken = np.concatenate([first, second])
        gain[taken] = -np.inf
        gain[:, taken] = -np.inf
    return np.concatenate(found) if found else np.zeros((0, 2), dtype=np.int64)


def heaviest_between(gain: Floats) -> tuple[Ints, Ints]:
    """Return rows and columns of the pairs that taking the largest gain above 0 first leads to."""
    gain = gain.copy()
    rows, columns = [], []
    while gain.size:
        best = gain.argmax(axis=1)
        back = gain.argmax(axis=0)
        every = np.arange(len(gain))
        mutual = (back[best] == every) & (gain[every, best] > 0)
        if not mutual.any():
            break
        rows.append(every[mutual])
        columns.append(best[mutual])
        gain[rows[-1]] = -np.inf
        gain[:, columns[-1]] = -np.inf
    none = np.zeros(0, dtype=np.int64)
    return np.concatenate([none, *rows]), np.concatenate([none, *columns])
