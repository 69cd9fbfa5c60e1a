"""Ways to break a right answer: mutants of its decision here, of its claims beside it, together in ``MUTANTS``."""

from __future__ import annotations

import mutants_of_claims  # noqa: F401 - it adds its mutants to the list
from alterations import (
    changed_first,
    decided,
    job_of,
    moves,
    placed,
    replace,
    used,
    with_assignments,
)
from by_policy import settings_of
from mutant_kinds import MUTANTS, Break, Mutant, breaks

from muri_opt import Result, Round, Waiting, WaitingReason

__all__ = ["MUTANTS", "Break", "Mutant"]


@breaks("job-once", running=1)
def job_runs_twice(round_: Round, result: Result) -> Result | None:
    assignments = decided(result).assignments
    return with_assignments(result, *assignments, assignments[0])


@breaks("job-once", running=1)
def job_runs_and_waits(round_: Round, result: Result) -> Result | None:
    job = decided(result).assignments[0].jobs[0]
    wait = Waiting(job=job, reason=WaitingReason.CAPACITY, detail="", remedy="")
    return with_assignments(result, *decided(result).assignments, waiting=(*decided(result).waiting, wait))


@breaks("waiting-listed", running=1)
def running_job_dropped(round_: Round, result: Result) -> Result | None:
    return with_assignments(result, *decided(result).assignments[1:])


@breaks("waiting-listed", waiting=1)
def waiting_job_dropped(round_: Round, result: Result) -> Result | None:
    decision = decided(result)
    return with_assignments(result, *decision.assignments, waiting=decision.waiting[1:])


@breaks("waiting-listed", waiting=1)
def waiting_job_listed_twice(round_: Round, result: Result) -> Result | None:
    decision = decided(result)
    return with_assignments(result, *decision.assignments, waiting=(*decision.waiting, decision.waiting[0]))


@breaks("known-job", running=1)
def unknown_job_runs(round_: Round, result: Result) -> Result | None:
    return changed_first(result, jobs=("nobody",))


@breaks("known-job")
def unknown_job_waits(round_: Round, result: Result) -> Result | None:
    wait = Waiting(job="nobody", reason=WaitingReason.CAPACITY, detail="", remedy="")
    return with_assignments(result, *decided(result).assignments, waiting=(*decided(result).waiting, wait))


@breaks("known-node", running=1)
def unknown_node(round_: Round, result: Result) -> Result | None:
    first, *others = decided(result).assignments
    return with_assignments(result, placed(job_of(round_, first), {"nowhere": sum(first.gpus.values())}), *others)


@breaks("known-node", running=1)
def cpus_on_a_node_without_gpus(round_: Round, result: Result) -> Result | None:
    first = decided(result).assignments[0]
    return changed_first(result, cpus={**first.cpus, "elsewhere": 1.0})


@breaks("gang")
def one_gpu_too_few(round_: Round, result: Result) -> Result | None:
    for place, assignment in enumerate(decided(result).assignments):
        node = max(assignment.gpus, key=lambda node: assignment.gpus[node])
        if assignment.gpus[node] > 1:
            less = placed(job_of(round_, assignment), {**assignment.gpus, node: assignment.gpus[node] - 1})
            others = decided(result).assignments
            return with_assignments(result, *others[:place], less, *others[place + 1 :])
    return None


@breaks("gang", running=1)
def one_gpu_too_many(round_: Round, result: Result) -> Result | None:
    first, *others = decided(result).assignments
    node = next(iter(first.gpus))
    return with_assignments(result, placed(job_of(round_, first), {**first.gpus, node: first.gpus[node] + 1}), *others)


@breaks("gang", running=1)
def no_gpus_at_all(round_: Round, result: Result) -> Result | None:
    return changed_first(result, gpus={}, cpus={})


@breaks("gpu-capacity")
def gang_moved_to_a_full_node(round_: Round, result: Result) -> Result | None:
    return next((moved for _, node, moved in moves(round_, result) if used(round_, moved, node)[0] > node.gpus), None)


@breaks("cpu-capacity")
def gang_moved_where_cpus_are_short(round_: Round, result: Result) -> Result | None:
    for _, node, moved in moves(round_, result):
        if node.cpus is not None and used(round_, moved, node)[1] > round(node.cpus * 1000):
            return moved
    return None


@breaks("memory-capacity")
def gang_moved_where_memory_is_short(round_: Round, result: Result) -> Result | None:
    for _, node, moved in moves(round_, result):
        if node.memory_gib is not None and used(round_, moved, node)[2] > round(node.memory_gib * 1024):
            return moved
    return None


@breaks("cpus-with-gpus", running=1)
def a_milli_cpu_too_many(round_: Round, result: Result) -> Result | None:
    first = decided(result).assignments[0]
    node = next(iter(first.gpus))
    return changed_first(result, cpus={**first.cpus, node: first.cpus.get(node, 0.0) + 0.001})


@breaks("cpus-with-gpus")
def cpus_left_out(round_: Round, result: Result) -> Result | None:
    for place, assignment in enumerate(decided(result).assignments):
        if assignment.cpus:
            others = decided(result).assignments
            return with_assignments(result, *others[:place], replace(assignment, cpus={}), *others[place + 1 :])
    return None


@breaks("cpus-with-gpus", running=1)
def more_cpus_than_a_float_can_count(round_: Round, result: Result) -> Result | None:
    return changed_first(result, cpus=dict.fromkeys(decided(result).assignments[0].gpus, 1.7e308))


@breaks("quota")
def job_started_beyond_its_quota(round_: Round, result: Result) -> Result | None:
    decision = decided(result)
    for wait in decision.waiting:
        if wait.reason is WaitingReason.QUOTA:
            job = round_.jobs[round_.job_index[wait.job]]
            started = placed(job, {round_.cluster.nodes[0].id: job.gpus})
            waiting = tuple(other for other in decision.waiting if other is not wait)
            return with_assignments(result, *decision.assignments, started, waiting=waiting)
    return None


@breaks("whole-gpus", running=1)
def half_a_gpu(round_: Round, result: Result) -> Result | None:
    first = decided(result).assignments[0]
    return changed_first(result, gpus={node: gpus / 2 for node, gpus in first.gpus.items()})


@breaks("whole-gpus", running=1)
def no_gpu_on_a_listed_node(round_: Round, result: Result) -> Result | None:
    first = decided(result).assignments[0]
    job = next(job for job in round_.jobs if job.id == first.jobs[0])
    if any(plan.gpus == 0 for plan in job.plans or ()):  # then it may be a right answer
        return None
    return changed_first(result, gpus={**first.gpus, next(iter(first.gpus)): 0})


@breaks("whole-gpus", running=1)
def fewer_than_no_gpus(round_: Round, result: Result) -> Result | None:
    first = decided(result).assignments[0]
    return changed_first(result, gpus={**first.gpus, next(iter(first.gpus)): -1})


@breaks("group-size", running=2)
def two_gangs_on_the_same_gpus(round_: Round, result: Result) -> Result | None:
    first, second, *others = decided(result).assignments
    return with_assignments(result, replace(first, jobs=first.jobs + second.jobs, order=(0, 1)), *others)


@breaks("group-size", running=1)
def gpus_of_nobody(round_: Round, result: Result) -> Result | None:
    return changed_first(result, jobs=(), order=())


@breaks("equal-gpus")
def unequal_gangs_on_the_same_gpus(round_: Round, result: Result) -> Result | None:
    assignments = decided(result).assignments
    for first in assignments:
        for second in assignments:
            if job_of(round_, first).gpus != job_of(round_, second).gpus:
                group = replace(first, jobs=first.jobs + second.jobs, order=(1, 0))
                others = [other for other in assignments if other is not first and other is not second]
                return with_assignments(result, group, *others)
    return None


@breaks("order", running=1)
def order_that_starts_at_one(round_: Round, result: Result) -> Result | None:
    return changed_first(result, order=(1,))


@breaks("order", running=1)
def order_of_two_for_one(round_: Round, result: Result) -> Result | None:
    return changed_first(result, order=(0, 1))


@breaks("plan", running=1)
def plan_that_does_not_exist(round_: Round, result: Result) -> Result | None:
    return changed_first(result, plan="no such plan")


@breaks("fewest-nodes")
def gang_spread_over_more_nodes_than_needed(round_: Round, result: Result) -> Result | None:
    if not settings_of(result.policy).fewest_nodes:
        return None
    assignments = decided(result).assignments
    for place, assignment in enumerate(assignments):
        for taken, gpus in assignment.gpus.items():
            for node in round_.cluster.nodes:
                if gpus > 1 and node.id not in assignment.gpus:
                    spread = placed(job_of(round_, assignment), {**assignment.gpus, taken: gpus - 1, node.id: 1})
                    return with_assignments(result, *assignments[:place], spread, *assignments[place + 1 :])
    return None


@breaks("stays")
def running_job_stopped(round_: Round, result: Result) -> Result | None:
    return _without_a_running_one(round_, result, {})


@breaks("stays")
def running_job_moved(round_: Round, result: Result) -> Result | None:
    free = {node.id: node.gpus - used(round_, result, node)[0] for node in round_.cluster.nodes}
    return _without_a_running_one(round_, result, free)


def _without_a_running_one(round_: Round, result: Result, free: dict[str, int]) -> Result | None:
    """Return the result with a running job on one other node with room for it, or waiting where no room is given."""
    if not settings_of(result.policy).keeps_running:
        return None
    assignments, waiting = decided(result).assignments, decided(result).waiting
    for place, assignment in enumerate(assignments):
        job, others = job_of(round_, assignment), [*assignments[:place], *assignments[place + 1 :]]
        if job.state != "running" or assignment.gpus != job.placement:
            continue
        if not free:
            told = Waiting(job=job.id, reason=WaitingReason.STOPPED, detail="", remedy="")
            decision = replace(decided(result), assignments=tuple(others), waiting=(*waiting, told))
            return replace(result, decision=decision)
        for node, room in free.items():
            if room >= job.gpus and (job.cpus, job.memory_gib) == (None, None) and node not in assignment.gpus:
                return with_assignments(result, *others, placed(job, {node: job.gpus}))
    return None


@breaks("waiting-change")
def change_that_is_not_enough(round_: Round, result: Result) -> Result | None:
    waiting = decided(result).waiting
    for place, wait in enumerate(waiting):
        for change in wait.changes:
            if change.preempt:
                less = replace(change, preempt=change.preempt[1:])
            elif change.add_gpus:
                less = replace(change, add_gpus=None, gpus=0)
            elif change.raise_quota:
                less = replace(change, raise_quota=change.raise_quota - 1)
            else:
                continue
            wrong = (*waiting[:place], replace(wait, changes=(less,)), *waiting[place + 1 :])
            return replace(result, decision=replace(decided(result), waiting=wrong))
    return None


@breaks("period", running=1)
def wrong_period(round_: Round, result: Result) -> Result | None:
    return changed_first(result, period_seconds=12345.0)


@breaks("waiting-reason", waiting=1)
def wrong_waiting_reason(round_: Round, result: Result) -> Result | None:
    decision = decided(result)
    first, *others = decision.waiting
    wrong = next(reason for reason in WaitingReason if reason is not first.reason)
    return with_assignments(result, *decision.assignments, waiting=(replace(first, reason=wrong), *others))
