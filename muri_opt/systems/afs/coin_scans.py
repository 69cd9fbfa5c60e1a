"""Scans of AFS-P: the last candidate of a walk over the jobs, where a coin decides what growth does not.

Of the candidate c and a scanned job m, m wins if A_m >= B_c, c wins if A_c >= B_m, and else a coin decides, where A is
the gain of one more GPU over the speed with it and B over the speed without. With gains g and speeds p now, m wins if
g_m p_c - g_c p_m >= g_m g_c, and c if the opposite holds. A candidate tosses at once for all jobs
after it, so that the next one's tosses begin behind: which coin is whose is known from how many jobs each has to toss
for. These numbers are counted once; after each scan only its winner's growth has changed.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds.stopping import look_at_clock
from muri_opt.systems.afs.seeded_coin import Coin
from muri_opt.systems.curves import Ints

_ROWS: Final = 64
"""Candidates whose tosses are counted together; what is compared of them with all jobs is small enough for a cache."""
_FEW_TOSSES: Final = 1 << 9
_MOST_TOSSES: Final = 1 << 16
"""Coins that are tossed together, at first and at most."""


class CoinScans:
    """Scans over jobs that all have a GPU, in the given order; ``speed[j, k]`` is that of job j with k GPUs.

    >>> scans = CoinScans(np.array([[0, 10, 19], [0, 10, 11]]), np.array([1, 1]), np.random.default_rng(0))
    >>> scans.winner()
    0
    """

    def __init__(self, speed: Ints, shares: Ints, coin: Coin) -> None:
        self._speed, self._coin = speed, coin
        places = np.arange(len(shares))
        self._now = speed[places, shares]
        self._gain = speed[places, shares + 1] - self._now
        self._lists: tuple[list[int], list[int]] = (self._now.tolist(), self._gain.tolist())
        self._alive: list[int] = places.tolist()
        self._is_alive = np.ones(len(shares), dtype=np.bool_)
        self._coins, self._at, self._together = b"", 0, _FEW_TOSSES
        self._tosses = np.zeros(len(shares), dtype=np.int64)
        self._clear = np.full(len(shares), len(shares), dtype=np.int64)
        """Up to which job a coin decides between each one and all after it that are left."""
        ratio = _ratios(self._now, self._gain)
        for start in range(0, len(shares), _ROWS):
            look_at_clock()
            rows, jobs = places[start : start + _ROWS], places[start + 1 :]
            some = rows[:, None]
            open_ = self._is_open(some, jobs) if ratio is None else np.abs(ratio[some] - ratio[jobs]) < 1
            after = jobs > some
            self._tosses[rows] = np.count_nonzero(open_ & after, axis=1)
            row, place = np.nonzero(after & ~open_)
            shut, first = np.unique(row, return_index=True)
            self._clear[rows[shut]] = jobs[place[first]]

    @property
    def any(self) -> bool:
        """Whether a job is left to win."""
        return bool(self._alive)

    def winner(self) -> int:
        """Return the last candidate of one scan over the jobs that are left."""
        (now, gain), alive, tosses = self._lists, self._alive, self._tosses.tolist()
        coins, at, end = self._coins, self._at, len(self._coins)
        place, count = 0, len(alive)
        clear = np.searchsorted(np.flatnonzero(self._is_alive), self._clear).tolist()
        look_at_clock()
        while True:
            candidate = alive[place]
            toss, at = at, at + tosses[candidate]
            if at > end:
                coins, toss, at = self._refilled(toss, tosses[candidate])
                end = len(coins)
            tossed = clear[candidate] - place - 1  # so many jobs after it have a coin each: the first that is 1 decides
            first = coins.find(1, toss, toss + tossed)
            if first >= 0:
                place += 1 + first - toss
                continue
            toss += tossed
            now_c, gain_c = now[candidate], gain[candidate]
            for scanned in range(place + 1 + tossed, count):
                job = alive[scanned]
                gain_m = gain[job]
                ahead, both = gain_m * now_c - gain_c * now[job], gain_m * gain_c
                if ahead >= both:
                    break
                if ahead > -both:
                    toss += 1
                    if coins[toss - 1]:
                        break
            else:
                self._at = at
                return candidate
            place = scanned

    def give(self, job: int, share: int, *, last: bool) -> None:
        """Let a job have a share, with which it takes part in the next scans unless it is its ``last``."""
        before = np.arange(job)
        before = before[self._is_alive[:job]]
        self._tosses[before] -= self._is_open(before, job)
        if last:
            self._is_alive[job] = False
            self._alive.remove(job)
            return
        self._now[job] = self._speed[job, share]
        self._gain[job] = self._speed[job, share + 1] - self._now[job]
        for mine, each in zip(self._lists, (self._now, self._gain), strict=True):
            mine[job] = int(each[job])
        open_ = self._is_open(before, job)
        self._tosses[before] += open_
        shut = before[~open_]
        self._clear[shut] = np.minimum(self._clear[shut], job)
        after = np.flatnonzero(self._is_alive[job + 1 :]) + job + 1
        open_ = self._is_open(np.array([job]), after)
        self._tosses[job] = np.count_nonzero(open_)
        self._clear[job] = min(after[~open_].tolist(), default=len(self._clear))

    def _is_open(self, candidates: Ints, jobs: Ints | int) -> NDArray[np.bool_]:
        """Return whether a coin decides between candidates and jobs: neither is ahead by the product of their gains."""
        now, gain = self._now, self._gain
        ahead = gain[jobs] * now[candidates]
        ahead -= gain[candidates] * now[jobs]
        return np.asarray(np.abs(ahead, out=ahead) < gain[candidates] * gain[jobs])

    def _refilled(self, at: int, count: int) -> tuple[bytes, int, int]:
        """Return coins, those from a place on and further ones, and where the next ``count`` of them begin and end."""
        fresh = self._coin.integers(0, 2, size=max(count, self._together)).astype(np.uint8).tobytes()
        self._coins = self._coins[at:] + fresh
        self._together = min(2 * self._together, _MOST_TOSSES)
        return self._coins, 0, count


def _ratios(now: Ints, gain: Ints) -> NDArray[np.float64] | None:
    """Return speeds over gains: a coin decides between two jobs if theirs differ by less than 1.

    ``None`` where some gain is not above 0, or floating-point numbers cannot tell.
    """
    if not len(gain) or gain.min() <= 0:
        return None
    ratio = now / gain
    line = np.sort(ratio)
    near = 8 * float(np.finfo(np.float64).eps) * (1 + line[-1])
    least, most = (np.searchsorted(line, line + (1 + sign * near)) for sign in (-1, 1))
    return ratio if np.array_equal(least, most) else None
