"""Policy ``antman``: guaranteed jobs first, the others opportunistically on what is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from math import inf
from time import monotonic
from typing import ClassVar

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.plans.allocation import PlanAllocation, PlanPlacement, arrivals, guaranteed_first, ranked, sizes
from muri_opt.systems.plans.options import PlanOptions
from muri_opt.systems.plans.policy import ThroughputPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class AntManPolicy(ThroughputPolicy):
    """Two classes of jobs, each by the strategy it names on as many GPUs as its class allows.

    A guaranteed job starts with the fewest GPUs that are at least those it asks for; where that does not fit, with the
    least that keeps its guarantee. Where no room is free, best-effort jobs are evicted, the latest first. Best-effort
    jobs, in the order of submission, take their largest option that fits what is left; one that runs grows if that is
    worth its restart. Jobs of a larger priority go through both before those of a smaller one.

    >>> sorted(policy_from("antman").decide(shipped_round("toy/five-plans"), 0).running)
    ['a', 'b', 'd', 'e']
    """

    own_name: ClassVar[str] = "antman"
    needs_beside: ClassVar[tuple[str, ...]] = ("plan",)
    changes: ClassVar[str] = "resources"

    @property
    def looks_at_clock(self) -> bool:
        """It is done soon after its time is over."""
        return True

    def choose(self, round_: Round, options: PlanOptions, seed: int, until: float = inf) -> Mapping[int, Ints]:
        """Return the nodes of each option that runs; where it is late nobody is evicted any more, and nobody grows."""
        queue = arrivals(round_)
        allocation = _Allocation(round_, options, queue)
        promised, largest = _promised(round_, options), _largest(options)
        for _, level in groupby(guaranteed_first(options, queue), key=options.level.tolist().__getitem__):
            allocation.begin_level()
            for job in level:
                late = until < inf and monotonic() >= until
                if not options.guaranteed[job]:
                    allocation.serve(job, largest[job], grow=not late)
                else:
                    allocation.promise(job, promised[job], evict=not late)
        return allocation.chosen


class _Allocation(PlanAllocation):
    """The placements of all jobs, and beside them only those that nobody may take any more.

    These are placements of guaranteed jobs and of jobs of a larger priority than the level that is served: a
    guaranteed job can start, whoever is evicted for it, exactly if it has room beside them.
    """

    def __init__(self, round_: Round, options: PlanOptions, queue: list[int]) -> None:
        super().__init__(round_, options)
        self.stay(guaranteed_first(options, queue))
        self._rank = {job: place for place, job in enumerate(queue)}
        self._firm = PlanAllocation(round_, options)
        self._firm.take_all(
            {placement.option: placement.nodes for job, placement in self.placements.items() if options.guaranteed[job]}
        )
        self._served: list[int] = []

    def promise(self, job: int, wanted: list[int], *, evict: bool) -> None:
        """Place a guaranteed job by the first option that fits, or that does once others are evicted."""
        if job in self.placements:
            return
        if self.start(job, wanted):
            self._firm.take(job, *self.placements[job])
        elif evict and self.free.within_quota(job) and self._firm.start(job, wanted):
            self._make_room(job, self._firm.placements[job])

    def serve(self, job: int, wanted: list[int], *, grow: bool) -> None:
        """Give a best-effort job the first of the options that fits; one with a placement may only grow."""
        if grow:
            self.grow(job, wanted)
        else:
            self.start(job, wanted)
        self._served.append(job)

    def begin_level(self) -> None:
        """Let best-effort jobs that were served keep their placements: those to come have a smaller priority."""
        for job in self._served:
            if job in self.placements:
                self._firm.take(job, *self.placements[job])
        self._served.clear()

    def _make_room(self, job: int, placement: PlanPlacement) -> None:
        """Place a guaranteed job where others are in its way: those that still fit beside it stay, the last do not."""
        on_nodes = {other for node in placement.nodes.tolist() for other in self.on_node[node]}
        guests = {
            other: self.placements[other]
            for other in sorted(on_nodes - self._firm.placements.keys(), key=self._rank.__getitem__)
        }
        for other in guests:
            self.leave(other)
        self.take(job, *placement)
        for other, held in guests.items():
            if all(self.free.has_room(held.option, held.nodes, node) for node in held.nodes.tolist()):
                self.take(other, *held)


def _promised(round_: Round, options: PlanOptions) -> list[list[int]]:
    """Return the options of each job as a guarantee has them: the GPUs it asks for or a few more, then the smallest."""
    gpus, milli, mib = sizes(options)
    few = gpus < round_.amounts.g[options.job]
    return ranked(options, few, gpus, options.home < 0, -options.throughput, milli, mib)


def _largest(options: PlanOptions) -> list[list[int]]:
    """Return the options of each job, the most GPUs first, then without a restart, then by throughput."""
    return ranked(options, -options.totals[0], options.home < 0, -options.throughput)
