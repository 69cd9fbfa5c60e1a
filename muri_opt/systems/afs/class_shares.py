"""Elastic shares in a round that says where jobs may be and who goes first: class by class, set by set.

The rules of AFS and its baselines divide one pool of GPUs. Here not every job may use every GPU, so each job is given
one of its sets of nodes, and the rule is asked for one limit after another, as it is for the quota of a tenant: what
it would give the jobs inside a set, or of a tenant, if that were all there is, is the most that each of them gets.
Sets that are apart are then divided as clusters of their own, and a set inside another as a part that only some may
use. Jobs of a larger priority are served first; the next class divides what they leave.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.rounds.stopping import look_at_clock
from muri_opt.systems.afs.demand import Demand
from muri_opt.systems.afs.restart_hysteresis import kept_shares
from muri_opt.systems.afs.set_choice import Limit, chosen_sets, limits_of_sets
from muri_opt.systems.afs.share_fit import ShareFit, Shares
from muri_opt.systems.afs.share_values import ShareValues
from muri_opt.systems.capacity import Leftover

Divide = Callable[[Demand, int], Ints]
"""A rule: the shares of a demand within so many GPUs."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassShares:
    """Shares of all jobs by a rule; ``values`` are what they are worth, ``None`` if a restart counts nothing."""

    round_: Round
    demand: Demand
    fit: ShareFit
    divide: Divide
    values: ShareValues | None

    def placed(self) -> Shares:
        """Return GPUs per node of every job that runs; who keeps its share stays where it is if all find room so."""
        asks = np.zeros(len(self.round_.jobs), dtype=np.int64)
        left, placed = Leftover(self.round_, asks), Shares()
        cap = self.demand.cap.tolist()
        homes = {job: now for job in range(len(cap)) if (now := self.fit.home(job, cap[job])) is not None}
        priorities, later = self.round_.priorities, np.zeros_like(left.gpus)
        for home in homes.values():
            later += home
        for priority in np.unique(priorities)[::-1]:
            jobs = np.flatnonzero(priorities == priority)
            for job in jobs.tolist():
                later -= homes.get(job, 0)
            one = _OneClass(self, jobs, left, homes, placed, later)
            one.place()
            one.grow()
        shares = {job: int(share.sum()) for job, share in placed.items()}
        if any(job in homes and _is_moved(share, homes[job]) for job, share in placed.items()):
            return self.fit.place_whole(shares, placed) or placed
        return placed


class _OneClass:
    """The jobs of one priority, beside what was placed before them; ``later`` are the GPUs that other classes hold."""

    def __init__(
        self, all_: ClassShares, jobs: Ints, left: Leftover, homes: Shares, placed: Shares, later: Ints
    ) -> None:
        self._all, self._fit, self._left, self._placed, self._later = all_, all_.fit, left, placed, later
        self._jobs: list[int] = jobs.tolist()
        self._part = all_.demand.of(jobs)
        self._homes = {
            job: now for job in self._jobs if (now := homes.get(job)) is not None and (now <= left.room(job)).all()
        }
        self._chosen = chosen_sets(self._fit, self._jobs, self._part.cap.tolist(), left.gpus, self._homes)

    def place(self) -> None:
        """Place the shares that the rule gives, of those that are not kept the ones with the least choice first.

        A share that finds no room is cut to the next smaller one that does.
        """
        shares = self._shares().tolist()
        free = self._left.gpus.copy()
        scope = [int(free[nodes].sum()) for nodes in self._chosen]

        def turn(place: int) -> tuple[bool, int, int, int]:
            return self._held(place) != shares[place], scope[place], -shares[place], place

        for place in sorted(np.flatnonzero(shares).tolist(), key=turn):
            for gpus in reversed(self._options(place, shares[place])):
                if self._take(place, gpus):
                    break

    def grow(self) -> None:
        """Give what is left over away, to the smallest share first: the next larger one, where that is faster.

        GPUs are left over where sets overlap, or where the jobs of a set cannot use all of it and others could. Jobs
        that stay as they are stay.
        """
        heap = [
            (int(self._placed[job].sum()) if job in self._placed else 0, place)
            for place, job in enumerate(self._jobs if self._left.gpus.any() else ())
            if job not in self._homes or not np.array_equal(self._placed.get(job, 0), self._homes[job])
        ]
        heapify(heap)
        while heap:
            gpus, place = heappop(heap)
            speed, more = self._part.speed[place], self._options(place, int(self._part.cap[place]))
            larger = next((option for option in more if option > gpus), None)
            if larger is not None and speed[larger] > speed[gpus] and self._take(place, larger, anywhere=True):
                heappush(heap, (larger, place))

    def _shares(self) -> Ints:
        """Return the shares by the rule, within all limits, and kept where a change does not pay."""
        cap = np.array([self._cap(place) for place in range(len(self._jobs))], dtype=np.int64)
        limits = [*limits_of_sets(self._chosen, self._left.gpus), *self._quotas()]
        for members, most in limits:
            look_at_clock()
            if cap[members].sum() > most:
                cap[members] = self._all.divide(replace(self._part, cap=cap).of(members), max(0, most))
        total = max(0, int(self._left.gpus.sum()))
        given = self._all.divide(replace(self._part, cap=cap), total).tolist()
        shares = np.array([self._largest(place, gpus) for place, gpus in enumerate(given)], dtype=np.int64)
        if self._all.values is None:
            return shares
        now = np.array([self._held(place) for place in range(len(self._jobs))], dtype=np.int64)
        return kept_shares(shares, now, self._all.values.of_jobs(self._jobs), [(np.arange(len(now)), total), *limits])

    def _quotas(self) -> list[Limit]:
        """Return what the jobs of each tenant and of all below it may still have together, the lowest tenants first."""
        amounts, members = self._all.round_.amounts, dict[int, list[int]]()
        for place, job in enumerate(self._jobs):
            for tenant in amounts.line(int(amounts.tenant[job])):
                if amounts.U[tenant] < UNLIMITED:
                    members.setdefault(tenant, []).append(place)
        lowest = sorted(members, key=lambda tenant: (-len(amounts.line(tenant)), tenant))
        return [(np.array(members[tenant], dtype=np.int64), int(self._left.quota[tenant])) for tenant in lowest]

    def _cap(self, place: int) -> int:
        """Return the largest share that a job could have inside its set if no other of its class had any."""
        look_at_clock()
        room, most = self._left.room(self._jobs[place]), int(self._part.cap[place])
        nodes = self._chosen[place]
        demand = self._fit.demand(self._jobs[place])
        if not demand.shaped and not self._fit.by_node:
            return self._largest(place, max(self._held(place), min(most, int(room[nodes].sum()))))
        for gpus in reversed(self._options(place, most)):
            if gpus == self._held(place) or self._fit.find(room, self._jobs[place], gpus, (nodes,)) is not None:
                return gpus
        return 0

    def _held(self, place: int) -> int:
        """Return the GPUs with which a job may go on where it is, 0 if it may not."""
        now = self._homes.get(self._jobs[place])
        return 0 if now is None else int(now.sum())

    def _options(self, place: int, most: int) -> list[int]:
        """Return the shares up to ``most`` that a job may have, ascending; what runs may keep what it has."""
        job, now = self._jobs[place], self._held(place)
        found: list[int] = self._fit.legal(job, most).tolist() if self._fit.demand(job).sets else []
        return sorted({*found, now}) if 0 < now <= most and now not in found else found

    def _largest(self, place: int, most: int) -> int:
        """Return the largest share up to ``most`` that a job may have."""
        return max(self._options(place, most), default=0)

    def _take(self, place: int, gpus: int, *, anywhere: bool = False) -> bool:
        """Give a job so many GPUs in place of those it was given, if there is room; else nothing changes.

        Room is where the job is now, in its chosen set, or ``anywhere`` that it may be.
        """
        look_at_clock()
        job, left = self._jobs[place], self._left
        before = self._placed.get(job)
        if before is not None:
            self._give_back(job, before)
        left.asks[job] = gpus
        share = self._found(place, gpus, anywhere=anywhere) if left.within_quota(job) else None
        if share is None and before is not None:
            left.asks[job] = before.sum()
            left.take(before, job)
        elif share is not None:
            left.take(share, job)
            self._placed[job] = share
        return share is not None

    def _found(self, place: int, gpus: int, *, anywhere: bool) -> Ints | None:
        """Return where a share finds room, on GPUs that no job of a later class holds if it can."""
        job, room = self._jobs[place], self._left.room(self._jobs[place])
        if gpus == self._held(place) and (self._homes[job] <= room).all():
            return self._homes[job]
        if not self._fit.demand(job).sets:
            return None
        rooms = [np.maximum(room - self._later, 0), room] if self._later.any() else [room]
        for sets in ((self._chosen[place],), None) if anywhere else ((self._chosen[place],),):
            for here in rooms:
                share = self._fit.find(here, job, gpus, sets)
                if share is not None:
                    return share
        return None

    def _give_back(self, job: int, share: Ints) -> None:
        amounts = self._left.amounts
        self._left.release(slice(None), share, share * amounts.c[job], share * amounts.m[job])
        self._left.charge(int(amounts.tenant[job]), -int(share.sum()))


def _is_moved(share: Ints, home: Ints) -> bool:
    """Return whether a job that has as many GPUs as it holds now has them elsewhere."""
    return bool(share.sum() == home.sum() and (share != home).any())
