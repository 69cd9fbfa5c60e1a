"""Why does a gang wait that may not start just anywhere?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from muri_opt.rounds import Decision, Job, Round, Waiting, WaitingReason
from muri_opt.verify.amounts import Need, empty_rooms, need_of, said_of
from muri_opt.verify.demands import Asked, kept_back
from muri_opt.verify.gangs.changes import rooms_after
from muri_opt.verify.tenant_lines import spare_quotas


def asked_reasons(
    round_: Round,
    decision: Decision,
    held: Counter[str],
    asked: Mapping[str, Asked],
    *,
    fewest_nodes: bool,
    needs: Callable[[Job], Need] = need_of,
) -> Iterator[tuple[Waiting, WaitingReason]]:
    """Yield every waiting job with the first rule that keeps it from starting with what it ``needs``.

    That it is held, or is to begin later; that it fits no nodes where it may start, were they empty; its quota; that
    fewer GPUs are free there than it asks for; that they are free but not as it asks for them.
    """
    free, empty = list(rooms_after(round_, decision).values()), empty_rooms(round_)
    spare = spare_quotas(round_, held)

    known: dict[object, WaitingReason] = {}

    def binding(mine: Asked, need: Need, quota: int | None) -> WaitingReason:
        least = mine.node_count(empty, need)
        if least is None:
            return WaitingReason.CAPACITY
        if quota is not None and need.gpus > quota:
            return WaitingReason.QUOTA
        if need.gpus > sum(free[node].gpus for part in mine.parts for node in part):
            return WaitingReason.CAPACITY
        now = mine.node_count(free, need)
        if now is None or (fewest_nodes and now > least):
            return WaitingReason.FRAGMENTATION
        return WaitingReason.PRIORITY

    for wait in decision.waiting:
        job = round_.jobs[round_.job_index[wait.job]]
        mine, need, quota = asked[job.id], needs(job), spare.get(job.tenant or "")
        key = id(mine.parts), mine.fewest, mine.most, mine.even, need, quota
        back = kept_back(round_, job)
        if back is None and key not in known:
            known[key] = binding(mine, need, quota)
        yield wait, said_of(job, known[key] if back is None else back)
