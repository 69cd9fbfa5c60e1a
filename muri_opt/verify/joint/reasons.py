"""Why jobs wait in a joint round in which some run by plans, by the verifier's own reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from muri_opt.rounds import Decision, Job, Round, Waiting, WaitingReason
from muri_opt.verify.amounts import NO_LIMIT, Need, Room, empty_rooms, said_of
from muri_opt.verify.demands import Asked, asked_of, kept_back
from muri_opt.verify.gangs.asked_reasons import Binding
from muri_opt.verify.joint.plan_rooms import PlanRooms
from muri_opt.verify.joint.plans import PlanEntry
from muri_opt.verify.joint.value import Worker, Workers
from muri_opt.verify.loans import spare_gpus
from muri_opt.verify.open_nodes import Parts


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
    empty, left = PlanRooms(round_, empty_rooms(round_)), PlanRooms(round_, free)
    binding, asked = Binding(empty, left), dict[int, Asked]()
    for wait in decision.waiting:
        place = round_.job_index[wait.job]
        job, worker = round_.jobs[place], workers.jobs[place]
        back = kept_back(round_, job)
        if back is not None:
            yield wait, back
            continue
        quota, where = spare.get(job.tenant or ""), parts(job)
        if worker.plans:
            yield wait, said_of(job, _by_plans(worker, where, empty, left, quota))
        else:
            if id(where) not in asked:
                asked[id(where)] = Asked(parts=where, fewest=1, most=NO_LIMIT, even=False, home=None, must=False)
            yield wait, said_of(job, binding.of(asked[id(where)], needs(job), quota))


def _by_plans(worker: Worker, where: Parts, empty: PlanRooms, free: PlanRooms, quota: int | None) -> WaitingReason:
    possible = [one for one in worker.plans if empty.can_start_by(where, one)]
    if not possible:
        return WaitingReason.CAPACITY
    within = [one for one in possible if quota is None or one.plan.gpus <= quota]
    if not within:
        return WaitingReason.QUOTA
    if min(one.plan.gpus for one in possible) > free.gpus(where):
        return WaitingReason.CAPACITY
    fits = any(free.can_start_by(where, one) for one in within)
    return WaitingReason.PRIORITY if fits else WaitingReason.FRAGMENTATION
