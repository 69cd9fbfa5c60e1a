"""List schedules of gangs: who runs, and on which nodes, with running gangs where they are if that costs nobody."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.capacity.free_capacity import Leftover
from muri_opt.systems.capacity.gang_fit import held_gpus, place_gang
from muri_opt.systems.capacity.node_sets import node_sets
from muri_opt.systems.capacity.staying import pinned_jobs

Shares = dict[int, Ints]
"""GPUs per node of each gang that runs."""

MOST_TRIES = 8
"""Gangs that may be placed before the running ones so that all find room; a further one leaves all as they were."""


class ListSchedule:
    """The jobs of a round in an order, each tried in turn; ``consolidate`` keeps a gang on as few nodes as it needs.

    Gangs that nobody may stop are where they are in every schedule.
    """

    def __init__(self, round_: Round, order: Sequence[int], *, consolidate: bool) -> None:
        self._round, self._order, self._consolidate = round_, order, consolidate
        self._pinned = pinned_jobs(round_)

    def beside(self, stays: Mapping[int, Ints]) -> Shares:
        """Return the schedule beside gangs that stay where they are, whatever their tenants' quotas are."""
        shares = dict(stays)
        self._fill(Leftover.beside(self._round, stays), shares)
        return shares

    def anew(self) -> Shares:
        """Return the schedule in which every job is tried in its turn, running or not.

        Chosen gangs that run stay where they are if all chosen ones find room around them. Who finds room may depend on
        where the others are, so the schedule is made again from what it led to, until nothing changes: then deciding
        again changes nothing either. Each time the jobs that run are better by the order, so this ends.
        """
        running = {job: now for job in self._order if (now := held_gpus(self._round, job)) is not None}
        held = {job: now for job, now in running.items() if job not in self._pinned}
        shares = self._settled(self._in_order(held), held)
        while self._places_matter():
            again = self._in_order(shares)
            if again.keys() == shares.keys():
                return shares
            shares = self._settled(self._settled(again, shares), held)
        return shares

    def _in_order(self, held: Mapping[int, Ints]) -> Shares:
        shares = dict(self._pinned)
        self._fill(Leftover.beside(self._round, shares), shares, held)
        return shares

    def _settled(self, shares: Shares, held: Mapping[int, Ints]) -> Shares:
        """Return the same gangs, and any that now fit as well, with those that are held somewhere there if they can.

        Where not all of them can, the places that move fewer GPUs are taken.
        """
        if not any(job in held for job in shares):
            return shares
        order = [job for job in self._order if job in shares and job not in self._pinned]
        placed = placed_around(self._round, order, held, consolidate=self._consolidate, beside=self._pinned)
        if placed is None or _moved_gpus(shares, held) < _moved_gpus(placed, held):
            return shares
        self._fill(Leftover.beside(self._round, placed), placed, held)
        return placed

    def _fill(self, left: Leftover, shares: Shares, held: Mapping[int, Ints] | None = None) -> None:
        """Start in order whoever still fits."""
        gpus, free = self._round.amounts.g.tolist(), int(left.gpus.sum())
        for job in self._order:
            if job in shares or gpus[job] > free or not left.within_quota(job):
                continue
            now = None if held is None else held.get(job)
            share = place_gang(self._round, left, job, consolidate=self._consolidate, held=now)
            if share is not None:
                left.take(share, job)
                shares[job] = share
                free -= gpus[job]

    def _places_matter(self) -> bool:
        """Return whether who fits depends on more than the number of free GPUs."""
        amounts = self._round.amounts
        scarce = (amounts.G * amounts.c.max(initial=0) > amounts.C) | (amounts.G * amounts.m.max(initial=0) > amounts.M)
        return self._consolidate or bool(scarce.any()) or node_sets(self._round) is not None


def _moved_gpus(shares: Mapping[int, Ints], held: Mapping[int, Ints]) -> int:
    return sum(int(share.sum()) for job, share in shares.items() if job in held and (share != held[job]).any())


def placed_around(
    round_: Round,
    jobs: Collection[int],
    held: Mapping[int, Ints],
    *,
    consolidate: bool,
    beside: Mapping[int, Ints] | None = None,
) -> Shares | None:
    """Return places of all the jobs, in this order, those that are held somewhere there first; ``None`` if not found.

    A job that finds no room is placed before all others in the next try, as far as ``MOST_TRIES`` go. Jobs in
    ``beside`` are where they are whatever happens, and are returned too.
    """
    fixed = beside or {}
    first: list[int] = []
    stays = [job for job in jobs if job in held]
    others = [job for job in jobs if job not in held]
    while True:
        left, shares = Leftover.beside(round_, fixed), dict(fixed)
        for job in dict.fromkeys([*first, *stays, *others]):
            found = place_gang(round_, left, job, consolidate=consolidate, held=held.get(job))
            if found is None:
                break
            left.take(found, job)
            shares[job] = found
        if len(shares) == len(jobs) + len(fixed):
            return shares
        if job in first or len(first) == MOST_TRIES:
            return None
        first.append(job)
