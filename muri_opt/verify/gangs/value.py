"""The value of a decision, recomputed from the round: never copied from a solver."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.amounts import empty_rooms, micro, need_of
from muri_opt.verify.gangs.fair_share import fair_shares
from muri_opt.verify.gangs.rules import GangRules

if TYPE_CHECKING:
    from muri_opt.verify.gangs.tiresias import Queues

MOST_DIGITS = 10_000
"""Jobs that are a binary digit each in a lexicographic value; those after them count one each."""

Kept = dict[str, Mapping[str, int]]
"""GPUs per node of jobs that stay."""


@recalled
def kept_jobs(round_: Round, rules: GangRules) -> Kept:
    """Return the running jobs that must stay where they are: all, or those that may be neither stopped nor moved.

    Gone through in the order of the policy, those first that may not be stopped, a job stays if it holds as many GPUs
    as it asks for, on nodes none of which is down, and its GPUs, CPUs and memory are not those of an earlier one.
    Quotas are not asked: they keep jobs from starting.
    """
    kept: Kept = {}
    if not rules.keeps_running and "job.preemptible" not in round_.used_fields:
        return kept
    running = {
        job.id
        for job in round_.jobs
        if job.state == "running" and (rules.keeps_running or (job.stays and job.stays_put))
    }
    if not running:
        return kept
    rooms = dict(zip(round_.cluster.node_index, empty_rooms(round_), strict=True))
    down = {node.id for node in round_.cluster.nodes if node.state == "down"}
    line = [job for job in ranked(round_, rules.order, rules.queues) if job.id in running]
    for job in sorted(line, key=lambda job: not job.stays):
        held, need = job.placement or {}, need_of(job)
        if sum(held.values()) != job.gpus or not down.isdisjoint(held):
            continue
        after = {node: rooms[node].without(need, gpus) for node, gpus in held.items()}
        if all(room.possible for room in after.values()):
            rooms |= after
            kept[job.id] = held
    return kept


@recalled
def job_values(round_: Round, rules: GangRules) -> dict[str, int]:
    """Return what each job adds to the value when it runs.

    Weighted: each GPU of the job of rank r (from 0) among n jobs is worth n - r. Lexicographic: the job of rank r is
    worth 2**(n - 1 - r), more than all jobs after it together; of very many jobs the last ones are worth 1 each, and
    those before them still more than all that follow. Jobs that stay whatever is decided are worth nothing.
    """
    for job in round_.jobs:
        if job.gpus < 1:
            raise InputError(f"job {job.id!r}.gpus", "0", "at least 1: the policy places gangs")
    kept = kept_jobs(round_, rules)
    line = [job for job in ranked(round_, rules.order, rules.queues) if job.id not in kept]
    count = len(line)
    values = dict.fromkeys(kept, 0)
    if rules.lexicographic:
        rest = max(0, count - MOST_DIGITS)
        first = count - rest
        values |= {job.id: (rest + 1) << (first - 1 - rank) for rank, job in enumerate(line[:first])}
        return values | {job.id: 1 for job in line[first:]}
    return values | {job.id: job.gpus * (count - rank) for rank, job in enumerate(line)}


def ranked(round_: Round, order: str, queues: Queues | None = None) -> list[Job]:
    """Return the jobs from the first to be served to the last, equal keys by submission and then by position.

    Before all else, a larger priority comes first. ``queues`` are those of Tiresias, whose order has settings.
    """
    line = _by_order(round_, order, queues)
    return sorted(line, key=lambda job: -job.priority) if "job.priority" in round_.used_fields else line


def _by_order(round_: Round, order: str, queues: Queues | None) -> list[Job]:
    if order == "fair-share":
        return fair_shares(round_)
    submitted = [micro(job.submitted or 0.0) for job in round_.jobs]
    if order == "max-min":
        arrival = {job.id: (submitted[place], place) for place, job in enumerate(round_.jobs)}
        return _least_served_tenant_first(round_, arrival)
    keys: list[object] = [_key(job, order) if queues is None else _stand(job, queues) for job in round_.jobs]
    line = sorted(zip(keys, submitted, range(len(keys)), strict=True))  # all differ by their places
    return [round_.jobs[place] for _, _, place in line]


def _key(job: Job, order: str) -> int:
    if order == "fifo":
        return micro(_said(job, "submitted"))
    if order == "las":
        return round(_said(job, "attained_gpu_seconds") * 1000)
    left = int(_said(job, "remaining_iterations")) * micro(_said(job, "iteration_seconds"))
    return left * job.gpus if order == "srsf" else left


def _stand(job: Job, queues: Queues) -> tuple[int, Fraction | int, bool]:
    """Return the queue of a job and how it stands there, before its submission counts."""
    service, pending = round(_said(job, "attained_gpu_seconds") * 1000), job.state == "waiting"
    queue = queues.queue(service)
    if queue and pending and queues.knob:
        executed, waited = micro(_said(job, "executed_seconds")), micro(_said(job, "waiting_seconds"))
        queue = 0 if queues.starved(executed, waited) else queue
    index = -queues.index(service) if queues.samples else 0  # comparing fractions takes long
    return queue, index, pending


def _least_served_tenant_first(round_: Round, arrival: dict[str, tuple[int, int]]) -> list[Job]:
    queues: dict[object, list[Job]] = {}
    for job in sorted(round_.jobs, key=lambda job: arrival[job.id]):
        queues.setdefault((job.id,) if job.tenant is None else job.tenant, []).append(job)
    turns = []
    for queue in queues.values():
        served = 0
        for job in queue:
            turns.append((served, arrival[job.id], job))
            served += job.gpus
    return [job for _, _, job in sorted(turns, key=lambda turn: turn[:2])]


def _said(job: Job, field: str) -> float:
    value = getattr(job, field)
    if value is None:
        raise InputError(f"job {job.id!r}.{field}", "nothing", "a value: the policy orders jobs by it")
    return float(value) if field != "remaining_iterations" else value
