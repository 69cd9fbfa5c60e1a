"""Why does a job wait whose GPUs, CPUs, memory and quota are all that can be in its way?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from muri_opt.rounds import Decision, Job, Round, Violation, Waiting, WaitingReason
from muri_opt.verify.amounts import CountedRooms, Need, empty_rooms, said_of
from muri_opt.verify.gangs.changes import Proposals, rooms_after
from muri_opt.verify.loans import spare_gpus


def true_reasons(
    round_: Round, decision: Decision, held: Counter[str], needs: Callable[[Job], Need], *, fewest_nodes: bool = False
) -> Iterator[tuple[Waiting, WaitingReason]]:
    """Yield every waiting job with the first rule that keeps it from starting with what it ``needs``.

    ``held`` are the GPUs that count for the quota of each tenant.
    """
    rooms = rooms_after(round_, decision).values()
    free, free_gpus = CountedRooms(rooms), sum([room.gpus for room in rooms])
    empty = CountedRooms(empty_rooms(round_))
    spare = spare_gpus(round_, held)
    known: dict[tuple[Need, int | None], WaitingReason] = {}
    jobs, index = round_.jobs, round_.job_index
    for wait in decision.waiting:
        job = jobs[index[wait.job]]
        key = needs(job), spare.get(job.tenant or "")
        reason = known.get(key)
        if reason is None:
            reason = known[key] = _reason(*key, free, free_gpus, empty, fewest_nodes)
        yield wait, said_of(job, reason)


def wrong_changes(
    round_: Round, decision: Decision, held: Counter[str], *, fewest_nodes: bool = False
) -> Iterator[Violation]:
    """Yield a breach for each change that a waiting job is told and that would not start it."""
    proposals, spare = Proposals(round_, decision, fewest_nodes=fewest_nodes), spare_gpus(round_, held)
    jobs, index = round_.jobs, round_.job_index
    for wait in decision.waiting:
        if wait.changes:
            job = jobs[index[wait.job]]
            for place, fault in proposals.faults(job, spare.get(job.tenant or ""), wait.changes):
                yield Violation(rule="waiting-change", where=job.id, detail=f"changes[{place}]: {fault}")


def _reason(
    need: Need, spare_quota: int | None, free: CountedRooms, free_gpus: int, empty: CountedRooms, fewest_nodes: bool
) -> WaitingReason:
    least = empty.fewest(need)
    if least is None:
        return WaitingReason.CAPACITY
    if spare_quota is not None and need.gpus > spare_quota:
        return WaitingReason.QUOTA
    if need.gpus > free_gpus:
        return WaitingReason.CAPACITY
    now = free.fewest(need)
    if now is None or (fewest_nodes and now > least):
        return WaitingReason.FRAGMENTATION
    return WaitingReason.PRIORITY
