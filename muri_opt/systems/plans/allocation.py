"""Who runs by which option on which nodes, while a policy places jobs one after another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.rounds.stopping import look_at_clock
from muri_opt.systems.plans.free_nodes import FreeNodes
from muri_opt.systems.plans.options import PlanOptions

_LEAST_PART: Final = 1e-9
"""What an option takes of the cluster that needs nothing of it."""


class PlanPlacement(NamedTuple):
    """The option a job runs by, and the nodes that have one part of it each, those of larger parts first."""

    option: int
    nodes: Ints


class PlanAllocation:
    """The placements given so far, what they leave free, and who is on which node."""

    def __init__(self, round_: Round, options: PlanOptions) -> None:
        self.options = options
        self.free = FreeNodes(round_, options)
        self.placements: dict[int, PlanPlacement] = {}
        self._on_node: list[set[int]] | None = None
        self._at_home = options.same_at_home

    @property
    def best_first(self) -> list[list[int]]:
        """The options of each job, worth most first; equal ones without a restart first, then the smallest."""
        return self.options.best_first

    @property
    def on_node(self) -> list[set[int]]:
        """The jobs that have a part on each node; few policies ask for them."""
        if self._on_node is None:
            self._on_node = [set() for _ in self.free.gpus]
            for job, placement in self.placements.items():
                self._put_on_nodes(job, placement.nodes)
        return self._on_node

    @property
    def chosen(self) -> dict[int, Ints]:
        """The nodes of each option that runs."""
        return {placement.option: placement.nodes for placement in self.placements.values()}

    def take(self, job: int, option: int, nodes: Ints) -> None:
        """Place a job that has no placement."""
        self.free.take(option, nodes)
        self.placements[job] = PlanPlacement(option, nodes)
        self._put_on_nodes(job, nodes)

    def take_all(self, chosen: Mapping[int, Ints]) -> None:
        """Place jobs by options on nodes where they have room together; none of them has a placement."""
        self.free.take_all(chosen)
        for job, (option, nodes) in zip(self.options.job[list(chosen)].tolist(), chosen.items(), strict=True):
            self.placements[job] = PlanPlacement(option, nodes)
            self._put_on_nodes(job, nodes)

    def _put_on_nodes(self, job: int, nodes: Ints) -> None:
        if self._on_node is not None:
            for node in nodes.tolist():
                self._on_node[node].add(job)

    def leave(self, job: int) -> None:
        """Take its placement from a job."""
        placement = self.placements.pop(job)
        self.free.give(placement.option, placement.nodes)
        if self._on_node is not None:
            for node in placement.nodes.tolist():
                self._on_node[node].discard(job)

    def open_room(self, option: int) -> Ints:
        """Return the nodes with room for a part of an option."""
        return np.flatnonzero(self.free.room(option))

    def placement_for(self, option: int, own: Ints | None = None) -> PlanPlacement | None:
        """Return where an option fits now: on the nodes the job runs on if it can stay there without a restart.

        Otherwise a single part goes to the ``own`` node or to the one with the fewest free GPUs that has room, several
        parts to ``own`` nodes and then to those with the most free GPUs, or the fewest if they need none. Larger parts
        are placed before the others.
        """
        look_at_clock()
        if self._at_home.get(option, option) != option:
            kept = self.placement_for(self._at_home[option])
            if kept is not None:
                return kept
        if not self.options.moves[option] and option not in self.options.larger:
            return self._placement_at_home(option)
        room = np.flatnonzero(self.free.room(option))
        parts = int(self.options.q[option])
        if len(room) < parts:
            return None
        gpus = self.free.gpus[room] if parts == 1 or not self.options.g[option] else -self.free.gpus[room]
        if own is not None:
            gpus = np.where(np.isin(room, own), np.iinfo(np.int64).min, gpus)
        if parts == 1:
            return PlanPlacement(option, room[[np.argmin(gpus)]])
        order = room[np.argsort(gpus, kind="stable")]
        if option in self.options.larger:
            return self._with_larger_parts(option, order)
        return PlanPlacement(option, np.sort(order[:parts]))

    def _placement_at_home(self, option: int) -> PlanPlacement | None:
        """Return the nodes that a job holds, if all of them have room for a part of an option there."""
        options = self.options
        nodes = options.homes[options.home[option]]
        part = options.g[option], options.c[option], options.m[option]
        for left, need in zip(self.free.left, part, strict=True):
            if (left[nodes] < need).any():
                return None
        if not options.hosts[options.kind[option], nodes].all():
            return None
        return PlanPlacement(option, np.sort(nodes))

    def _with_larger_parts(self, option: int, order: Ints) -> PlanPlacement | None:
        """Return the first of some nodes that have room for a part of an option, with larger parts where they fit."""
        count = self.options.larger[option].number
        wide = order[self.free.wide_room(option)[order]][:count]
        if len(wide) < count:
            return None
        rest = order[~np.isin(order, wide)][: int(self.options.q[option]) - count]
        return PlanPlacement(option, np.append(np.sort(wide), np.sort(rest)))

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
        """Place a job by the first of the options that fits; return whether one did, within its tenant's quota."""
        if job in self.placements or not self.free.within_quota(job):
            return False
        for option in self.free.first_fitting(wanted):
            placement = self.placement_for(option, own)
            if placement is not None:
                self.take(job, *placement)
                return True
        return False

    def grow(self, job: int, wanted: Iterable[int]) -> None:
        """Give a job the first of the options that fits; a placement it has already is left only for one worth more."""
        placement = self.placements.get(job)
        if placement is None:
            self.start(job, wanted)
            return
        every = list(wanted)
        gains = self.options.e[every] > self.options.e[placement.option]
        better = [option for option, gain in zip(every, gains.tolist(), strict=True) if gain]
        if not better:
            self.placements[job] = self.placements.pop(job)  # as if it had left and come back
            return
        self.leave(job)
        if not self.start(job, better, placement.nodes):
            self.take(job, *placement)

    def stay(self, jobs: Iterable[int]) -> None:
        """Place each running job on the nodes it runs on by the fastest option for which nothing restarts."""
        options, queue = self.options, list(jobs)
        if not self.stay_together(queue, -options.e, *options.totals):
            moves = options.moves
            for job in queue:
                self.start(job, (o for o in self.best_first[job] if not moves[o]))

    def stay_together(self, queue: Iterable[int], *keys: Ints) -> bool:
        """Place each running job by its first option at home in the order of some keys, if there is room for all.

        Return whether there is. Who comes first then makes no difference: it is as if one after another was placed.
        """
        options, free = self.options, self.free
        if options.larger or self.placements:
            return False
        every = np.flatnonzero(options.home >= 0)
        ranked = every[np.lexsort((*(key[every] for key in reversed(keys)), options.job[every]))]
        jobs, first = np.unique(options.job[ranked], return_index=True)
        of_job = dict(zip(jobs.tolist(), ranked[first].tolist(), strict=True))
        homes = np.array([of_job[job] for job in queue if job in of_job], dtype=np.int64)
        nodes = [options.homes[home] for home in options.home[homes].tolist()]
        of = np.repeat(homes, [len(some) for some in nodes])
        node = np.concatenate([np.zeros(0, dtype=np.int64), *nodes])
        taken = np.zeros_like(free.left)
        np.add.at(taken.T, node, np.column_stack([options.g[of], options.c[of], options.m[of]]))
        if (taken > free.left).any() or not options.hosts[options.kind[of], node].all():
            return False
        if not free.within_quotas(options.job[homes]):
            return False
        placements = zip(homes.tolist(), nodes, strict=True)
        self.take_all({home: some if len(some) == 1 else np.sort(some) for home, some in placements})
        return True


def arrivals(round_: Round) -> list[int]:
    """Return the jobs in the order of their priority, then of their submission, then of the round."""
    submitted = np.array([job.submitted or 0.0 for job in round_.jobs], dtype=np.float64)
    order: list[int] = np.lexsort((submitted, -round_.priorities)).tolist()
    return order


def guaranteed_first(options: PlanOptions, jobs: Sequence[int]) -> list[int]:
    """Return the jobs of each level of priorities: those with a guarantee and then the others, in the order given."""
    level, promised = options.level.tolist(), options.guaranteed.tolist()
    return sorted(jobs, key=lambda job: (level[job], not promised[job]))


def densest_first(round_: Round, options: PlanOptions, placed: Iterable[int] = ()) -> Iterator[tuple[int, list[int]]]:
    """Yield jobs with their options, of both those first that are worth most for what they take of the cluster.

    That is the largest part of its GPUs, CPUs and memory. So jobs start where it is late: those of a larger priority
    before all others, and then those with a guarantee. Options worth nothing, and jobs that are ``placed``, are left
    out.
    """
    amounts, part = round_.amounts, np.full(len(options), _LEAST_PART)
    for taken, has in zip(options.totals, (amounts.G, amounts.C, amounts.M), strict=True):
        if has.any() and has.max() < UNLIMITED:
            part = np.maximum(part, taken / has.sum())
    each, able = options.e / part, np.flatnonzero(np.diff(options.first))
    most = np.zeros(len(round_.jobs))
    most[able] = np.maximum.reduceat(each, options.first[able]) if len(able) else 0.0
    waits = np.ones(len(most), dtype=np.bool_)
    waits[list(placed)] = False
    line = np.array(arrivals(round_), dtype=np.int64)
    line = line[waits[line]]
    line = line[np.argsort(-most[line], kind="stable")]
    some = np.flatnonzero(waits[options.job] & (each > 0))
    order = some[np.lexsort((-each[some], options.job[some]))]
    ends = np.cumsum(np.bincount(options.job[order], minlength=len(most))).tolist()
    wanted: list[int] = order.tolist()
    for job in guaranteed_first(options, line.tolist()):
        yield job, wanted[ends[job - 1] if job else 0 : ends[job]]


def by_worth(options: PlanOptions) -> list[list[int]]:
    """Return the options of each job, worth most first; equal ones without a restart first, then the smallest."""
    return options.best_first


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
