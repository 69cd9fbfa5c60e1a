"""Elastic jobs on the nodes: each with the share it was given, or the next smaller one that still fits."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.capacity.free_capacity import Leftover
from muri_opt.systems.capacity.gang_fit import held_gpus
from muri_opt.systems.capacity.node_fit import best_fit


def place_shares(round_: Round, shares: Ints, legal: Ints, *, by_node: bool = False) -> dict[int, Ints]:
    """Return GPUs per node of every job that runs; ``legal`` are the GPU counts a share may have, ascending.

    Jobs whose share is the one they hold stay where they are, then the largest shares are placed first. If some share
    is not placed whole, all are placed anew, the largest first, and that is taken where it runs more GPUs. Where CPUs,
    memory or a quota leave no room for a share, the job gets the next smaller legal one; what that leaves over goes
    to jobs without a share, a GPU each. ``by_node`` puts a share on one node, or on as many as it fills.

    >>> place_shares(shipped_round("toy/three-elastic"), np.array([2, 1, 1]), np.array([1, 2, 3, 4]))
    {0: array([2]), 1: array([1]), 2: array([1])}
    """
    held = {job: now for job in np.flatnonzero(shares).tolist() if (now := held_gpus(round_, job)) is not None}
    placed = _placed(round_, shares, legal, held, by_node=by_node)
    if held and _gpus(placed) < shares.sum():
        anew = _placed(round_, shares, legal, {}, by_node=by_node)
        return anew if _gpus(anew) > _gpus(placed) else placed
    return placed


def _placed(round_: Round, shares: Ints, legal: Ints, held: Mapping[int, Ints], *, by_node: bool) -> dict[int, Ints]:
    """Return GPUs per node, first of the jobs whose share is what they hold, then of the largest shares."""
    asks = shares.copy()
    left = Leftover(round_, asks)
    size = max(1, int(round_.amounts.G.max(initial=1)))
    stays = {job for job, now in held.items() if now.sum() == shares[job]}
    placed: dict[int, Ints] = {}
    for job in sorted(np.flatnonzero(shares).tolist(), key=lambda job: (job not in stays, -int(shares[job]), job)):
        room, now = left.room(job), held.get(job)
        for gpus in reversed(legal[legal <= shares[job]].tolist()):
            asks[job] = gpus
            most = max(1, gpus // size) if by_node else len(room)
            kept = now if now is not None and np.count_nonzero(now) <= most else None
            share = best_fit(room, gpus, kept) if left.within_quota(job) else None
            if share is not None and np.count_nonzero(share) <= most:  # the best fit is on as few nodes as can be
                left.take(share, job)
                placed[job] = share
                break
    spare = int(shares.sum()) - _gpus(placed)
    for job in np.flatnonzero(shares == 0).tolist() if spare else ():
        asks[job] = 1
        share = best_fit(left.room(job), 1) if spare and left.within_quota(job) else None
        if share is not None:
            left.take(share, job)
            placed[job] = share
            spare -= 1
    return placed


def _gpus(placed: Mapping[int, Ints]) -> int:
    return sum(int(share.sum()) for share in placed.values())
