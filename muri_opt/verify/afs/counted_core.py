"""The best value of one share per job within a number of GPUs, where all jobs are too many to count one after another.

Let a GPU cost a price. A job has at most a profit, the most by which one of its shares is worth more than it costs. No
shares are worth more than all profits and the price of all GPUs together, and a share that loses much against the
profit of its job can be in no better solution than one that is known. What loses little enough is counted; it is often
a few jobs of thousands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray

from muri_opt.verify.afs.share_tables import ShareTables
from muri_opt.verify.counting import Pool, counted_best

Ints = NDArray[np.int64]
_LARGEST = 1 << 61
_MORE_THAN_ALL = (1 << 63) - 1
_STEPS = 4
"""Steps of the search for a price after which shares are left out that no job buys any more."""
_MOST_FILLED = 64
"""Shares that are made larger one by one so that no GPU is idle."""


def core_best(total: int, tables: Sequence[Mapping[int, int]], *, steps: int) -> int | None:
    """Return the best value within so many GPUs, ``tables`` having for each job its values by GPUs.

    ``None`` where that takes more than so many sums, or larger numbers than a machine word holds.

    >>> core_best(3, [{1: 5, 2: 8}, {1: 4, 2: 7}], steps=100)
    12
    """
    shares = _Shares.of(total, ShareTables.of(tables))
    if shares is None:
        return None
    price = shares.price()
    profit = shares.profits(price)
    known, most = shares.worth_at(price), price * total + int(profit.sum())
    near = profit[shares.job] - (shares.value - price * shares.gpus) <= most - known
    idle = profit <= most - known
    choices = np.bincount(shares.job[near], minlength=len(profit)) + idle
    fixed = near & (choices[shares.job] == 1)
    open_ = near & ~fixed
    left = total - int(shares.gpus[fixed].sum())
    if left < 0:
        return known
    core: dict[int, dict[int, int]] = {}
    rows = zip(shares.job[open_].tolist(), shares.gpus[open_].tolist(), shares.value[open_].tolist(), strict=True)
    for job, gpus, value in rows:
        core.setdefault(job, {})[gpus] = value
    best = counted_best(left, [Pool([*core.values()], left)], steps=steps)
    return None if best is None else max(known, int(shares.value[fixed].sum()) + best)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Shares:
    """All shares of some worth, by job: ``start`` is where those of each job begin."""

    total: int
    job: Ints
    gpus: Ints
    value: Ints
    start: Ints

    @classmethod
    def of(cls, total: int, tables: ShareTables) -> _Shares | None:
        """Return the shares; ``None`` where there are none, or their values are too large."""
        some = (tables.value > 0) & (tables.gpus <= total)
        owner, gpus = tables.job[some], tables.gpus[some]
        if not len(owner) or max(tables.largest * int(gpus.max()), sum(tables.most())) >= _LARGEST:
            return None  # no price is above the largest value
        value = tables.value[some].astype(np.int64)
        new = np.append(True, owner[1:] != owner[:-1])
        start, job = np.flatnonzero(new), np.cumsum(new) - 1
        return cls(total=total, job=job, gpus=gpus, value=value, start=start)

    def profits(self, price: int) -> Ints:
        """Return the most that a share of each job is worth beyond its price, 0 if none is."""
        found: Ints = np.maximum.reduceat(self.value - price * self.gpus, self.start)
        return np.maximum(0, found)

    def price(self) -> int:
        """Return the least whole price at which all jobs together buy no more GPUs than there are."""
        low, high, rows = -1, int(self.value.max()), self
        least, most = np.zeros(len(self.start), dtype=np.int64), np.full(len(self.start), self.total, dtype=np.int64)
        steps = count(1)
        while high - low > 1 and len(rows.start):
            price = (low + high) // 2
            bought = rows._bought(price)
            if bought.sum() > rows.total:
                low, most = price, bought
            else:
                high, least = price, bought
            if next(steps) % _STEPS == 0:
                rows, least, most = rows._between(least, most)
        return low + 1  # where no job is open any more, a lower price sells no more either

    def _between(self, least: Ints, most: Ints) -> tuple[_Shares, Ints, Ints]:
        """Return the shares of jobs that may still buy several numbers of GPUs, and how few and how many these are.

        No job buys more at a higher price: between two prices it buys as at one of them, or a number between.
        """
        open_ = least < most
        near = open_[self.job] & (self.gpus >= least[self.job]) & (self.gpus <= most[self.job])
        new = np.diff(self.job[near], prepend=-1) > 0
        rest = _Shares(
            total=self.total - int(least[~open_].sum()),
            job=np.cumsum(new) - 1,
            gpus=self.gpus[near],
            value=self.value[near],
            start=np.flatnonzero(new),
        )
        return rest, least[open_], most[open_]

    def _bought(self, price: int) -> Ints:
        """Return the GPUs that each job buys, the fewest of those that are equally good."""
        gain = self.value - price * self.gpus
        best = np.maximum.reduceat(gain, self.start)
        chosen = (gain == best[self.job]) & (gain > 0)
        rank = np.where(chosen, self.gpus, _MORE_THAN_ALL)
        found: Ints = np.minimum.reduceat(rank, self.start)
        return np.where(best > 0, found, 0)

    def worth_at(self, price: int) -> int:
        """Return what shares are worth that fit: those bought at a price, and larger ones while GPUs are left."""
        now, more = self._bought(price), self._bought(price - 1) if price else self._bought(price)
        left = self.total - int(now.sum())
        width = int(self.gpus.max()) + 1
        at = np.full(len(self.start) * width, -1, dtype=np.int64)
        at[self.job * width + self.gpus] = self.value
        at[np.arange(len(self.start)) * width] = 0
        for job in np.flatnonzero(more > now).tolist():
            if more[job] - now[job] <= left:
                left -= int(more[job] - now[job])
                now[job] = more[job]
        for _ in range(_MOST_FILLED):  # what is left then, a few GPUs, to whom they are worth most
            step = self.gpus - now[self.job]
            gain = self.value - at[self.job * width + now[self.job]]
            able = np.flatnonzero((step > 0) & (step <= left) & (gain > 0))
            if not len(able):
                break
            best = able[np.argmax(gain[able] - price * step[able])]
            now[self.job[best]] = self.gpus[best]
            left -= int(step[best])
        return int(at[np.arange(len(self.start)) * width + now].sum())
