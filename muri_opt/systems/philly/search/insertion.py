"""Better places step by step: a gang is put where it gains more than those lose who have to go.

Greedy insertion with ejection: what an inserted gang throws out is inserted again at the end.
"""

from __future__ import annotations

import numpy as np

from muri_opt.rounds import Budget
from muri_opt.systems.philly.cluster_state import find_placement
from muri_opt.systems.philly.job_status import Held
from muri_opt.systems.philly.search.eviction_sets import Ejections
from muri_opt.systems.philly.search.placement_state import Placements

_TRYING, _PER_NODE = 4e-4, 2e-6
"""Work to look for a place: what it costs in any case, and for each node."""


def inserted(placements: Placements, jobs: list[int], budget: Budget) -> int:
    """Put waiting jobs on nodes where that gains, in this order; return how many found a place.

    Those who had to go for another are tried again at the end.
    """
    queue, count = list(jobs), 0
    known: dict[bool, Ejections] = {}
    hopeless: set[tuple[int, ...]] = set()
    while queue and not budget.over():
        job = queue.pop(0)
        if job in placements.at:
            continue
        sort = _sort(placements, job)
        if sort in hopeless:
            continue
        budget.spend(_TRYING + _PER_NODE * len(placements.state.amounts.G))
        out = None
        for hopeful in (True, False):
            if hopeful not in known:
                known[hopeful] = Ejections(placements, hopeful=hopeful)
            way = known[hopeful].best(job)
            out = None if way is None else _applied(placements, job, way[1], way[2])
            if out is not None:
                break
        if out is None:
            hopeless.add(sort)
            continue
        count += 1
        known.clear()
        hopeless.clear()
        queue += out
    bring_back(placements)
    return count


def bring_back(placements: Placements) -> None:
    """Let preempted jobs run where nobody is in their place after all, the largest first."""
    gone = [job for job in np.flatnonzero(placements.status.running).tolist() if job not in placements.at]
    for job in sorted(gone, key=lambda job: -int(placements.g[job])):
        place_again(placements, job)


def _sort(placements: Placements, job: int) -> tuple[int, ...]:
    """Return what decides where a job can go: of equal ones one try is enough."""
    amounts, status = placements.state.amounts, placements.status
    demand = (int(amounts.g[job]), int(amounts.c[job]), int(amounts.m[job]), int(status.widest[job]))
    return (*demand, status.kind(job), placements.within(job), int(status.values.placed[job, 0]))


def _applied(placements: Placements, job: int, held: Held, gone: list[int]) -> list[int] | None:
    """Put a job there in the place of others, who are placed elsewhere if they can; return those that are not.

    ``None``, and nothing changed, if that is not allowed or nothing is gained.
    """
    before, places = placements.value, {out: placements.take(out) for out in gone}
    room = placements.state.room(job)
    fits = all(room[node] >= units for node, units in held.items())
    if fits:
        placements.put(job, held)
        for out in sorted(gone, key=lambda out: -int(placements.g[out])):
            place_again(placements, out)
        if placements.value > before and placements.legal:
            return [out for out in gone if out not in placements.at and not placements.status.running[out]]
        placements.take(job)
    for out in gone:
        if out in placements.at:
            placements.take(out)
    for out, place in places.items():
        placements.put(out, place)
    return None


def place_again(placements: Placements, job: int) -> None:
    """Put a job back where it was before the round, or anywhere that it may go."""
    status, state = placements.status, placements.state
    if status.running[job]:
        home, room = status.held[job], state.room(job)
        if all(room[node] >= units for node, units in home.items()):
            placements.put(job, home)
            return
        budget = status.rules.migrate
        if not status.may.move[job] or (budget and placements.moved + placements.g[job] > budget):
            return
    place = find_placement(state, job, int(status.widest[job]))
    if place is not None:
        placements.put(job, place)


def waiting(placements: Placements) -> list[int]:
    """Return the jobs that could start, those that add most for each GPU first, the larger before the smaller."""
    status = placements.status
    jobs = [job for job in np.flatnonzero(status.may.start & (placements.g > 0)).tolist() if job not in placements.at]
    worth = {job: status.values.premium * placements.within(job) + int(status.values.placed[job, 0]) for job in jobs}
    return sorted(jobs, key=lambda job: (-worth[job] // int(placements.g[job]), -int(placements.g[job]), job))
