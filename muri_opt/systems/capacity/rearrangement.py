"""The same gangs elsewhere: with fewer changes of what runs, then on fewer nodes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import inf
from time import monotonic
from typing import Final

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.change_costs import change_cost
from muri_opt.systems.capacity.free_capacity import Entries, Leftover
from muri_opt.systems.capacity.gang_fit import fewest_nodes, place_gang
from muri_opt.systems.capacity.gang_rooms import gang_placer
from muri_opt.systems.capacity.known_parts import KnownParts

MOST_WAYS: Final = 4
"""Sets of running gangs, the cheapest first, that are tried to make room for another."""
MOST_DISPLACING: Final = 64
"""Gangs for which running ones are moved; where more find no room, all are placed in another way."""
_FEW: Final = 8
"""Gangs that are placed by looking at all nodes for each; for more it pays to keep the nodes by their room."""
MOST_REPLACED: Final = 300
"""Gangs that are placed anew together to be on fewer nodes."""
Shares = dict[int, Ints]
"""GPUs per node of each gang that runs."""


def placed_at_home(
    round_: Round, jobs: Iterable[int], held: Mapping[int, Ints], *, consolidate: bool, fixed: Mapping[int, Ints]
) -> Shares | None:
    """Return places of all the jobs and those that are ``fixed``: what runs at home, and the others around it.

    Gangs that find no room push the cheapest running ones aside; ``None`` where not all are placed in this way.
    """
    made = rearranged_at_home(round_, jobs, held, consolidate=consolidate, fixed=fixed)
    return None if made is None else made.shares


def rearranged_at_home(
    round_: Round,
    jobs: Iterable[int],
    held: Mapping[int, Ints],
    *,
    consolidate: bool,
    fixed: Mapping[int, Ints],
    known: KnownParts | None = None,
    until: float = inf,
) -> Rearrangement | None:
    """Return the same to be changed further; after ``until``, of ``time.monotonic``, nobody is pushed aside."""
    some = list(jobs)
    homes = {job: held[job] for job in some if job in held}
    made = Rearrangement(round_, fixed, homes, fixed=fixed, consolidate=consolidate, known=known)
    others = made.largest_first(made.go_home_or_not(some))
    pushed, started = 0, made.start_all(others)
    while started < len(others):
        pushed += 1
        if pushed > MOST_DISPLACING or monotonic() >= until or not made.make_room(others[started]):
            return None
        started += 1 + made.start_all(others[started + 1 :])
    made.undo_moves()
    return made


class Rearrangement:
    """Places of gangs while they are changed; ``held`` are the GPUs per node that some have now, their homes.

    Gangs in ``fixed`` are not touched. Every step is all or nothing: one that does not find room for every gang, or
    takes one out of a unit that it prefers, leaves all as it was. ``known`` has the parts of shares.
    """

    def __init__(
        self,
        round_: Round,
        shares: Mapping[int, Ints],
        held: Mapping[int, Ints],
        *,
        fixed: Collection[int],
        consolidate: bool,
        known: KnownParts | None = None,
    ) -> None:
        self._round, self._consolidate = round_, consolidate
        self._known = known or KnownParts()
        self.shares = dict(shares)
        self._held = {job: home for job, home in held.items() if job not in fixed}
        self._fixed = fixed
        self.left = Leftover.beside(round_, self.shares, self._known.entries(self.shares.values()))
        """What the gangs leave."""
        self._on: dict[int, set[int]] | None = None

    def moved(self) -> list[int]:
        """Return the running gangs that are not at home."""
        return [job for job in self._held if job in self.shares and not self._at_home(job)]

    def loose(self) -> list[int]:
        """Return the gangs that start or are moved anyway, the largest first."""
        found = [job for job in self.shares if job not in self._fixed and not self._at_home(job)]
        return self.largest_first(found)

    def largest_first(self, jobs: Iterable[int]) -> list[int]:
        """Return gangs from the largest to the smallest."""
        return sorted(jobs, key=lambda job: (-self._round.jobs[job].gpus, job))

    def undo_moves(self) -> None:
        """Send moved gangs home, the dearest first, where those that are in the way find room elsewhere."""
        for job in sorted(self.moved(), key=lambda job: -change_cost(self._round.jobs[job])):
            if not self._at_home(job):
                self._send_home(job)

    def on_fewer_nodes(self) -> None:
        """Place anew the gangs that start or are moved anyway, the largest first, if they are on fewer nodes then.

        Of very many, only those on more nodes than one needs alone, and those beside them.
        """
        loose = self.loose()
        spread = [job for job in loose if self._used(job) > fewest_nodes(self._round, job)]
        if not spread:
            return
        if len(loose) > MOST_REPLACED:
            there = np.any([self.shares[job] > 0 for job in spread], axis=0)
            loose = [job for job in loose if self.shares[job][there].any()][:MOST_REPLACED]
        before = sum(map(self._used, loose))
        self._try(loose, loose, better=lambda: sum(map(self._used, loose)) < before)

    def _used(self, job: int) -> int:
        return int(np.count_nonzero(self.shares[job]))

    def go_home(self, job: int) -> bool:
        """Place a gang where it runs now, if it may be there and that is free; return whether it is there."""
        found = self._placed(job) if job in self._held else None
        if found is not self._held.get(job) or found is None:
            return False
        self._put(job, found)
        return True

    def go_home_or_not(self, jobs: Sequence[int]) -> list[int]:
        """Place gangs where they run now, each if it may be there and that is free; return the others."""
        there = {job: self._held[job] for job in jobs if job in self._held}
        of = self._known.entries(there.values())
        if not self._all_fit_at_home([*there], of):
            return [job for job in jobs if not self.go_home(job)]
        self.left.take_entries([((job,), home) for job, home in there.items()], of)
        self.shares |= there
        self._on = None
        return [job for job in jobs if job not in there]

    def _all_fit_at_home(self, jobs: Sequence[int], at_home: Entries) -> bool:
        """Return whether gangs may all be at home and find room there together: then each does in its turn."""
        if self.left.types is not None:
            return False
        amounts, left, count = self._round.amounts, self.left, len(self._round.cluster.nodes)
        group, node, gpus = at_home
        of = np.array(jobs, dtype=np.int64)[group]
        if not np.array_equal(np.bincount(group, weights=gpus, minlength=len(jobs)), amounts.g[list(jobs)]):
            return False
        if self._consolidate:
            used = np.bincount(group, minlength=len(jobs)).tolist()
            if any(nodes > fewest_nodes(self._round, job) for nodes, job in zip(used, jobs, strict=True)):
                return False
        for has, each in ((left.gpus, gpus), (left.cpus, gpus * amounts.c[of]), (left.memory, gpus * amounts.m[of])):
            total = np.zeros(count, dtype=np.int64)
            np.add.at(total, node, each)
            if (total > has)[node].any():
                return False
        return True

    def start_all(self, jobs: Sequence[int]) -> int:
        """Place further gangs in turn until there is no room for one; return how many are placed."""
        if len(jobs) < _FEW:
            for count, job in enumerate(jobs):
                found = self._placed(job)
                if found is None:
                    return count
                self._put(job, found)
            return len(jobs)
        placer = gang_placer(self._round, self.left, consolidate=self._consolidate, known=self._known)
        placed = 0
        for job in jobs:
            found = placer.place(job, self._held.get(job))
            if found is None:
                break
            self._note(job, found)
            placed += 1
        placer.end()
        return placed

    def make_room(self, job: int) -> bool:
        """Place one more gang, moving the cheapest running ones for it; return whether that worked."""
        return any(self._displace(job, away) for away in self._ways(job))

    def _displace(self, job: int, away: list[int]) -> bool:
        before = {other: self.shares[other] for other in away}
        self._lift(away)
        order = [job, *self.largest_first(away)]
        if self.start_all(order) == len(order):
            return True
        self._lift(other for other in order if other in self.shares)
        for other, share in before.items():
            self._put(other, share)
        return False

    def _ways(self, job: int) -> list[list[int]]:
        """Return sets of gangs that make room for a job on one node, or on all of them, the cheapest first."""
        gpus, amounts = int(self._round.amounts.g[job]), self._round.amounts
        ways: dict[frozenset[int], int] = {}
        able = np.flatnonzero(amounts.most_gpus([job], amounts.G, amounts.C, amounts.M) >= gpus)
        for node in able.tolist():
            free = [int(row[node]) for row in self.left.left]
            away, total = list[int](), 0
            for cost, other in sorted((self._cost(other), other) for other in self._loose_on(node)):
                if self._holds(free, job, gpus):
                    break
                part = int(self.shares[other][node])
                free[0] += part
                free[1] += part * int(amounts.c[other])
                free[2] += part * int(amounts.m[other])
                away.append(other)
                total += cost
            if away and self._holds(free, job, gpus):
                ways.setdefault(frozenset(away), total)
        if not ways:  # it needs several nodes: the cheapest that hold as many GPUs as it lacks
            lacking, away = gpus - int(self.left.start_room(job).sum()), []
            for _, other in sorted((self._cost(other), other) for other in self.shares if other not in self._fixed):
                if lacking <= 0:
                    break
                lacking -= int(self.shares[other].sum())
                away.append(other)
            return [away]
        return [sorted(some) for some in sorted(ways, key=lambda some: (ways[some], sorted(some)))[:MOST_WAYS]]

    def _cost(self, job: int) -> int:
        """Return what it costs to push a gang aside: nothing if it starts or is moved anyway."""
        return change_cost(self._round.jobs[job]) if self._at_home(job) else 0

    def _loose_on(self, *nodes: int) -> set[int]:
        """Return the gangs on nodes that may be anywhere."""
        on = self._jobs_on()
        return {job for node in nodes for job in on.get(node, ()) if job not in self._fixed}

    def _jobs_on(self) -> dict[int, set[int]]:
        """Return the gangs on each node, worked out when they are first asked for."""
        if self._on is None:
            self._on = {}
            for job, share in self.shares.items():
                self._list(self._on, job, share)
        return self._on

    def _holds(self, free: list[int], job: int, gpus: int) -> bool:
        amounts = self._round.amounts
        needs = (gpus, gpus * int(amounts.c[job]), gpus * int(amounts.m[job]))
        return all(has >= need for has, need in zip(free, needs, strict=True) if need)

    def _send_home(self, job: int) -> bool:
        """Put a gang where it runs now, and those that have its GPUs and are not at home elsewhere."""
        home, before = self._held[job], self.shares[job]
        there = self._loose_on(*home.nonzero()[0].tolist()) - {job}
        others = self.largest_first(other for other in there if not self._at_home(other))[::-1]
        self._lift([job])
        lifted: Shares = {}
        while others and not self.left.holds_share(job, home):
            other = others.pop(0)
            lifted[other] = self.shares[other]
            self._lift([other])
        works = self.left.holds_share(job, home) and self.left.within_types(job, home)
        for other, share in ({job: before} | lifted).items():
            self._put(other, share)
        if not works:
            return False
        return self._try([job, *lifted], [job, *self.largest_first(lifted)], better=lambda: self._at_home(job))

    def _try(self, away: Iterable[int], order: Iterable[int], *, better: Callable[[], bool]) -> bool:
        """Place gangs anew in an order; keep it if all find room, as many are where they prefer, and it is better."""
        some, then = list(away), list(order)
        before, inside = {job: self.shares[job] for job in some}, self._inside(some)
        self._lift(some)
        if self.start_all(then) == len(then) and self._inside(some) >= inside and better():
            return True
        self._lift([job for job in some if job in self.shares])
        for job, share in before.items():
            self._put(job, share)
        return False

    def _placed(self, job: int) -> Ints | None:
        return place_gang(self._round, self.left, job, consolidate=self._consolidate, held=self._held.get(job))

    def _put(self, job: int, share: Ints) -> None:
        self.left.take(share, job)
        self._note(job, share)

    def _note(self, job: int, share: Ints) -> None:
        """Write down where a gang is."""
        self.shares[job] = share
        if self._on is not None:
            self._list(self._on, job, share)

    def _lift(self, jobs: Iterable[int]) -> None:
        for job in jobs:
            share = self.shares.pop(job)
            self.left.give_back(share, job)
            on = self._on or {}
            for node in share.nonzero()[0].tolist() if on else ():
                on[node].discard(job)

    @staticmethod
    def _list(on: dict[int, set[int]], job: int, share: Ints) -> None:
        for node in share.nonzero()[0].tolist():
            on.setdefault(node, set()).add(job)

    def _inside(self, jobs: Iterable[int]) -> int:
        """Return how many gangs are inside a unit that they prefer."""
        sets = self.left.sets
        if sets is None or not sets.wishes:
            return 0
        return sum(sets.is_inside(job, self.shares[job]) for job in jobs if job in sets.wishes)

    def _at_home(self, job: int) -> bool:
        home = self._held.get(job)
        share = self.shares[job]
        return home is share or (home is not None and bool((share == home).all()))
