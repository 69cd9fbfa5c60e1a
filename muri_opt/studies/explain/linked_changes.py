"""Which jobs change together between two decisions: groups, quotas and GPUs that pass from one to another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush

from muri_opt.rounds import Round
from muri_opt.studies.explain.shared_pools import Pool


def linked_jobs(
    round_: Round, jobs: Iterable[str], ties: Iterable[Sequence[str]], pools: Iterable[Pool]
) -> list[set[str]]:
    """Return the jobs that differ as sets that change together.

    Jobs of a tie are in one set. Sets are then joined until, in every pool, any choice of them can be carried over from
    one decision to the other without using more than there is: each set looks like a change of its own.
    """
    together = _components(jobs, ties)
    for pool in pools:
        deltas = [sum(pool.taken.get(job, 0) for job in one) for one in together]
        together = [set().union(*(together[place] for place in places)) for places in fitting(deltas, pool.free)]
    return sorted(together, key=lambda one: min(round_.job_index[job] for job in one))


def fitting(deltas: Sequence[int], free: int) -> list[list[int]]:
    """Return which changes belong together so that all that take more do not take more than is free.

    A change takes ``deltas[i]`` more than before, or gives as much if that is negative; all together fit. Equal amounts
    are joined first, the largest first, then the largest taker and the largest giver. Exchanging takers and givers, and
    with them the two decisions, leads to the same answer.
    """
    groups = {place: [place] for place in range(len(deltas))}
    over = sum(delta for delta in deltas if delta > 0) - free
    equal: dict[int, tuple[list[int], list[int]]] = {}
    for place, delta in enumerate(deltas):
        if delta:
            equal.setdefault(abs(delta), ([], []))[delta < 0].append(place)
    left: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
    for size in sorted(equal, reverse=True):
        takers, givers = equal[size]
        pairs = min(len(takers), len(givers), max(0, -(-over // size)))
        for taker, giver in zip(takers[:pairs], givers[:pairs], strict=True):
            groups[min(taker, giver)] += groups.pop(max(taker, giver))
        over -= pairs * size
        for side, places in zip(left, equal[size], strict=True):
            side.extend((-size, place) for place in places[pairs:])
    for side in left:
        heapify(side)
    while over > 0:
        (needed, taker), (given, giver) = heappop(left[0]), heappop(left[1])
        over += max(needed, given)
        kept = min(taker, giver)
        groups[kept] += groups.pop(max(taker, giver))
        if needed != given:
            heappush(left[needed > given], (-abs(needed - given), kept))
    return [sorted(places) for places in groups.values()]


def _components(jobs: Iterable[str], ties: Iterable[Sequence[str]]) -> list[set[str]]:
    owner = {job: job for job in jobs}

    def root(job: str) -> str:
        while owner[job] != job:
            owner[job] = job = owner[owner[job]]
        return job

    for tie in ties:
        for job in tie[1:]:
            owner[root(job)] = root(tie[0])
    found: dict[str, set[str]] = {}
    for job in owner:
        found.setdefault(root(job), set()).add(job)
    return list(found.values())
