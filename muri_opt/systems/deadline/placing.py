"""Jobs on the nodes while shares grow: what is left, and who has what."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.rounds.stopping import look_at_clock
from muri_opt.systems.capacity import Leftover, best_fit
from muri_opt.systems.capacity.held_parts import Parts, held_parts
from muri_opt.systems.capacity.shaped_fit import fit_in_sets
from muri_opt.systems.capacity.shares import flat
from muri_opt.systems.deadline.choices import Choices


class Placing:
    """The GPUs per node of the jobs that run so far, and what they leave.

    GPUs of running jobs that have not had their turn yet are given to others only where nothing else fits.
    """

    def __init__(self, round_: Round, choices: Choices) -> None:
        self._choices, self._asks = choices, choices.least.copy()
        self._left, self._held = Leftover(round_, self._asks), held_parts(round_)
        self._kept = choices.kept.copy()
        self._in_turn = set(choices.held)
        self._short: dict[tuple[int, int], int] = {}
        """How many GPUs with so many CPUs and so much memory each find no room: the fewest that were tried."""
        self._lifted: set[int] = set()
        """The job whose GPUs are taken back for a moment, to be placed again."""
        self.shares: dict[int, Ints] = {}
        self.free = int(round_.amounts.G.sum())
        """How many GPUs nobody has."""

    def gpus(self, job: int) -> int:
        """Return how many GPUs a job has so far."""
        return int(self._asks[job]) if job in self.shares else 0

    def give(self, job: int, share: Ints) -> None:
        """Give a job GPUs per node, whatever is left."""
        self._change(job, share, 1)
        self.shares[job] = share
        if job in self._in_turn:
            self._in_turn.remove(job)
            self._kept -= self._choices.held[job]

    def give_all(self, shares: Mapping[int, Ints]) -> None:
        """Give jobs GPUs per node, whatever is left; many are counted together."""
        amounts, left = self._left.amounts, self._left
        if not shares or left.borrowed is not None or amounts.lines is not None:
            for job, share in shares.items():
                self.give(job, share)
            return
        jobs = np.fromiter(shares, dtype=np.int64, count=len(shares))
        group, node, gpus = flat(self._parts(job, share) for job, share in shares.items())
        of, sizes = jobs[group], np.zeros(len(jobs), dtype=np.int64)
        np.add.at(sizes, group, gpus)
        for has, taken in zip(left.left, (gpus, gpus * amounts.c[of], gpus * amounts.m[of]), strict=True):
            np.subtract.at(has, node, taken)
        listed = amounts.tenant[jobs] >= 0
        np.subtract.at(left.quota, amounts.tenant[jobs][listed], sizes[listed])
        self._asks[jobs] = sizes
        self.free -= int(sizes.sum())
        self.shares |= shares
        for job in self._in_turn.intersection(shares):
            self._kept -= self._choices.held[job]
        self._in_turn.difference_update(shares)

    def _parts(self, job: int, share: Ints) -> Parts:
        """Return the nodes of which a share has GPUs, and how many; where a job is now that is known."""
        if self._choices.held.get(job) is share:
            return self._held[job] or []
        nodes = share.nonzero()[0]
        return list(zip(nodes.tolist(), share[nodes].tolist(), strict=True))

    def try_row(self, row: int) -> bool:
        """Give a job what a row of the choices says, in place of what it has, if there is room and quota for it."""
        look_at_clock()
        job, before = int(self._choices.job[row]), None
        if job in self.shares:
            before = self._take_back(job)
            self._lifted.add(job)
        share = self._fit(job, int(self._choices.gpus[row]), home=bool(self._choices.home[row]))
        if share is not None:
            self.give(job, share)
            if before is not None:
                self._short.clear()  # what it had is free
        elif before is not None:
            self.give(job, before)
        self._lifted.discard(job)
        return share is not None

    def _fit(self, job: int, gpus: int, *, home: bool) -> Ints | None:
        self._asks[job] = gpus
        if not self._left.within_quota(job):
            return None
        if home:
            held = self._choices.held[job]
            return held if self._left.holds_share(job, held) else None
        if gpus > self.free:
            return None
        kind = int(self._left.amounts.c[job]), int(self._left.amounts.m[job])
        if job not in self._lifted and gpus >= self._short.get(kind, gpus + 1):
            return None
        room = self._room(job)
        if room.sum() < gpus:
            if job not in self._lifted:
                self._short[kind] = gpus
            return None
        others = self._kept - self._choices.held[job] if job in self._in_turn else self._kept
        first = self._fit_in(np.maximum(0, np.minimum(room, self._left.gpus - others)), job, gpus)
        return self._fit_in(room, job, gpus) if first is None else first

    def _room(self, job: int) -> Ints:
        """Return how many GPUs of a job fit on each node now, however many it asks for."""
        left, amounts = self._left, self._left.amounts
        cpus, memory = int(amounts.c[job]), int(amounts.m[job])
        room: Ints = left.gpus.copy()
        if cpus:
            room = np.minimum(room, left.cpus // cpus)
        if memory:
            room = np.minimum(room, left.memory // memory)
        return room

    def _fit_in(self, room: Ints, job: int, gpus: int) -> Ints | None:
        sets = self._choices.sets
        if sets is not None:
            return fit_in_sets(room, gpus, sets.of(job))
        tight = np.where(room >= gpus, room, UNLIMITED)
        node = int(tight.argmin()) if len(tight) else 0
        if len(tight) and tight[node] < UNLIMITED:
            share = np.zeros_like(room)
            share[node] = gpus
            return share
        return best_fit(room, gpus)

    def _take_back(self, job: int) -> Ints:
        share = self.shares.pop(job)
        self._change(job, share, -1)
        return share

    def _change(self, job: int, share: Ints, sign: int) -> None:
        """Take a job's share from what is left, or give it back."""
        amounts, nodes = self._left.amounts, share.nonzero()[0]
        if len(nodes) == 1:  # of one node it is a number, which is far quicker to count than an array
            nodes = nodes[0]
        part = sign * share[nodes]
        gpus = int(part.sum())
        self._asks[job] = gpus
        self.free -= gpus
        self._left.occupy(nodes, part, part * amounts.c[job], part * amounts.m[job])
        self._left.charge(int(amounts.tenant[job]), gpus)


def placed_together(
    round_: Round, choices: Choices, sizes: Mapping[int, int], fixed: Mapping[int, Ints], at_home: Collection[int]
) -> dict[int, Ints] | None:
    """Return GPUs per node of jobs of these sizes beside those that are ``fixed``, or ``None`` where not all fit.

    Those ``at_home`` are where they are now, the others are placed from the largest down.
    """
    state = Placing(round_, choices)
    state.give_all(fixed)
    line = sorted(sizes, key=lambda job: (job not in at_home, -sizes[job], job))
    for job in line:
        row = choices.row_with(job, sizes[job], home=job in at_home)
        if row is None or not state.try_row(row):
            return None
    return state.shares


def settled(
    round_: Round, choices: Choices, sizes: Mapping[int, int], fixed: Mapping[int, Ints], at_home: Collection[int]
) -> dict[int, Ints] | None:
    """Return the same with all jobs at home that have as many GPUs as now, if they fit, else those ``at_home``."""
    as_now = {job for job in sizes if job in choices.held and choices.held[job].sum() == sizes[job]}
    found = placed_together(round_, choices, sizes, fixed, as_now) if as_now else None
    return placed_together(round_, choices, sizes, fixed, at_home) if found is None else found
