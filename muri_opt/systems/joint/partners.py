"""Who shares GPUs at a price of a GPU: pairs by the gain of sharing, then a third job to a pair."""

from __future__ import annotations

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.joint.job_model import Floats
from muri_opt.systems.joint.offers import Offers

_MOST_THIRDS = 96
"""Jobs that are looked at as the third of a pair, those of the most value for a GPU."""


class Block:
    """Some jobs that may share with each other, in the order of what they offer for a GPU, with all their pairs."""

    def __init__(self, offers: Offers, jobs: Ints) -> None:
        self.jobs, self._offers = jobs, offers
        self._alone = offers.alone(jobs)
        self._gpus = np.arange(self._alone.shape[1], dtype=np.float64)
        shares = offers.most_jobs > 1 and len(offers.sizes) > 0 and bool(offers.shares[jobs].any())
        self._pairs = offers.pairs(jobs).astype(np.float32) if shares else None

    def groups(self, price: float) -> list[Ints]:
        """Return the pairs and triples that gain by sharing at a price of a GPU: arrays with a group in each row."""
        if self._pairs is None:
            return []
        alone = np.maximum(0.0, (self._alone - price * self._gpus).max(axis=1))
        cost = (price * self._offers.sizes).astype(np.float32)
        best: Floats = (self._pairs - cost).max(axis=2).astype(np.float64)
        gain = best - alone[:, None] - alone[None, :]
        np.fill_diagonal(gain, -np.inf)
        pairs = heaviest_first(gain)
        if not len(pairs) or self._offers.most_jobs < 3:
            return [self.jobs[pairs]] if len(pairs) else []
        return self._with_thirds(pairs, best, alone, price)

    def _with_thirds(self, pairs: Ints, best: Floats, alone: Floats, price: float) -> list[Ints]:
        free = np.ones(len(self.jobs), dtype=np.bool_)
        free[pairs] = False
        others = np.flatnonzero(free & self._offers.shares[self.jobs])[:_MOST_THIRDS]
        if not len(others):
            return [self.jobs[pairs]]
        value = self._offers.triples(self.jobs[pairs], self.jobs[others]) - price * self._offers.sizes
        gain = value.max(axis=2) - best[pairs[:, 0], pairs[:, 1]][:, None] - alone[others]
        pair, other = heaviest_between(gain)
        triples = np.column_stack([pairs[pair], others[other]])
        rest = np.delete(pairs, pair, axis=0)
        return [self.jobs[groups] for groups in (rest, triples) if len(groups)]


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
