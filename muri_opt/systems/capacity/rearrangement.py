"""The same gangs elsewhere: with fewer changes of what runs, then on fewer nodes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.change_costs import change_cost
from muri_opt.systems.capacity.free_capacity import Leftover
from muri_opt.systems.capacity.gang_fit import place_gang

MOST_WAYS: Final = 4
"""Sets of running gangs, the cheapest first, that are tried to make room for another."""
MOST_DISPLACING: Final = 64
"""Gangs for which running ones are moved; where more find no room, all are placed in another way."""
Shares = dict[int, Ints]
"""GPUs per node of each gang that runs."""


def placed_at_home(
    round_: Round, jobs: Iterable[int], held: Mapping[int, Ints], *, consolidate: bool, fixed: Mapping[int, Ints]
) -> Shares | None:
    """Return places of all the jobs and those that are ``fixed``: what runs at home, and the others around it.

    Gangs that find no room push the cheapest running ones aside; ``None`` where not all are placed in this way.
    """
    some = list(jobs)
    homes = {job: held[job] for job in some if job in held}
    made = Rearrangement(round_, fixed, homes, fixed=fixed, consolidate=consolidate)
    others = [job for job in some if not made.go_home(job)]
    pushed = 0
    for job in made.largest_first(others):
        if made.start(job):
            continue
        pushed += 1
        if pushed > MOST_DISPLACING or not made.make_room(job):
            return None
    made.undo_moves()
    return made.shares


class Rearrangement:
    """Places of gangs while they are changed; ``held`` are the GPUs per node that some have now, their homes.

    Gangs in ``fixed`` are not touched. Every step is all or nothing: one that does not find room for every gang, or
    takes one out of a unit that it prefers, leaves all as it was.
    """

    def __init__(
        self,
        round_: Round,
        shares: Mapping[int, Ints],
        held: Mapping[int, Ints],
        *,
        fixed: Collection[int],
        consolidate: bool,
    ) -> None:
        self._round, self._consolidate = round_, consolidate
        self.shares = dict(shares)
        self._held = {job: home for job, home in held.items() if job not in fixed}
        self._fixed = fixed
        self._left = Leftover.beside(round_, self.shares)

    @property
    def cost(self) -> int:
        """What all gangs cost that are not where they run now."""
        return sum(change_cost(self._round.jobs[job]) for job in self.moved())

    @property
    def nodes(self) -> int:
        """On how many nodes all gangs are, added up."""
        return sum(int(np.count_nonzero(share)) for share in self.shares.values())

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
        """Place anew all gangs that start or are moved anyway, the largest first, if they are on fewer nodes then."""
        loose = self.loose()
        if any(np.count_nonzero(self.shares[job]) > 1 for job in loose):
            before = self.nodes
            self._try(loose, loose, better=lambda: self.nodes < before)

    def go_home(self, job: int) -> bool:
        """Place a gang where it runs now, if it may be there and that is free; return whether it is there."""
        found = self._placed(job) if job in self._held else None
        if found is not self._held.get(job) or found is None:
            return False
        self._put(job, found)
        return True

    def start(self, job: int) -> bool:
        """Place one more gang; return whether there is room for it."""
        found = self._placed(job)
        if found is not None:
            self._put(job, found)
        return found is not None

    def make_room(self, job: int) -> bool:
        """Place one more gang, moving the cheapest running ones for it; return whether that worked."""
        return any(self._displace(job, away) for away in self._ways(job))

    def _displace(self, job: int, away: list[int]) -> bool:
        before = {other: self.shares[other] for other in away}
        self._lift(away)
        order = [job, *self.largest_first(away)]
        if self._place_all(order):
            return True
        self._lift(other for other in order if other in self.shares)
        for other, share in before.items():
            self._put(other, share)
        return False

    def _ways(self, job: int) -> list[list[int]]:
        """Return sets of gangs that make room for a job on one node, or on all of them, the cheapest first."""
        gpus, amounts = int(self._round.amounts.g[job]), self._round.amounts
        ways: dict[frozenset[int], int] = {}
        there: dict[int, list[tuple[int, int]]] = {}
        for other, share in self.shares.items():
            if other not in self._fixed:
                cost = change_cost(self._round.jobs[other]) if self._at_home(other) else 0
                for node in np.flatnonzero(share).tolist():
                    there.setdefault(node, []).append((cost, other))
        room = self._left.start_room(job)
        able = np.flatnonzero(amounts.most_gpus([job], amounts.G, amounts.C, amounts.M) >= gpus)
        for node in able.tolist():
            free = [int(row[node]) for row in self._left.left]
            away, total = list[int](), 0
            for cost, other in sorted(there.get(node, ())):
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
        if not ways:  # on several nodes: those with the most room that lack least
            lacking = gpus - int(room.sum())
            away, total = [], 0
            for cost, other in sorted({pair for some in there.values() for pair in some}):
                if lacking <= 0:
                    break
                lacking -= int(self.shares[other].sum())
                away.append(other)
                total += cost
            ways[frozenset(away)] = total
        return [sorted(some) for some in sorted(ways, key=lambda some: (ways[some], sorted(some)))[:MOST_WAYS]]

    def _holds(self, free: list[int], job: int, gpus: int) -> bool:
        amounts = self._round.amounts
        needs = (gpus, gpus * int(amounts.c[job]), gpus * int(amounts.m[job]))
        return all(has >= need for has, need in zip(free, needs, strict=True) if need)

    def _send_home(self, job: int) -> bool:
        """Put a gang where it runs now, and those that have its GPUs and are not at home elsewhere."""
        home = self._held[job]
        used = np.flatnonzero(home)
        others = [other for other in self.loose() if other != job and self.shares[other][used].any()]
        away = [job]
        before = self.shares[job]
        self._lift([job])
        lifted: Shares = {}
        for other in sorted(others, key=lambda other: int(self.shares[other].sum())):
            if self._left.holds_share(job, home):
                break
            lifted[other] = self.shares[other]
            self._lift([other])
            away.append(other)
        works = self._left.holds_share(job, home) and self._left.within_types(job, home)
        for other, share in ({job: before} | lifted).items():
            self._put(other, share)
        return works and self._try(away, [job, *self.largest_first(away[1:])], better=lambda: self._at_home(job))

    def _try(self, away: Iterable[int], order: Iterable[int], *, better: Callable[[], bool]) -> bool:
        """Place gangs anew in an order; keep it if all find room, as many are where they prefer, and it is better."""
        some = list(away)
        before, inside = {job: self.shares[job] for job in some}, self._inside(some)
        self._lift(some)
        if self._place_all(order) and self._inside(some) >= inside and better():
            return True
        self._lift([job for job in some if job in self.shares])
        for job, share in before.items():
            self._put(job, share)
        return False

    def _place_all(self, order: Iterable[int]) -> bool:
        for job in order:
            found = self._placed(job)
            if found is None:
                return False
            self._put(job, found)
        return True

    def _placed(self, job: int) -> Ints | None:
        return place_gang(self._round, self._left, job, consolidate=self._consolidate, held=self._held.get(job))

    def _put(self, job: int, share: Ints) -> None:
        self._left.take(share, job)
        self.shares[job] = share

    def _lift(self, jobs: Iterable[int]) -> None:
        for job in jobs:
            self._left.give_back(self.shares.pop(job), job)

    def _inside(self, jobs: Iterable[int]) -> int:
        """Return how many gangs are inside a unit that they prefer."""
        sets = self._left.sets
        if sets is None or not sets.wishes:
            return 0
        return sum(sets.is_inside(job, self.shares[job]) for job in jobs if job in sets.wishes)

    def _at_home(self, job: int) -> bool:
        home = self._held.get(job)
        return home is not None and bool((self.shares[job] == home).all())
