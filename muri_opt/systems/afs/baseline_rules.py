"""The rules AFS is compared with: equal shares, marginal gain, and shortest remaining time first."""

from __future__ import annotations

from heapq import heapify, heappop, heapreplace

import numpy as np
from numpy.typing import ArrayLike

from muri_opt.systems.afs.scan_orders import checked_scan
from muri_opt.systems.curves import Ints


def max_min_shares(cap: Ints, gpus: int, *, order: ArrayLike) -> Ints:
    """Return the shares of a round robin: one GPU at a time in the given order to the jobs below their cap.

    Everybody gets as much as the others, or its cap; who comes first in ``order`` gets what does not divide evenly.

    >>> max_min_shares(np.array([1, 4, 4]), 6, order=[0, 1, 2])
    array([1, 3, 2])
    """
    places = checked_scan(order, len(cap))
    rounds = 0
    left = max(gpus, 0)
    for level, jobs in zip(*np.unique(cap, return_counts=True), strict=True):  # jobs that leave after ``level`` rounds
        able = int((cap >= level).sum())
        full = min(int(level) - rounds, left // able)
        rounds += full
        left -= full * able
        if rounds < level or not jobs:
            break
    shares = np.minimum(cap, rounds)
    able_places = places[cap[places] > rounds]
    shares[able_places[:left]] += 1
    return shares


def optimus_shares(cap: Ints, time: Ints, gpus: int) -> Ints:
    """Return the shares of Optimus: a GPU each, the shortest job first, then where one more saves most time.

    ``time[j, k]`` is the remaining time with k GPUs. Of equal jobs the first is served first; a GPU that would save
    nobody any time is not given.

    >>> optimus_shares(np.array([2, 2]), np.array([[NEVER, 10, 6], [NEVER, 30, 16]]), 3)
    array([1, 2])
    """
    shares = np.zeros(len(cap), dtype=np.int64)
    first = _by_time(time[:, 1], cap)[: max(gpus, 0)]
    shares[first] = 1
    left = gpus - len(first)
    at = time.item
    saved = [(at(job, 2) - at(job, 1), job) for job in np.flatnonzero(cap > 1).tolist()] if left > 0 else []
    heapify(saved)  # the job that saves most first
    while left > 0 and saved and saved[0][0] < 0:
        job = saved[0][1]
        shares[job] = share = int(shares[job]) + 1
        left -= 1
        if share < cap[job]:
            heapreplace(saved, (at(job, share + 1) - at(job, share), job))
        else:
            heappop(saved)
    return shares


def srtf_shares(cap: Ints, time: Ints, gpus: int) -> Ints:
    """Return the shares of elastic shortest remaining time first: all it can use to the job that then ends first.

    What is left goes to the next. Of equally long jobs the first is served first.

    >>> srtf_shares(np.array([2, 2]), np.array([[NEVER, 10, 6], [NEVER, 30, 16]]), 3)
    array([2, 1])
    """
    shares = np.zeros(len(cap), dtype=np.int64)
    most = np.minimum(cap, max(gpus, 0))
    order = _by_time(time[np.arange(len(cap)), most], cap)
    before = np.cumsum(cap[order]) - cap[order]
    shares[order] = np.clip(gpus - before, 0, cap[order])
    return shares


def _by_time(time: Ints, cap: Ints) -> Ints:
    """Return the jobs that can use a GPU, shortest first."""
    able = np.flatnonzero(cap > 0)
    return able[np.argsort(time[able], kind="stable")]
