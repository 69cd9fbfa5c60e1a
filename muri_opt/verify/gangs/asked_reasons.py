"""Why does a gang wait that may not start just anywhere?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from muri_opt.rounds import Decision, Job, Round, Waiting, WaitingReason
from muri_opt.verify.amounts import Need, need_of, said_of
from muri_opt.verify.counted_parts import CountedParts, empty_parts
from muri_opt.verify.demands import Asked, kept_back
from muri_opt.verify.gangs.changes import rooms_after
from muri_opt.verify.loans import spare_gpus
from muri_opt.verify.type_quotas import OpenTypes, used_of


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

    That it is held, or is to begin later; that it fits no nodes where it may start, were they empty; its quota, or that
    it fits none of those nodes on whose GPU type its tenant has enough left; that fewer GPUs are free there than it
    asks for; that they are free but not as it asks for them.
    """
    free, empty = CountedParts([*rooms_after(round_, decision).values()]), empty_parts(round_)
    spare, types = spare_gpus(round_, held), None
    if "tenant.quota_by_type" in round_.used_fields:
        types = OpenTypes(round_, used_of(round_, decision))

    known: dict[object, WaitingReason] = {}

    def binding(mine: Asked, within: Asked, need: Need, quota: int | None) -> WaitingReason:
        if not empty.can_start(mine, need):
            return WaitingReason.CAPACITY
        if (quota is not None and need.gpus > quota) or (within is not mine and not empty.can_start(within, need)):
            return WaitingReason.QUOTA
        if need.gpus > free.gpus(within):
            return WaitingReason.CAPACITY
        if not free.can_start(within, need) or (fewest_nodes and needs_more_nodes(mine, within, need)):
            return WaitingReason.FRAGMENTATION
        return WaitingReason.PRIORITY

    def needs_more_nodes(mine: Asked, within: Asked, need: Need) -> bool:
        least, now = empty.node_count(mine, need), free.node_count(within, need)
        return least is not None and now is not None and now > least

    for wait in decision.waiting:
        job = round_.jobs[round_.job_index[wait.job]]
        mine, need, quota = asked[job.id], needs(job), spare.get(job.tenant or "")
        within = mine if types is None else replace(mine, parts=types.parts(job, mine))
        first = () if types is None else tuple(part[0] for part in within.parts)
        key = id(mine.parts), first, mine.fewest, mine.most, mine.even, need, quota
        back = kept_back(round_, job)
        if back is None and key not in known:
            known[key] = binding(mine, within, need, quota)
        yield wait, said_of(job, known[key]) if back is None else back
