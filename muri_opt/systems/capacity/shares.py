"""Elastic jobs on the nodes: each with the share it was given, or the next smaller one that still fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.free_capacity import FreeCapacity
from muri_opt.systems.capacity.gang_fit import held_gpus
from muri_opt.systems.capacity.room_sets import Parts, RoomSets

Placed = dict[int, Parts]
"""Nodes and GPUs of each job that runs."""
Worth = Callable[[Mapping[int, Parts]], int]
"""What nodes and GPUs of jobs are worth, less what is lost by changes."""


def place_shares(
    round_: Round, shares: Ints, legal: Ints, *, by_node: bool = False, worth: Worth | None = None
) -> dict[int, Ints]:
    """Return GPUs per node of every job that runs; ``legal`` are the GPU counts a share may have, ascending.

    Jobs whose share is the one they hold stay where they are, then the largest shares are placed first. If some share
    is not placed whole, all are placed anew, the largest first: that is taken where it is ``worth`` more, jobs staying
    where they are if there is still room; or, where nobody says what it is worth, wherever it runs more GPUs. Where
    CPUs, memory or a quota leave no room for a share, the job gets the next smaller legal one; what that leaves over
    goes to jobs without a share, a GPU each, those that run first. ``by_node`` puts a share on one node, or on as many
    as it fills.

    >>> place_shares(shipped_round("toy/three-elastic"), np.array([2, 1, 1]), np.array([1, 2, 3, 4]))
    {0: array([2]), 1: array([1]), 2: array([1])}
    """
    placing = _Placing(round_, shares, legal, by_node=by_node, idle=worth is not None)
    stays = {job for job, now in placing.held.items() if sum(gpus for _, gpus in now) == shares[job]}
    placed = placing.place(stays, placing.held)
    if placing.held and _gpus(placed) < shares.sum():
        anew = placing.place(set(), {} if worth is None else placing.held)
        count = _gpus if worth is None else worth
        return placing.dense(anew if count(anew) > count(placed) else placed)
    return placing.dense(placed)


class _Placing:
    """The shares of one round that are to be placed.

    ``held`` are the nodes and GPUs of jobs that run and have a share, and of those that have none if ``idle``.
    """

    def __init__(self, round_: Round, shares: Ints, legal: Ints, *, by_node: bool, idle: bool) -> None:
        amounts = round_.amounts
        self._amounts = amounts
        self._shares: list[int] = shares.tolist()
        self._by_node = by_node
        self._size = max(1, int(amounts.G.max(initial=1)))
        self._legal: list[int] = legal.tolist()
        self._upto: list[int] = np.searchsorted(legal, shares, side="right").tolist()
        self._kind = list(zip(amounts.c.tolist(), amounts.m.tolist(), strict=True))
        self._tenant: list[int] = amounts.tenant.tolist()
        self.held: Placed = {}
        for job in range(len(round_.jobs)):
            now = held_gpus(round_, job) if self._shares[job] or idle else None
            if now is not None:
                used = np.flatnonzero(now)
                self.held[job] = list(zip(used.tolist(), now[used].tolist(), strict=True))

    def place(self, stays: set[int], held: Mapping[int, Parts]) -> Placed:
        """Return the parts of all jobs: first of those that stay, then the largest; on what they hold if they can."""
        quota = FreeCapacity(self._amounts)
        rooms = RoomSets(self._amounts, dict.fromkeys(self._kind))
        placed: Placed = {}
        shares = self._shares
        given = [job for job, share in enumerate(shares) if share]
        for job in sorted(given, key=lambda job: (job not in stays, -shares[job], job)):
            for gpus in reversed(self._legal[: self._upto[job]]):
                if self._put(placed, quota, rooms, job, gpus, held.get(job)):
                    break
        spare = sum(shares) - _gpus(placed)
        waiting = [job for job, share in enumerate(shares) if not share] if spare else []
        for job in sorted(waiting, key=lambda job: (job not in held, job)):
            if not spare:
                break
            spare -= self._put(placed, quota, rooms, job, 1, held.get(job))
        return placed

    def _put(
        self, placed: Placed, quota: FreeCapacity, rooms: RoomSets, job: int, gpus: int, now: Parts | None
    ) -> bool:
        """Place a job with so many GPUs if it can be."""
        tenant, kind = self._tenant[job], self._kind[job]
        if not quota.has_quota(tenant, gpus):
            return False
        most = max(1, gpus // self._size) if self._by_node else len(self._amounts.G)
        keeps = now is not None and len(now) <= most and sum(part for _, part in now) == gpus
        found = now if now is not None and keeps and rooms.holds(kind, now) else rooms.best_fit(kind, gpus)
        if found is None or len(found) > most:  # the best fit is on as few nodes as can be
            return False
        rooms.take(kind, found)
        quota.charge(tenant, gpus)
        placed[job] = found
        return True

    def dense(self, placed: Placed) -> dict[int, Ints]:
        """Return GPUs per node."""
        found = {}
        for job, parts in placed.items():
            share = np.zeros(len(self._amounts.G), dtype=np.int64)
            for node, gpus in parts:
                share[node] = gpus
            found[job] = share
        return found


def _gpus(placed: Mapping[int, Parts]) -> int:
    return sum(gpus for parts in placed.values() for _, gpus in parts)
