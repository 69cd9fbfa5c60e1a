"""Elastic jobs on the nodes: each with the share it was given, or the next smaller one that still fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.free_capacity import FreeCapacity
from muri_opt.systems.capacity.held_parts import Parts, held_parts
from muri_opt.systems.capacity.room_sets import RoomSets

PartsOfJobs = dict[int, Parts]
"""Nodes and GPUs of each job that runs."""
Worth = Callable[[Mapping[int, Parts]], int]
"""What nodes and GPUs of jobs are worth, less what is lost by changes."""


def place_parts(
    round_: Round, shares: Ints, legal: Ints, *, by_node: bool = False, worth: Worth | None = None
) -> PartsOfJobs:
    """Return nodes and GPUs of every job that runs; ``legal`` are the GPU counts a share may have, ascending.

    Jobs whose share is the one they hold stay where they are, then the largest shares are placed first. If some share
    is not placed whole, all are placed anew, the largest first: that is taken where it is ``worth`` more, jobs staying
    where they are if there is still room; or, where nobody says what it is worth, wherever it runs more GPUs. Where
    CPUs, memory or a quota leave no room for a share, the job gets the next smaller legal one; what that leaves over
    goes to jobs without a share, a GPU each, those that run first. ``by_node`` puts a share on one node, or on as many
    as it fills.

    >>> place_parts(shipped_round("toy/three-elastic"), np.array([2, 1, 1]), np.array([1, 2, 3, 4]))
    {0: [(0, 2)], 1: [(0, 1)], 2: [(0, 1)]}
    """
    placing = _Placing(round_, shares, legal, by_node=by_node, idle=worth is not None)
    stays = {job for job, now in placing.held.items() if sum(gpus for _, gpus in now) == shares[job]}
    placed = placing.place(stays, placing.held)
    if placing.held and _gpus(placed) < shares.sum():
        anew = placing.place(set(), {} if worth is None else placing.held)
        count = _gpus if worth is None else worth
        return anew if count(anew) > count(placed) else placed
    return placed


def parts_as_held(round_: Round, held: Ints, legal: Ints, *, by_node: bool = False) -> PartsOfJobs | None:
    """Return nodes and GPUs of the jobs that hold some as they are; ``None`` where they may not all go on so.

    ``held`` are the GPUs of each job, 0 if it does not run.

    >>> round_ = shipped_round("toy/three-fragments")
    >>> parts_as_held(round_, np.array([4, 2, 1, 4, 2, 4, 2, 1, 0]), np.arange(1, 9))
    {0: [(0, 4)], 1: [(0, 2)], 2: [(0, 1)], 3: [(1, 4)], 4: [(1, 2)], 5: [(2, 4)], 6: [(2, 2)], 7: [(2, 1)]}
    """
    placing = _Placing(round_, held, legal, by_node=by_node, idle=False)
    stays = placing.all_stay(FreeCapacity(round_.amounts), [*placing.held], placing.held)
    return placing.held if stays else None


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
        held = enumerate(held_parts(round_))
        self.held = {job: now for job, now in held if now is not None and (idle or self._shares[job])}

    def place(self, stays: set[int], held: Mapping[int, Parts]) -> PartsOfJobs:
        """Return the parts of all jobs: first of those that stay, then the largest; on what they hold if they can."""
        quota, placed, shares = FreeCapacity(self._amounts), PartsOfJobs(), self._shares
        given = [job for job, share in enumerate(shares) if share]
        given.sort(key=lambda job: (job not in stays, -shares[job], job))
        kept = [job for job in given if job in stays]
        if self.all_stay(quota, kept, held):
            placed = {job: held[job] for job in kept}
            given = given[len(kept) :]
        rooms = RoomSets(*quota.left.tolist())
        for job in given:
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

    def all_stay(self, left: FreeCapacity, jobs: list[int], held: Mapping[int, Parts]) -> bool:
        """Let jobs have what they hold, if it is a share they may have and there is room for all of them."""
        if not jobs or left.borrowed is not None or self._amounts.lines is not None:
            return False
        shares, legal, upto = self._shares, self._legal, self._upto
        if any(not upto[job] or legal[upto[job] - 1] != shares[job] for job in jobs):
            return False
        if any(len(held[job]) > self._most_nodes(shares[job]) for job in jobs):
            return False
        job, node, gpus = flat(held[job] for job in jobs)
        places = np.array(jobs, dtype=np.int64)
        tenant, share = self._amounts.tenant[places], np.array([shares[one] for one in jobs], dtype=np.int64)
        after, quota = left.left.copy(), left.quota.copy()
        needs = self._amounts.c[places][job], self._amounts.m[places][job]
        for row, taken in zip(after, (gpus, *(gpus * need for need in needs)), strict=True):
            np.subtract.at(row, node, taken)
        np.subtract.at(quota, tenant[tenant >= 0], share[tenant >= 0])
        if (after < 0).any() or (quota < 0).any():
            return False
        left.left[:], left.quota[:] = after, quota
        return True

    def _most_nodes(self, gpus: int) -> int:
        """Return on how many nodes a share may be."""
        return max(1, gpus // self._size) if self._by_node else len(self._amounts.G)

    def _put(
        self, placed: PartsOfJobs, quota: FreeCapacity, rooms: RoomSets, job: int, gpus: int, now: Parts | None
    ) -> bool:
        """Place a job with so many GPUs if it can be."""
        tenant, kind = self._tenant[job], self._kind[job]
        if not quota.has_quota(tenant, gpus):
            return False
        most = self._most_nodes(gpus)
        keeps = now is not None and len(now) <= most and sum(part for _, part in now) == gpus
        found = now if now is not None and keeps and rooms.holds(kind, now) else rooms.best_fit(kind, gpus)
        if found is None or len(found) > most:  # the best fit is on as few nodes as can be
            return False
        rooms.take(kind, found)
        quota.charge(tenant, gpus)
        placed[job] = found
        return True


def flat(parts: Iterable[Sequence[tuple[int, int]]]) -> tuple[Ints, Ints, Ints]:
    """Return parts one after another, as arrays: whose they are by its place among them, the node, and the GPUs."""
    each = [*parts]
    sizes = np.fromiter(map(len, each), dtype=np.int64, count=len(each))
    numbers = np.fromiter(chain.from_iterable(chain.from_iterable(each)), dtype=np.int64)
    return np.repeat(np.arange(len(each)), sizes), numbers[::2], numbers[1::2]


def _gpus(placed: Mapping[int, Parts]) -> int:
    return sum(gpus for parts in placed.values() for _, gpus in parts)
