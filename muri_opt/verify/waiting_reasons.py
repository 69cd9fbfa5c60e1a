"""Does a waiting job wait for the reason it is given?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from muri_opt.rounds import Decision, Round, Violation, WaitingReason
from muri_opt.verify.amounts import Need, Room, empty_rooms, held_of_tenants, need_of, said_of, smallest_node_count
from muri_opt.verify.gangs.changes import Proposals, rooms_after
from muri_opt.verify.policy_rules import Rules


def wrong_reasons(round_: Round, decision: Decision, rules: Rules) -> Iterator[Violation]:
    """Yield a breach for each waiting job whose stated reason is not the first rule that keeps it from starting."""
    if rules.plans is not None:
        from muri_opt.verify.plans.menu import Menu
        from muri_opt.verify.plans.rules import wrong_plan_reasons

        yield from wrong_plan_reasons(round_, Menu.of(round_, rules.plans), decision)
        return
    if rules.placement is not None:
        from muri_opt.verify.philly.job_status import Reading
        from muri_opt.verify.philly.reasons import wrong_placement_reasons

        yield from wrong_placement_reasons(round_, decision, Reading.of(round_, rules.placement))
        return
    free = Counter(room for room in rooms_after(round_, decision).values() if room.gpus)
    free_gpus = sum(room.gpus * nodes for room, nodes in free.items())
    held = held_of_tenants(round_, decision, elastic=rules.elastic is not None)
    quotas = {tenant.id: tenant.quota_gpus for tenant in round_.cluster.tenants}
    empty = Counter(empty_rooms(round_))
    jobs = {job.id: job for job in round_.jobs}
    known: dict[tuple[Need, int | None], WaitingReason] = {}
    proposals = Proposals(round_, decision, rules)
    for wait in decision.waiting:
        job = jobs[wait.job]
        quota = quotas.get(job.tenant) if job.tenant is not None else None
        spare = None if quota is None else quota - held[job.tenant or ""]
        need = need_of(job) if rules.elastic is None else replace(need_of(job), gpus=1)  # one GPU lets it start
        if (need, spare) not in known:
            known[need, spare] = _reason(need, free, free_gpus, empty, spare, rules)
        true = said_of(job, known[need, spare])
        if wait.reason != true:
            yield Violation(rule="waiting-reason", where=job.id, detail=f"said {wait.reason}; it is {true}")
        for place, change in enumerate(wait.changes):
            fault = proposals.fault(job, spare, change)
            if fault is not None:
                yield Violation(rule="waiting-change", where=job.id, detail=f"changes[{place}]: {fault}")


def _reason(
    need: Need, free: Counter[Room], free_gpus: int, empty: Counter[Room], spare_quota: int | None, rules: Rules
) -> WaitingReason:
    least = smallest_node_count(empty, need)
    if least is None:
        return WaitingReason.CAPACITY
    if spare_quota is not None and need.gpus > spare_quota:
        return WaitingReason.QUOTA
    if need.gpus > free_gpus:
        return WaitingReason.CAPACITY
    now = smallest_node_count(free, need)
    if now is None or (rules.fewest_nodes and now > least):
        return WaitingReason.FRAGMENTATION
    return WaitingReason.PRIORITY
