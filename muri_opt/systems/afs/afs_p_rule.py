"""AFS-P: shares of jobs whose lengths nobody knows, by comparing growth alone and sharing time in quanta."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from muri_opt.systems.afs.coin_scans import CoinScans
from muri_opt.systems.afs.scan_orders import checked_scan
from muri_opt.systems.afs.seeded_coin import Coin
from muri_opt.systems.curves import Ints


def afs_p_shares(speed: Ints, cap: Ints, gpus: int, *, quanta: Ints, keeps: Ints, order: ArrayLike, coin: Coin) -> Ints:
    """Return how many of ``gpus`` GPUs each job gets when nothing is known of how long they are.

    Jobs are taken by finished ``quanta``, fewest first, then in the given order. Each gets one GPU while there are any,
    and what is left goes one by one to the winner of a scan over them, in the same order. Of the candidate c and the
    scanned m, m wins if it would even as the longer of the two, (p'_m - p_m) / p'_m >= (p'_c - p_c) / p_c; c wins if it
    would as the longer one, (p'_c - p_c) / p'_c >= (p'_m - p_m) / p_m; otherwise the fair ``coin`` decides.

    With as many jobs as GPUs or more, ``keeps[j]`` GPUs first stay with a job whose quantum has not ended (0: it has,
    or never began), as far as the GPUs go; such a job takes no part in the scans. With fewer jobs nobody keeps a share.

    >>> none = np.zeros(2, dtype=np.int64)
    >>> speed, cap, coin = np.array([[0, 10, 19], [0, 10, 11]]), np.array([2, 2]), np.random.default_rng(0)
    >>> afs_p_shares(speed, cap, 3, quanta=none, keeps=none, order=[0, 1], coin=coin)
    array([2, 1])
    """
    turns = checked_scan(order, len(cap))
    turns = turns[np.argsort(quanta[turns], kind="stable")]
    shares = np.zeros(len(cap), dtype=np.int64)
    left = max(0, gpus)
    if np.count_nonzero(cap > 0) >= gpus:
        for job in turns[keeps[turns] > 0].tolist():
            shares[job] = min(int(keeps[job]), int(cap[job]), left)
            left -= int(shares[job])
    served = turns[(shares[turns] == 0) & (cap[turns] > 0)][:left]
    shares[served] = 1
    left -= len(served)
    open_ = served[cap[served] > 1]
    scans = CoinScans(speed[open_], shares[open_], coin) if left > 0 else None
    while scans is not None and left > 0 and scans.any:
        place = scans.winner()
        job = int(open_[place])
        shares[job] += 1
        left -= 1
        scans.give(place, int(shares[job]), last=bool(shares[job] >= cap[job]))
    return shares
