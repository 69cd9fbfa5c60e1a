"""Better places step by step: a gang is put where it gains more than those lose who have to go.

Greedy insertion with ejection: what an inserted gang throws out is inserted again at the end.
"""

from __future__ import annotations

import numpy as np

from muri_opt.rounds import Budget
from muri_opt.systems.philly.cluster_state import seat
from muri_opt.systems.philly.job_status import Held
from muri_opt.systems.philly.search.eviction_sets import Ejections
from muri_opt.systems.philly.search.placement_state import Seats

_TRYING, _PER_NODE = 4e-4, 2e-6
"""Work to look for a place: what it costs in any case, and for each node."""


def inserted(seats: Seats, jobs: list[int], budget: Budget) -> int:
    """Put waiting jobs on the floor where that gains, in this order; return how many found a place.

    Those who had to go for another are tried again at the end.
    """
    queue, count = list(jobs), 0
    known: dict[bool, Ejections] = {}
    hopeless: set[tuple[int, ...]] = set()
    while queue and not budget.over():
        job = queue.pop(0)
        if job in seats.at:
            continue
        sort = _sort(seats, job)
        if sort in hopeless:
            continue
        budget.spend(_TRYING + _PER_NODE * len(seats.floor.amounts.G))
        out = None
        for hopeful in (True, False):
            if hopeful not in known:
                known[hopeful] = Ejections(seats, hopeful=hopeful)
            way = known[hopeful].best(job)
            out = None if way is None else _applied(seats, job, way[1], way[2])
            if out is not None:
                break
        if out is None:
            hopeless.add(sort)
            continue
        count += 1
        known.clear()
        hopeless.clear()
        queue += out
    bring_back(seats)
    return count


def bring_back(seats: Seats) -> None:
    """Let preempted jobs run where nobody sits in their place after all, the largest first."""
    gone = [job for job in np.flatnonzero(seats.standing.running).tolist() if job not in seats.at]
    for job in sorted(gone, key=lambda job: -int(seats.g[job])):
        reseat(seats, job)


def _sort(seats: Seats, job: int) -> tuple[int, ...]:
    """Return what decides where a job can go: of equal ones one try is enough."""
    amounts, standing = seats.floor.amounts, seats.standing
    demand = (int(amounts.g[job]), int(amounts.c[job]), int(amounts.m[job]), int(standing.widest[job]))
    return (*demand, standing.kind(job), seats.within(job), int(standing.values.placed[job, 0]))


def _applied(seats: Seats, job: int, held: Held, gone: list[int]) -> list[int] | None:
    """Put a job there in the place of others, who are seated elsewhere if they can; return those that are not.

    ``None``, and nothing changed, if that is not allowed or nothing is gained.
    """
    before, places = seats.value, {out: seats.take(out) for out in gone}
    room = seats.floor.room(job)
    fits = all(room[node] >= units for node, units in held.items())
    if fits:
        seats.put(job, held)
        for out in sorted(gone, key=lambda out: -int(seats.g[out])):
            reseat(seats, out)
        if seats.value > before and seats.legal:
            return [out for out in gone if out not in seats.at and not seats.standing.running[out]]
        seats.take(job)
    for out in gone:
        if out in seats.at:
            seats.take(out)
    for out, place in places.items():
        seats.put(out, place)
    return None


def reseat(seats: Seats, job: int) -> None:
    """Put a job back where it was before the round, or anywhere that it may go."""
    standing, floor = seats.standing, seats.floor
    if standing.running[job]:
        home, room = standing.held[job], floor.room(job)
        if all(room[node] >= units for node, units in home.items()):
            seats.put(job, home)
            return
        budget = standing.rules.migrate
        if not standing.may.move[job] or (budget and seats.moved + seats.g[job] > budget):
            return
    place = seat(floor, job, int(standing.widest[job]))
    if place is not None:
        seats.put(job, place)


def waiting(seats: Seats) -> list[int]:
    """Return the jobs that could start, those that add most for each GPU first, the larger before the smaller."""
    standing = seats.standing
    jobs = [job for job in np.flatnonzero(standing.may.start & (seats.g > 0)).tolist() if job not in seats.at]
    worth = {job: standing.values.premium * seats.within(job) + int(standing.values.placed[job, 0]) for job in jobs}
    return sorted(jobs, key=lambda job: (-worth[job] // int(seats.g[job]), -int(seats.g[job]), job))
