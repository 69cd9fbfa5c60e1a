"""List schedules of gangs: who runs, and on which nodes, with running gangs where they are if that costs nobody."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from math import inf
from time import monotonic
from typing import Final

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.change_costs import change_cost
from muri_opt.systems.capacity.free_capacity import Leftover
from muri_opt.systems.capacity.gang_rooms import GangPlacer, gang_placer
from muri_opt.systems.capacity.known_parts import KnownParts
from muri_opt.systems.capacity.node_sets import node_sets
from muri_opt.systems.capacity.rearrangement import Rearrangement, Shares, rearranged_at_home
from muri_opt.systems.capacity.staying import pinned_jobs

MOST_TRIED: Final = 1_000
"""Gangs up to which such tries are made where running ones could not be pushed aside."""
MOST_TRIES: Final = 8
"""Gangs that may be placed before the running ones so that all find room; a further one leaves all as they were."""

MOST_DISPLACED: Final = 32
"""Gangs that may not be moved for which others are placed anew, each time the order is gone through."""
MOST_MOVABLE: Final = 32
"""Gangs up to which all are placed anew for such a one, where it is not enough to do so with those in its way."""

_Alike = tuple[int, ...]


class ListSchedule:
    """The jobs of a round in an order, each tried in turn; ``consolidate`` keeps a gang on as few nodes as it needs.

    Gangs that nobody may stop are where they are in every schedule. Where gangs run, ``restarts`` has those that start
    on fewer nodes if they find room there, once it is known who runs. ``known`` has the parts of shares.
    """

    def __init__(
        self,
        round_: Round,
        order: Sequence[int],
        *,
        consolidate: bool,
        restarts: bool = True,
        known: KnownParts | None = None,
    ) -> None:
        self._round, self._order, self._consolidate = round_, order, consolidate
        self._pinned, self._restarts = pinned_jobs(round_), restarts
        self._known = known or KnownParts()

    def beside(self, stays: Mapping[int, Ints]) -> Shares:
        """Return the schedule beside gangs that stay where they are, whatever their tenants' quotas are.

        Gangs that start on fewer nodes may leave room for another, which else would start when it is decided again.
        """
        shares, left, before = dict(stays), self._left_beside(stays), -1
        while before < len(shares):
            before = len(shares)
            self._fill(left, shares)
            if not stays or not self._restarts:
                break
            if len(shares) > before:
                made = self._rearrangement(shares, stays)
                _be_on_fewer_nodes(made)
                shares, left = made.shares, made.left
        return shares

    def anew(self, until: float = inf) -> Shares:
        """Return the schedule in which every job is tried in its turn, running or not.

        Chosen gangs that run stay where they are if all chosen ones find room around them; where not all can stay, the
        cheapest restarts are looked for. Who finds room may depend on where the others are, so the schedule is made
        again from what it led to, until nothing changes: then deciding again changes nothing either. Each time the jobs
        that run are better by the order, so this ends; and it does not begin again where that would not end before the
        moment ``until`` of ``time.monotonic``. A gang that may not be moved has its home for as long as those before it
        are seen to find room beside it.
        """
        running = {job: now for job in self._order if (now := self._known.held(self._round, job)) is not None}
        held = {job: now for job, now in running.items() if job not in self._pinned}
        began = monotonic()
        bound = {job: home for job, home in held.items() if self._round.jobs[job].stays_put}
        shares = self._settled(self._in_order(held, until), held, until)
        while 2 * monotonic() - began < until and self._places_matter() and self._another_fits(shares, bound):
            began = monotonic()  # what follows takes about as long as what was done before, or longer
            again = self._in_order(shares | bound, until)
            if again.keys() == shares.keys():
                return shares
            shares = self._settled(self._settled(again, shares, until), held, until)
        return shares

    def _another_fits(self, shares: Mapping[int, Ints], bound: Mapping[int, Ints]) -> bool:
        """Return whether a job that waits would fit in its turn, beside those before it; if none does, nobody moves.

        One that is ``bound`` to its home fits if it can be there.
        """
        left, full = Leftover.beside(self._round, self._pinned), set[_Alike]()
        placer = self._placer(left)
        for job in self._order:
            if job in shares:
                if job not in self._pinned:
                    placer.put(job, shares[job])
            elif job in bound:
                if left.within_quota(job) and placer.place(job, bound[job]) is not None:
                    return True
            elif self._alike[job] not in full and left.within_quota(job):
                if placer.fits(job):
                    return True
                full.add(self._alike[job])
        return False

    def _left_beside(self, shares: Mapping[int, Ints]) -> Leftover:
        return Leftover.beside(self._round, shares, self._known.entries(shares.values()))

    def _in_order(self, held: Mapping[int, Ints], until: float) -> Shares:
        shares = dict(self._pinned)
        self._fill(self._left_beside(shares), shares, held, until)
        return shares

    def _settled(self, shares: Shares, held: Mapping[int, Ints], until: float) -> Shares:
        """Return the same gangs, and any that now fit as well, with those that are held somewhere there if they can.

        Where not all of them can, the places that cost less are taken.
        """
        if not any(job in held for job in shares):
            return shares
        made, placed = self._elsewhere(shares, held, self._pinned, until)
        if placed is None or self._cost(shares, held) < self._cost(placed, held):
            placed, made = dict(shares), None
        if made is None:
            made = self._rearrangement(placed, held)
        if self._restarts:
            _be_on_fewer_nodes(made)
        self._fill(made.left, made.shares, held)
        return made.shares

    def _elsewhere(
        self, shares: Mapping[int, Ints], held: Mapping[int, Ints], fixed: Mapping[int, Ints], until: float
    ) -> tuple[Rearrangement | None, Shares | None]:
        """Return other places of the same gangs and of those that are ``fixed``, to be changed further if they can be.

        Those that are held somewhere are there if they can; there are no such places if they are not found.
        """
        order = [job for job in self._order if job in shares and job not in fixed]
        consolidate, known = self._consolidate, self._known
        made = rearranged_at_home(
            self._round, order, held, consolidate=consolidate, fixed=fixed, known=known, until=until
        )
        if made is not None:
            return made, made.shares
        if len(order) > MOST_TRIED:
            return None, None
        return None, placed_around(
            self._round, order, held, consolidate=consolidate, beside=fixed, known=known, until=until
        )

    def _with_home(self, job: int, shares: Shares, held: Mapping[int, Ints], until: float) -> Shares | None:
        """Return places of the same gangs beside one that may not be moved, at home; ``None`` if they are not found.

        Where each of them is best put, another may have that home, and the gang could go nowhere else.
        """
        home, jobs = held[job], self._round.jobs
        movable = {other for other in shares if other not in self._pinned and not jobs[other].stays_put}
        near = {other for other in movable if shares[other][home > 0].any()}
        for away in (near, movable) if len(movable) <= MOST_MOVABLE else (near,):
            fixed = {other: share for other, share in shares.items() if other not in away}
            if self._placer(self._left_beside(fixed)).place(job, home) is not None:
                _, placed = self._elsewhere(shares, held, fixed | {job: home}, until)
                if placed is not None:
                    return placed
        return None

    def _placer(self, left: Leftover) -> GangPlacer:
        return gang_placer(self._round, left, consolidate=self._consolidate, known=self._known)

    def _rearrangement(self, shares: Shares, held: Mapping[int, Ints]) -> Rearrangement:
        return Rearrangement(
            self._round, shares, held, fixed=self._pinned, consolidate=self._consolidate, known=self._known
        )

    def _cost(self, shares: Mapping[int, Ints], held: Mapping[int, Ints]) -> int:
        """Return what it costs that gangs are not where they are held."""
        elsewhere = (job for job, home in held.items() if job in shares and shares[job] is not home)
        moved = (job for job in elsewhere if not np.array_equal(shares[job], held[job]))
        return sum(change_cost(self._round.jobs[job]) for job in moved)

    def _fill(
        self, left: Leftover, shares: Shares, held: Mapping[int, Ints] | None = None, until: float = -inf
    ) -> None:
        """Start in order whoever still fits; of jobs that are alike one that does not fit is enough to know it.

        Where one that may not be moved finds its home taken before the moment ``until`` of ``time.monotonic``, others
        are placed anew if they find room beside it.
        """
        free, homes, full, at_home_only = int(left.gpus.sum()), held or {}, set[_Alike](), left.sets is not None
        placer, displaced = self._placer(left), 0
        for job in self._order:
            alike = self._alike[job]
            if job in shares or alike[0] > free:
                continue
            home = homes.get(job)
            knows = home is None or not at_home_only  # where jobs ask for nodes, one may only be able to stay
            if (knows and alike in full) or not left.within_quota(job):
                continue
            share = placer.place(job, home)
            if share is None and home is not None and self._round.jobs[job].stays_put:
                displaced += 1
                try_anew = displaced <= MOST_DISPLACED and monotonic() < until
                anew = self._with_home(job, shares, homes, until) if try_anew else None
                if anew is not None:
                    shares |= anew
                    left, share = self._left_beside(shares), home
                    placer, full = self._placer(left), set()
            if share is not None:
                shares[job] = share
                free -= alike[0]
            elif knows:
                full.add(alike)
        placer.end()

    @cached_property
    def _alike(self) -> list[_Alike]:
        """What each job asks: GPUs, CPUs, memory, kinds of nodes and, with quotas by type, its tenant's."""
        amounts, sets = self._round.amounts, node_sets(self._round)
        same = np.zeros_like(amounts.g)
        kind, tenant = (same, same) if sets is None else (sets.kind, amounts.tenant)
        rows = (amounts.g, amounts.c, amounts.m, kind, tenant)
        return list(zip(*(row.tolist() for row in rows), strict=True))

    def _places_matter(self) -> bool:
        """Return whether who fits depends on more than the number of free GPUs."""
        amounts = self._round.amounts
        scarce = (amounts.G * amounts.c.max(initial=0) > amounts.C) | (amounts.G * amounts.m.max(initial=0) > amounts.M)
        return self._consolidate or bool(scarce.any()) or node_sets(self._round) is not None


def _be_on_fewer_nodes(made: Rearrangement) -> None:
    """Send home what was moved for nothing; then place gangs that are not at home on fewer nodes if that can be."""
    made.undo_moves()
    made.on_fewer_nodes()


def placed_around(
    round_: Round,
    jobs: Collection[int],
    held: Mapping[int, Ints],
    *,
    consolidate: bool,
    beside: Mapping[int, Ints] | None = None,
    known: KnownParts | None = None,
    until: float = inf,
) -> Shares | None:
    """Return places of all the jobs, in this order, those that are held somewhere there first; ``None`` if not found.

    A job that finds no room is placed before all others in the next try, as far as ``MOST_TRIES`` go, and no later than
    ``until``, a moment of ``time.monotonic``. Jobs in ``beside`` are where they are whatever happens, and are returned
    too; ``known`` has the parts of shares.
    """
    fixed, parts = beside or {}, known or KnownParts()
    first: list[int] = []
    stays = [job for job in jobs if job in held]
    others = [job for job in jobs if job not in held]
    while monotonic() < until:
        shares = dict(fixed)
        placer = gang_placer(round_, Leftover.beside(round_, fixed), consolidate=consolidate, known=parts)
        for job in dict.fromkeys([*first, *stays, *others]):
            found = placer.place(job, held.get(job))
            if found is None:
                break
            shares[job] = found
        if len(shares) == len(jobs) + len(fixed):
            return shares
        if job in first or len(first) == MOST_TRIES:
            return None
        first.append(job)
    return None
