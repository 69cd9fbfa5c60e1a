"""Elastic shares on the nodes, one after another, every node asked for each: what the faster method has to equal."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.capacity.free_capacity import Leftover
from muri_opt.systems.capacity.gang_fit import held_gpus
from muri_opt.systems.capacity.node_fit import best_fit


def place_shares(round_: Round, shares: Ints, legal: Ints, *, by_node: bool = False) -> dict[int, Ints]:
    """Return GPUs per node of every job that runs; where shares are cut, all are placed anew if that runs more GPUs."""
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
