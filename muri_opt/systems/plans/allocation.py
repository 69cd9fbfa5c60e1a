"""Who runs by which option on which nodes, while a policy places jobs one after another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.plans.free_nodes import FreeNodes
from muri_opt.systems.plans.options import PlanOptions


class Seat(NamedTuple):
    """The option a job runs by, and the nodes that have one part of it each, those of larger parts first."""

    option: int
    nodes: Ints


class PlanAllocation:
    """The seats given so far, what they leave free, and who sits on which node."""

    def __init__(self, round_: Round, options: PlanOptions) -> None:
        self.options = options
        self.free = FreeNodes(round_, options)
        self.seats: dict[int, Seat] = {}
        self.on_node: list[set[int]] = [set() for _ in round_.cluster.nodes]
        self._at_home = {
            o: home
            for home in np.flatnonzero(options.home >= 0).tolist()
            for o in options.of_job(options.job[home])
            if options.plan[o] == options.plan[home]
        }

    @cached_property
    def best_first(self) -> list[list[int]]:
        """The options of each job as :func:`by_worth` sorts them."""
        return by_worth(self.options)

    @property
    def chosen(self) -> dict[int, Ints]:
        """The nodes of each option that runs."""
        return {seat.option: seat.nodes for seat in self.seats.values()}

    def take(self, job: int, option: int, nodes: Ints) -> None:
        """Seat a job that has no seat."""
        self.free.take(option, nodes)
        self.seats[job] = Seat(option, nodes)
        for node in nodes.tolist():
            self.on_node[node].add(job)

    def leave(self, job: int) -> None:
        """Take its seat from a job."""
        seat = self.seats.pop(job)
        self.free.give(seat.option, seat.nodes)
        for node in seat.nodes.tolist():
            self.on_node[node].discard(job)

    def open_room(self, option: int) -> Ints:
        """Return the nodes with room for a part of an option."""
        return np.flatnonzero(self.free.room(option))

    def seat_for(self, option: int, own: Ints | None = None) -> Seat | None:
        """Return where an option fits now: on the nodes the job runs on if it can stay there without a restart.

        Otherwise a single part goes to the ``own`` node or to the one with the fewest free GPUs that has room, several
        parts to ``own`` nodes and then to those with the most free GPUs, or the fewest if they need none. Larger parts
        are placed before the others.
        """
        if self._at_home.get(option, option) != option:
            kept = self.seat_for(self._at_home[option])
            if kept is not None:
                return kept
        room = np.flatnonzero(self.free.room(option))
        parts = int(self.options.q[option])
        if len(room) < parts:
            return None
        gpus = self.free.gpus[room] if parts == 1 or not self.options.g[option] else -self.free.gpus[room]
        if own is not None:
            gpus = np.where(np.isin(room, own), np.iinfo(np.int64).min, gpus)
        if parts == 1:
            return Seat(option, room[[np.argmin(gpus)]])
        order = room[np.argsort(gpus, kind="stable")]
        if option in self.options.larger:
            return self._with_larger_parts(option, order)
        return Seat(option, np.sort(order[:parts]))

    def _with_larger_parts(self, option: int, order: Ints) -> Seat | None:
        """Return the first of some nodes that have room for a part of an option, with larger parts where they fit."""
        count = self.options.larger[option].number
        wide = order[self.free.wide_room(option)[order]][:count]
        if len(wide) < count:
            return None
        rest = order[~np.isin(order, wide)][: int(self.options.q[option]) - count]
        return Seat(option, np.append(np.sort(wide), np.sort(rest)))

    def settled(self, option: int, nodes: Ints) -> int:
        """Return the option without a restart where the nodes are those the job runs on, else the option itself."""
        home = self._at_home.get(option, option)
        if home == option:
            return option
        held = self.options.homes[self.options.home[home]]
        same = np.array_equal(np.sort(held), np.sort(nodes))
        if same and home in self.options.larger:
            count = self.options.larger[home].number
            same = np.array_equal(np.sort(held[:count]), np.sort(nodes[:count]))
        return home if same else option

    def start(self, job: int, wanted: Iterable[int], own: Ints | None = None) -> bool:
        """Seat a job by the first of the options that fits; return whether one did, within its tenant's quota."""
        if job in self.seats or not self.free.within_quota(job):
            return False
        for option in wanted:
            if self.options.home[option] < 0 and not self.free.fits(option):
                continue  # many jobs need the same, so that this is often known
            seat = self.seat_for(option, own)
            if seat is not None:
                self.take(job, *seat)
                return True
        return False

    def grow(self, job: int, wanted: Iterable[int]) -> None:
        """Give a job the first of the options that fits; a seat it has already is left only for one worth more."""
        seat = self.seats.get(job)
        if seat is None:
            self.start(job, wanted)
            return
        self.leave(job)
        if not self.start(job, (o for o in wanted if self.options.e[o] > self.options.e[seat.option]), seat.nodes):
            self.take(job, *seat)

    def stay(self, jobs: Iterable[int]) -> None:
        """Seat each running job on the nodes it runs on by the fastest option for which nothing restarts."""
        for job in jobs:
            self.start(job, (o for o in self.best_first[job] if self.options.home[o] >= 0))


def arrivals(round_: Round) -> list[int]:
    """Return the jobs in the order of their priority, then of their submission, then of the round."""
    jobs = round_.jobs
    return sorted(range(len(jobs)), key=lambda job: (-jobs[job].priority, jobs[job].submitted or 0.0))


def guaranteed_first(options: PlanOptions, jobs: Sequence[int]) -> list[int]:
    """Return the jobs of each level of priorities: those with a guarantee and then the others, in the order given."""
    level, promised = options.level.tolist(), options.guaranteed.tolist()
    return sorted(jobs, key=lambda job: (level[job], not promised[job]))


def by_worth(options: PlanOptions) -> list[list[int]]:
    """Return the options of each job, worth most first; equal ones without a restart first, then the smallest."""
    return ranked(options, -options.e, options.home < 0, *sizes(options))


def ranked(options: PlanOptions, *keys: NDArray[Any]) -> list[list[int]]:
    """Return the options of each job in the order of the keys, the first one first; equal ones as they are."""
    order: list[int] = np.lexsort((*reversed(keys), options.job)).tolist()
    return [order[first:end] for first, end in pairwise(options.first.tolist())]


def size(options: PlanOptions, option: int) -> tuple[int, int, int]:
    """Return the GPUs, milli-CPUs and MiB of all parts of an option."""
    parts = int(options.q[option])
    if option in options.larger:
        gpus, milli, mib = (int(total[option]) for total in options.totals)
        return gpus, milli, mib
    return parts * int(options.g[option]), parts * int(options.c[option]), parts * int(options.m[option])


def sizes(options: PlanOptions) -> tuple[Ints, Ints, Ints]:
    """Return the GPUs, milli-CPUs and MiB of all parts of each option."""
    return options.totals
