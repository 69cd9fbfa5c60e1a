"""Why jobs wait in a joint round in which some run by plans, by the verifier's own reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from muri_opt.rounds import Decision, Job, Round, Waiting, WaitingReason
from muri_opt.verify.amounts import NO_LIMIT, Need, Room, empty_rooms, said_of
from muri_opt.verify.demands import asked_of, kept_back
from muri_opt.verify.joint.plans import PlanEntry
from muri_opt.verify.joint.value import Worker, Workers
from muri_opt.verify.loans import spare_gpus

Parts = tuple[tuple[int, ...], ...]
"""Sets of nodes, by their places, of which a job may start in one."""


def rooms_left(round_: Round, taken: Iterable[tuple[str, tuple[int, int, int]]]) -> list[Room]:
    """Return what nodes have left."""
    rooms = empty_rooms(round_)
    for node, amounts in taken:
        place = round_.cluster.node_index[node]
        rooms[place] = rooms[place].less(*amounts)
    return rooms


def parts_open(round_: Round) -> Callable[[Job], Parts]:
    """Return a function that says where a job may start."""
    asked, every = asked_of(round_), (tuple(range(len(round_.cluster.nodes))),)
    return lambda job: every if asked is None else asked[job.id].parts


def nodes_of_plan(round_: Round, parts: Parts, one: PlanEntry) -> Parts:
    """Return where a job may start by a plan: on nodes of its GPU types."""
    if one.plan.types is None:
        return parts
    nodes = round_.cluster.nodes
    return tuple(tuple(node for node in part if nodes[node].gpu_type in one.plan.types) for part in parts)


def holds_plan(rooms: Sequence[Room], part: Iterable[int], one: PlanEntry) -> bool:
    """Return whether some nodes have room for all parts of a plan, one on each."""
    places = list(part)
    wide = one.wide or one.piece
    larger = 0 if one.wide is None else one.plan.gpus % one.plan.nodes
    return (
        sum(_holds(rooms[node], one.piece) for node in places) >= one.plan.nodes
        and sum(_holds(rooms[node], wide) for node in places) >= larger
    )


def _holds(room: Room, piece: tuple[int, int, int]) -> bool:
    return room.less(*piece).possible


def joint_reasons(
    round_: Round,
    workers: Workers,
    decision: Decision,
    held: Counter[str],
    free: Sequence[Room],
    needs: Callable[[Job], Need],
) -> Iterator[tuple[Waiting, WaitingReason]]:
    """Yield every waiting job with the first rule that keeps it from starting with its fewest GPUs, or by a plan."""
    spare, parts = spare_gpus(round_, held), parts_open(round_)
    rooms = empty_rooms(round_)
    for wait in decision.waiting:
        place = round_.job_index[wait.job]
        job, worker = round_.jobs[place], workers.jobs[place]
        back = kept_back(round_, job)
        if back is not None:
            yield wait, back
            continue
        quota, where = spare.get(job.tenant or ""), parts(job)
        if worker.plans:
            true = _by_plans(round_, worker, where, rooms, free, quota)
        else:
            true = _by_gpus(needs(job), where, rooms, free, quota)
        yield wait, said_of(job, true)


def _by_plans(
    round_: Round, worker: Worker, where: Parts, empty: Sequence[Room], free: Sequence[Room], quota: int | None
) -> WaitingReason:
    def fits(rooms: Sequence[Room], one: PlanEntry) -> bool:
        return any(holds_plan(rooms, part, one) for part in nodes_of_plan(round_, where, one))

    possible = [one for one in worker.plans if fits(empty, one)]
    if not possible:
        return WaitingReason.CAPACITY
    within = [one for one in possible if quota is None or one.plan.gpus <= quota]
    if not within:
        return WaitingReason.QUOTA
    if min(one.plan.gpus for one in possible) > _gpus(free, where):
        return WaitingReason.CAPACITY
    return WaitingReason.PRIORITY if any(fits(free, one) for one in within) else WaitingReason.FRAGMENTATION


def _by_gpus(need: Need, where: Parts, empty: Sequence[Room], free: Sequence[Room], quota: int | None) -> WaitingReason:
    def fits(rooms: Sequence[Room]) -> bool:
        return any(sum(rooms[node].holds(need) for node in part) >= need.gpus for part in where)

    if not fits(empty):
        return WaitingReason.CAPACITY
    if quota is not None and need.gpus > quota:
        return WaitingReason.QUOTA
    if need.gpus > _gpus(free, where):
        return WaitingReason.CAPACITY
    return WaitingReason.PRIORITY if fits(free) else WaitingReason.FRAGMENTATION


def _gpus(rooms: Sequence[Room], where: Parts) -> int:
    reach = {node for part in where for node in part}
    return min(NO_LIMIT, sum(rooms[node].gpus for node in reach))
