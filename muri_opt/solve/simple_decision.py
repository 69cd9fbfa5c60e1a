"""A decision that takes no search: who runs goes on, and who fits beside them starts.

It is what a caller gets whose time does not suffice for the policy's own algorithm. It knows no chapter; whether it
keeps the rules is for the verifier to say.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from muri_opt.errors import InputError
from muri_opt.rounds import INFORMATION, Assignment, Decision, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.free_capacity import FreeCapacity
from muri_opt.rounds.sharing_now import on_same_gpus
from muri_opt.systems import Policy


def changes_anybody(round_: Round, decision: Decision) -> bool:
    """Return whether a decision stops a job that runs, or gives it other GPUs or partners than it may have now."""
    given = {job: one for one in decision.assignments for job in one.jobs}
    for job in round_.jobs:
        if job.state == "running":
            one = given.get(job.id)
            if one is None or len(one.jobs) > 1 or one.gpus != job.placement or one.plan not in (None, job.plan):
                return True
    return False


def simple_decisions(policy: Policy, round_: Round) -> Iterator[Decision]:
    """Yield decisions that stop and move nobody, the fuller one first; who waits, and CPUs, may be left out.

    That of the policy comes first, if it knows one. Otherwise those that wait start as the policy says, each whole
    where it fits best. Nobody starts where jobs ask for certain nodes or shapes.
    """
    beside = policy.beside(round_)
    if beside is not None:
        yield beside
    try:
        kept = policy.as_it_is(round_, on_same_gpus(round_))
    except InputError:  # something runs that the policy could not have started
        return
    if beside is None and INFORMATION.union({"job.priority"}).issuperset(round_.used_fields):
        yield Decision(assignments=(*kept, *_started(policy, round_, kept)))
    yield Decision(assignments=kept)


def _started(policy: Policy, round_: Round, kept: tuple[Assignment, ...]) -> Iterator[Assignment]:
    """Yield who fits beside those that are kept."""
    amounts, index = round_.amounts, round_.job_index
    free, nodes = FreeCapacity(amounts), round_.cluster.node_index
    for one in kept:
        members = [index[name] for name in one.jobs]
        cpus, memory = int(amounts.c[members].sum()), int(amounts.m[members].sum())
        for name, gpus in one.gpus.items():
            free.occupy(nodes[name], gpus, gpus * cpus, gpus * memory)
        for place in members:
            free.charge(int(amounts.tenant[place]), int(amounts.g[place]))
    left, names, short = int(np.maximum(free.gpus, 0).sum()), [*nodes], dict[tuple[int, int], int]()
    for place, gpus in policy.starting(round_, left):
        tenant = int(amounts.tenant[place])
        if gpus > left or not free.has_quota(tenant, gpus):
            continue
        kind = int(amounts.c[place]), int(amounts.m[place])
        if gpus >= short.get(kind, gpus + 1):
            continue  # fewer GPUs of this kind found no room, and what is free only shrinks
        part = _best_fit(free.most_gpus(place), gpus)
        if part is None:
            short[kind] = gpus
            continue
        where = np.flatnonzero(part)
        free.occupy(where, part[where], part[where] * amounts.c[place], part[where] * amounts.m[place])
        free.charge(tenant, gpus)
        left -= gpus
        name = round_.jobs[place].id
        yield Assignment(jobs=(name,), order=(0,), gpus={names[at]: int(part[at]) for at in where})


def _best_fit(room: Ints, gpus: int) -> Ints | None:
    """Return GPUs per node: the tightest node that holds all, or the fewest nodes from the emptiest on."""
    part = np.zeros_like(room)
    able = np.flatnonzero(room >= gpus)
    if len(able):
        part[able[np.argmin(room[able])]] = gpus
        return part
    for node in np.argsort(-room, kind="stable"):
        part[node] = min(gpus, max(0, int(room[node])))
        gpus -= int(part[node])
        if not gpus:
            return part
        if not part[node]:
            return None
    return None
