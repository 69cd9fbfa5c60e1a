"""Policy ``antman``: guaranteed jobs first, the others opportunistically on what is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import ClassVar

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.plans.allocation import PlanAllocation, Seat, arrivals, guaranteed_first, ranked, sizes
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

    def choose(self, round_: Round, options: PlanOptions, seed: int, until: float = inf) -> Mapping[int, Ints]:
        """Return the nodes of each option that runs."""
        seating, queue = PlanAllocation(round_, options), arrivals(round_)
        seating.stay(guaranteed_first(options, queue))
        rank = {job: place for place, job in enumerate(queue)}
        promised, largest = _promised(round_, options), _largest(options)
        for job in guaranteed_first(options, queue):
            if not options.guaranteed[job]:
                seating.grow(job, largest[job])
            elif not seating.start(job, promised[job]) and job not in seating.seats:
                _evict_for(seating, job, promised[job], rank)
        return seating.chosen


def _promised(round_: Round, options: PlanOptions) -> list[list[int]]:
    """Return the options of each job as a guarantee has them: the GPUs it asks for or a few more, then the smallest."""
    gpus, milli, mib = sizes(options)
    few = gpus < round_.amounts.g[options.job]
    return ranked(options, few, gpus, options.home < 0, -options.throughput, milli, mib)


def _largest(options: PlanOptions) -> list[list[int]]:
    """Return the options of each job, the most GPUs first, then without a restart, then by throughput."""
    return ranked(options, -options.totals[0], options.home < 0, -options.throughput)


def _evict_for(seating: PlanAllocation, job: int, wanted: list[int], rank: Mapping[int, int]) -> None:
    """Seat a guaranteed job by the first option that fits beside guaranteed jobs, evicting whom that takes."""
    options, free = seating.options, seating.free
    if not free.within_quota(job):
        return
    guests = {
        other: seat
        for other, seat in sorted(seating.seats.items(), key=lambda held: -rank[held[0]])
        if not options.guaranteed[other] and options.level[other] >= options.level[job]
    }
    for other in guests:
        seating.leave(other)
    started = seating.start(job, wanted)
    for other, seat in reversed(guests.items()):
        if not started or _fits_at(seating, seat):
            seating.take(other, *seat)


def _fits_at(seating: PlanAllocation, seat: Seat) -> bool:
    return all(seating.free.has_room(seat.option, seat.nodes, node) for node in seat.nodes.tolist())
