"""A decision that takes no search: who runs goes on, and who fits beside them starts.

It is what a caller gets whose time does not suffice for the policy's own algorithm. It knows no chapter; whether it
keeps the rules is for the verifier to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from muri_opt.errors import InputError
from muri_opt.rounds import INFORMATION, Assignment, Decision, Round
from muri_opt.rounds.free_capacity import FreeCapacity
from muri_opt.rounds.sharing_now import on_same_gpus
from muri_opt.systems import Policy

_ASK_NO_NODES: Final = INFORMATION | {"job.priority", "job.deadline"}
"""Fields with which a job may start on any node."""


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
    if beside is None and _ASK_NO_NODES.issuperset(round_.used_fields):
        yield Decision(assignments=(*kept, *_started(policy, round_, kept)))
    yield Decision(assignments=kept)


def _started(policy: Policy, round_: Round, kept: tuple[Assignment, ...]) -> Iterator[Assignment]:
    """Yield who fits beside those that are kept."""
    amounts, index = round_.amounts, round_.job_index
    free, nodes = FreeCapacity(amounts), round_.cluster.node_index
    cpus, memory, tenants = amounts.c.tolist(), amounts.m.tolist(), amounts.tenant.tolist()
    asks, taken = amounts.g.tolist(), list[tuple[int, int, int, int]]()
    for one in kept:
        members = [index[name] for name in one.jobs]
        milli, mib = cpus[members[0]], memory[members[0]]
        for place in members[1:]:
            milli, mib = milli + cpus[place], mib + memory[place]
        for name, gpus in one.gpus.items():
            taken.append((nodes[name], gpus, gpus * milli, gpus * mib))
        for place in members:
            free.charge(tenants[place], asks[place])
    node, *parts_taken = np.array(taken, dtype=np.int64).reshape(-1, 4).T
    for has, part in zip((free.gpus, free.cpus, free.memory), parts_taken, strict=True):
        np.subtract.at(has, node, part)
    left, names, short = int(np.maximum(free.gpus, 0).sum()), [*nodes], dict[tuple[int, int], int]()
    from muri_opt.systems.capacity.room_sets import RoomSets  # importing `solve_round` loads no system

    rooms = RoomSets(free.gpus.tolist(), free.cpus.tolist(), free.memory.tolist())
    for place, gpus in policy.starting(round_, left):
        if gpus > left or not free.has_quota(tenants[place], gpus):
            continue
        kind = cpus[place], memory[place]
        if gpus >= short.get(kind, gpus + 1):
            continue  # fewer GPUs of this kind found no room, and what is free only shrinks
        parts = rooms.best_fit(kind, gpus)
        if parts is None:
            short[kind] = gpus
            continue
        rooms.take(kind, parts)
        free.charge(tenants[place], gpus)
        left -= gpus
        yield Assignment(
            jobs=(round_.jobs[place].id,), order=(0,), gpus={names[node]: part for node, part in sorted(parts)}
        )
