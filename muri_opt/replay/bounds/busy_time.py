"""The least sum of mean busy times on one machine as fast as all GPUs (Goemans), and the prices of its time.

Let a job be done at rate rho(t). Its mean busy time, the mean of t over its work, is at least half its fastest time
before its end, as it cannot be done faster. And all jobs together take no more than all GPUs, each at least its least
GPU seconds. The least sum of mean busy times under that alone is reached by always serving, of the jobs that are there,
the one of the least work in all.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from muri_opt.replay.outcome import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BusyMachine:
    """Job ``job[i]`` is served from ``start[i]`` to ``end[i]``; ``after`` are the mean busy times of all jobs.

    These are counted from the submission of each: of a short job long after the first, most digits of a time are lost
    to what was before.

    The price of a GPU second falls to ``price[i]`` at the end of the piece, by ``slope[i]`` a second.
    """

    job: Ints
    start: Floats
    end: Floats
    price: Floats
    slope: Floats
    after: Floats

    def prices(self, bounds: Floats) -> Floats:
        """Return the mean price between each two bounds."""
        long = self.end - self.start
        area = np.append(0.0, np.cumsum(long * (self.price + self.slope * long / 2)))
        at = np.searchsorted(self.end, bounds, side="left")
        here = np.minimum(at, len(self.end) - 1)
        part = np.clip(bounds - self.start[here], 0.0, long[here])
        inside = part * (self.price[here] + self.slope[here] * (long[here] - part / 2))
        upto = np.where(at < len(self.end), area[here] + inside, area[-1])
        means: Floats = np.diff(upto) / np.diff(bounds)
        return means


def busy_machine(submitted: Floats, work: Floats, gpus: int) -> BusyMachine:
    """Return the schedule that always serves the job of the least work, of jobs in the order of their submission.

    >>> busy_machine(np.array([0.0, 1.0]), np.array([4.0, 1.0]), 1).after
    array([2.8, 0.5])
    """
    pieces = _pieces(submitted, work / max(1, gpus))
    job = np.array([piece.job for piece in pieces], dtype=np.int64)
    begin, since, long = np.array([piece[1:] for piece in pieces]).reshape(-1, 3).T
    middle = since - (submitted[job] - begin) + long / 2
    total = np.bincount(job, long, minlength=len(work)).astype(np.float64)
    after = np.bincount(job, long * middle, minlength=len(work)).astype(np.float64)
    np.divide(after, total, out=after, where=total > 0)
    start, end = begin + since, begin + since + long
    slope = 1 / work[job] if len(job) else np.zeros(0)
    return BusyMachine(job=job, start=start, end=end, price=_ends(job, start, end, slope), slope=slope, after=after)


class _Piece(NamedTuple):
    """A job is served for ``long`` seconds, ``since`` so many seconds after the machine last began to be busy."""

    job: int
    begin: float
    since: float
    long: float


def _pieces(submitted: Floats, length: Floats) -> list[_Piece]:
    """Return which job is served when; jobs without work are not."""
    left, arrivals = length.tolist(), submitted.tolist()
    waiting: list[tuple[float, int]] = []
    found: list[_Piece] = []
    begin, now, following = 0.0, 0.0, 0
    while waiting or following < len(left):
        if not waiting and arrivals[following] - begin > now:
            begin, now = arrivals[following], 0.0
        while following < len(left) and arrivals[following] - begin <= now:
            if left[following] > 0:
                heappush(waiting, (left[following], following))
            following += 1
        if not waiting:
            continue
        _, job = waiting[0]
        until = arrivals[following] - begin if following < len(left) else np.inf
        ends = now + left[job]
        if ends <= until:
            heappop(waiting)
            found.append(_Piece(job, begin, now, left[job]))
            now, left[job] = ends, 0.0
        else:
            found.append(_Piece(job, begin, now, until - now))
            now, left[job] = until, left[job] - (until - now)
    return found


def _ends(job: Ints, start: Floats, end: Floats, slope: Floats) -> Floats:
    """Return the price at the end of every piece.

    It is 0 where the machine is idle afterwards. Who is served on has no reason to wait: where a job ends, the price
    goes on as it is for the next; where it is interrupted, it is what makes the job go on at the same cost later.
    """
    price, cost = np.zeros(len(job)), dict[int, float]()
    after, begins = 0.0, np.inf
    for piece in range(len(job) - 1, -1, -1):
        mine = int(job[piece])
        if mine in cost:
            price[piece] = max(0.0, cost[mine] - end[piece] * slope[piece])
        else:
            price[piece] = after if begins <= end[piece] else 0.0
            cost[mine] = price[piece] + end[piece] * slope[piece]
        begins, after = start[piece], price[piece] + slope[piece] * (end[piece] - start[piece])
    return price
