"""A decision that takes no search: who runs goes on, and who fits beside them starts.

It is what a caller gets whose time does not suffice for the policy's own algorithm. It knows no chapter; whether it
keeps the rules is for the verifier to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from muri_opt.errors import InputError
from muri_opt.rounds import INFORMATION, Assignment, Decision, Round, Violation
from muri_opt.rounds.amounts import gpus_that_fit
from muri_opt.rounds.field_groups import PLACES, QUOTAS, SHAPES, STATES
from muri_opt.rounds.free_capacity import FreeCapacity
from muri_opt.rounds.node_bits import EVERY_NODE, Bits
from muri_opt.rounds.sharing_now import on_same_gpus
from muri_opt.systems import Policy

if TYPE_CHECKING:
    from muri_opt.systems.capacity.node_sets import Demand
    from muri_opt.systems.capacity.room_sets import RoomSets

_KNOWN_FIELDS: Final = (
    INFORMATION | PLACES | SHAPES | STATES | (QUOTAS - {"tenant.quota_by_type"}) | {"job.priority", "job.deadline"}
)
"""Fields with which it is known here who may start, and where."""


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
    """Yield decisions that move nobody, the fuller one first; who waits, and CPUs, may be left out.

    That of the policy comes first, if it knows one. Otherwise those that wait start as the policy says, each whole
    where it fits best of what it asks for. Nobody starts where tenants have quotas of GPU types. Where tenants have
    more than their quotas, as after one was lowered, what goes on in the last decision is within them.
    """
    beside = policy.beside(round_)
    if beside is not None:
        yield beside
    try:
        kept = policy.as_it_is(round_, on_same_gpus(round_))
    except InputError:  # something runs that the policy could not have started
        return
    starts = beside is None and _KNOWN_FIELDS.issuperset(round_.used_fields)
    within = _within_quotas(round_, kept)
    for some in (kept,) if len(within) == len(kept) else (kept, within):
        if starts:
            yield Decision(assignments=(*some, *_started(policy, round_, some)))
        yield Decision(assignments=some)


def _within_quotas(round_: Round, kept: tuple[Assignment, ...]) -> tuple[Assignment, ...]:
    """Return those that go on within quotas: who may not be stopped, then by priority, then in turn of submission."""
    free, index, jobs = FreeCapacity(round_.amounts), round_.job_index, round_.jobs
    tenants = round_.amounts.tenant.tolist()

    turns = list[tuple[bool, int, float, int]]()
    for at, one in enumerate(kept):
        members = [jobs[index[name]] for name in one.jobs]
        first = min([job.submitted or 0.0 for job in members])
        may_stop = not any(job.stays for job in members)
        turns.append((may_stop, -max([job.priority for job in members]), first, at))
    within = list[int]()
    for may_stop, *_, at in sorted(turns):
        one = kept[at]
        gpus = sum(one.gpus.values())
        asked = Counter([tenants[index[name]] for name in one.jobs])
        if may_stop and not all(free.has_quota(tenant, gpus * many) for tenant, many in asked.items()):
            continue
        for tenant, many in asked.items():
            free.charge(tenant, gpus * many)
        within.append(at)
    return tuple([kept[at] for at in sorted(within)])


def without_wrong_starts(round_: Round, decision: Decision, breaches: Sequence[Violation]) -> Decision:
    """Return the assignments of a decision but those of waiting jobs by which, as breaches say, a rule is broken."""
    wrong = {breach.where for breach in breaches}
    waiting = {job.id for job in round_.jobs if job.state == "waiting"}
    return Decision(
        assignments=tuple(
            one
            for place, one in enumerate(decision.assignments)
            if waiting.isdisjoint(one.jobs) or wrong.isdisjoint((f"assignments[{place}]", *one.jobs))
        )
    )


def _started(policy: Policy, round_: Round, kept: tuple[Assignment, ...]) -> Iterator[Assignment]:
    """Yield who fits beside those that are kept."""
    from muri_opt.systems.capacity.node_sets import node_sets  # importing `solve_round` loads no system
    from muri_opt.systems.capacity.room_sets import RoomSets

    amounts, free, names = round_.amounts, _left_beside(round_, kept), [*round_.cluster.node_index]
    cpus, memory, tenants = amounts.c.tolist(), amounts.m.tolist(), amounts.tenant.tolist()
    rooms = RoomSets(free.gpus.tolist(), free.cpus.tolist(), free.memory.tolist())
    sets = node_sets(round_)
    asks = None if sets is None else sets.kind.tolist()
    places = [_Places(rooms, None)] if sets is None else [_Places(rooms, one) for one in sets.demands]
    left = int(np.maximum(free.gpus, 0).sum())
    for job, gpus in policy.starting(round_, left):
        if gpus > left or not free.has_quota(tenants[job], gpus):
            continue
        kind = cpus[job], memory[job]
        parts = places[0 if asks is None else asks[job]].fit(kind, gpus)
        if parts is None:
            continue
        rooms.take(kind, parts)
        free.charge(tenants[job], gpus)
        left -= gpus
        yield Assignment(
            jobs=(round_.jobs[job].id,), order=(0,), gpus={names[node]: part for node, part in sorted(parts)}
        )


def _left_beside(round_: Round, kept: tuple[Assignment, ...]) -> FreeCapacity:
    """Return what nodes and quotas have beside those that are kept."""
    amounts, index = round_.amounts, round_.job_index
    free, nodes = FreeCapacity(amounts), round_.cluster.node_index
    cpus, memory, tenants = amounts.c.tolist(), amounts.m.tolist(), amounts.tenant.tolist()
    taken = list[tuple[int, int, int, int]]()
    for one in kept:
        members = [index[name] for name in one.jobs]
        milli, mib = cpus[members[0]], memory[members[0]]
        for place in members[1:]:
            milli, mib = milli + cpus[place], mib + memory[place]
        for name, gpus in one.gpus.items():
            taken.append((nodes[name], gpus, gpus * milli, gpus * mib))
        for place in members:
            free.charge(tenants[place], sum(one.gpus.values()))
    node, *parts_taken = np.array(taken, dtype=np.int64).reshape(-1, 4).T
    for has, part in zip((free.gpus, free.cpus, free.memory), parts_taken, strict=True):
        np.subtract.at(has, node, part)
    return free


class _Places:
    """Where jobs may start that ask the same of nodes, beside what is placed already: what is free only shrinks."""

    def __init__(self, rooms: RoomSets, demand: Demand | None) -> None:
        self._rooms, self._shaped = rooms, demand if demand is not None and demand.shaped else None
        self._regions: tuple[Bits, ...] = (EVERY_NODE,)
        if demand is not None:
            self._regions = tuple(sum([1 << node for node in some.tolist()]) for some in (*demand.near, *demand.sets))
        self._short: dict[tuple[int, int, int], int] = {}
        """The fewest GPUs of a kind that found no room; of jobs with a shape these GPUs only."""

    def fit(self, kind: tuple[int, int], gpus: int) -> list[tuple[int, int]] | None:
        """Return GPUs of nodes, with so many milli-CPUs and MiB each, or ``None`` where they do not fit."""
        key = *kind, 0 if self._shaped is None else gpus
        if gpus >= self._short.get(key, gpus + 1):
            return None
        if self._shaped is None:
            found = self._rooms.best_fit(kind, gpus, self._regions)
        else:
            found = _shaped_parts(self._rooms, self._shaped, kind, gpus)
        if found is None:
            self._short[key] = gpus
        return found


def _shaped_parts(rooms: RoomSets, demand: Demand, kind: tuple[int, int], gpus: int) -> list[tuple[int, int]] | None:
    """Return GPUs of nodes for a job that asks on how many of them it is, or for equally many on each."""
    from muri_opt.systems.capacity.shaped_fit import fit_near_first

    share = fit_near_first(gpus_that_fit(kind, *np.array(rooms.free, dtype=np.int64)), gpus, demand)
    if share is None:
        return None
    used = np.flatnonzero(share)
    return [*zip(used.tolist(), share[used].tolist(), strict=True)]
