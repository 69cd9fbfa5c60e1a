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
    free = CountedParts([*rooms_after(round_, decision).values()])
    binding = Binding(empty_parts(round_), free, fewest_nodes=fewest_nodes)
    spare, types = spare_gpus(round_, held), None
    if "tenant.quota_by_type" in round_.used_fields:
        types = OpenTypes(round_, used_of(round_, decision))
    for wait in decision.waiting:
        job = round_.jobs[round_.job_index[wait.job]]
        mine, need, quota = asked[job.id], needs(job), spare.get(job.tenant or "")
        within = None if types is None else replace(mine, parts=types.parts(job, mine))
        back = kept_back(round_, job)
        yield wait, said_of(job, binding.of(mine, need, quota, within)) if back is None else back


class Binding:
    """The first rule that keeps a gang from starting; equal questions are answered once.

    It is told of the ``empty`` nodes, and what is ``free`` of them; whether gangs must be on the fewest nodes.
    """

    def __init__(self, empty: CountedParts, free: CountedParts, *, fewest_nodes: bool = False) -> None:
        self._empty, self._free, self._fewest_nodes = empty, free, fewest_nodes
        self._known: dict[object, WaitingReason] = {}

    def of(self, asked: Asked, need: Need, quota: int | None, within: Asked | None = None) -> WaitingReason:
        """Return the rule for what a job asks, where a quota leaves it so many GPUs.

        ``within`` are the parts of it that quotas of GPU types leave, if there are such quotas.
        """
        first = () if within is None else tuple(part[0] for part in within.parts)
        key = asked.alike, first, need, quota
        if key not in self._known:
            self._known[key] = self._found(asked, need, quota, within)
        return self._known[key]

    def _found(self, asked: Asked, need: Need, quota: int | None, within: Asked | None) -> WaitingReason:
        if not self._empty.can_start(asked, need):
            return WaitingReason.CAPACITY
        if quota is not None and need.gpus > quota:
            return WaitingReason.QUOTA
        if within is not None and not self._empty.can_start(within, need):
            return WaitingReason.QUOTA
        left = asked if within is None else within
        if need.gpus > self._free.gpus(left.parts):
            return WaitingReason.CAPACITY
        if not self._free.can_start(left, need) or (self._fewest_nodes and self._needs_more_nodes(asked, left, need)):
            return WaitingReason.FRAGMENTATION
        return WaitingReason.PRIORITY

    def _needs_more_nodes(self, asked: Asked, left: Asked, need: Need) -> bool:
        least, now = self._empty.node_count(asked, need), self._free.node_count(left, need)
        return least is not None and now is not None and now > least
