"""AFS-P: shares of jobs whose lengths nobody knows, by comparing growth alone and sharing time in quanta."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from muri_opt.elastic.curves import Ints
from muri_opt.elastic.scan import checked_scan


def afs_p_shares(
    speed: Ints, cap: Ints, gpus: int, *, quanta: Ints, keeps: Ints, order: ArrayLike, coin: np.random.Generator
) -> Ints:
    """Return how many of ``gpus`` GPUs each job gets when nothing is known of how long they are.

    With fewer jobs than GPUs each gets one, and the rest go one by one to the winner of a scan in the given order. Of
    the candidate c and the scanned m, m wins if it would even as the longer of the two, (p'_m - p_m) / p'_m >= (p'_c -
    p_c) / p_c; c wins if it would as the longer one, (p'_c - p_c) / p'_c >= (p'_m - p_m) / p_m; otherwise the fair
    ``coin`` decides.

    Otherwise jobs take turns: ``keeps[j]`` GPUs stay with a job whose quantum has not ended (0: it has, or never
    began), as far as the GPUs go; the others get one GPU each while there are any, those with the fewest finished
    ``quanta`` first, then in the given order; what is then left goes to winners of scans.
    """
    turns = checked_scan(order, len(cap))
    shares = np.zeros(len(cap), dtype=np.int64)
    left = max(0, gpus)
    if np.count_nonzero(cap > 0) >= gpus:
        for job in turns[keeps[turns] > 0].tolist():
            shares[job] = min(int(keeps[job]), int(cap[job]), left)
            left -= int(shares[job])
    waiting = turns[(shares[turns] == 0) & (cap[turns] > 0)]
    first = waiting[np.argsort(quanta[waiting], kind="stable")][:left]
    shares[first] = 1
    left -= len(first)
    while left > 0:
        below = turns[(shares[turns] > 0) & (shares[turns] < cap[turns])]
        if not len(below):
            break
        shares[_winner(speed, shares, below, coin)] += 1
        left -= 1
    return shares


def _winner(speed: Ints, shares: Ints, jobs: Ints, coin: np.random.Generator) -> int:
    """Return the last candidate of a scan over jobs that all have a GPU and could use one more."""
    now, more = speed[jobs, shares[jobs]], speed[jobs, shares[jobs] + 1]
    gain = more - now
    place = 0
    while True:
        rest = slice(place + 1, None)
        surely = gain[rest] * now[place] >= gain[place] * more[rest]
        perhaps = ~surely & (gain[place] * now[rest] < gain[rest] * more[place])
        heads = np.zeros_like(perhaps)
        heads[perhaps] = coin.integers(0, 2, size=np.count_nonzero(perhaps)) == 1
        wins = surely | heads
        if not wins.any():
            return int(jobs[place])
        place += 1 + int(np.argmax(wins))
