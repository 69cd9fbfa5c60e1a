"""Rounds put together from changed parts, always valid: a job that no longer fits where it runs waits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from muri_opt.errors import InputError
from muri_opt.rounds import Cluster, Job, Plan, Round
from muri_opt.rounds.configurations import configurations_of
from muri_opt.rounds.generate.families import generate
from muri_opt.rounds.running_jobs import check_running
from muri_opt.studies.worst_case.short_numbers import rounded, rounded_down
from muri_opt.systems.curves import scaling_table

NUMBERS: Final = {
    "remaining_iterations": 1,
    "iteration_seconds": 0.001,
    "executed_seconds": 0.0,
    "waiting_seconds": 0.0,
    "attained_gpu_seconds": 0.0,
    "restart_seconds": 0.0,
    "cpus": 0.0,
    "memory_gib": 0.0,
}
"""The fields of a job that are one number, each with the least it may be."""


_MOST_GPUS: Final = 8

Change = Callable[[float], float]


def put_together(cluster: Cluster, jobs: Sequence[Job], *, like: Round) -> Round:
    """Return the round of these parts; jobs that run where there is no room, or not on all their GPUs, wait."""
    free = {node.id: node.gpus for node in cluster.nodes}
    settled: list[Job] = []
    for job in jobs:
        held = job.placement or {}
        if job.placement is not None:
            fits = sum(held.values()) == job.gpus and all(free.get(node, -1) >= gpus for node, gpus in held.items())
            if not fits or not _has_room(cluster, (*settled, job)):
                settled.append(waiting(job))
                continue
            for node, gpus in held.items():
                free[node] -= gpus
        settled.append(job)
    return msgspec.structs.replace(like, cluster=cluster, jobs=tuple(settled))


def _has_room(cluster: Cluster, jobs: Sequence[Job]) -> bool:
    """Return whether the CPUs and the memory of the nodes suffice for what runs."""
    try:
        check_running(cluster, jobs)
    except InputError:
        return False
    return True


def waiting(job: Job) -> Job:
    """Return the job as it waits: without a plan, but for the configuration that servers and workers ask for."""
    asked = job.plan if is_configured(job) else None
    return msgspec.structs.replace(job, state="waiting", placement=None, plan=asked)


def is_configured(job: Job) -> bool:
    """Return whether the job's plans are configurations of servers and workers, which it always names one of."""
    try:
        return bool(configurations_of(job))
    except InputError:
        return False


def asking(job: Job, plan: Plan) -> Job:
    """Return the job with another configuration, and the GPUs and CPUs of that."""
    cpus = None if job.cpus is None else plan.cpus
    return msgspec.structs.replace(job, plan=plan.name, gpus=plan.gpus, cpus=cpus)


def drawn_round(family: str, jobs: int, nodes: int, seed: int, gpus: int) -> Round:
    """Return a random round of the family with nodes of so many GPUs, and every number rounded."""
    made = generate(family, jobs=jobs, nodes=nodes, seed=seed)
    servers = tuple(msgspec.structs.replace(node, gpus=gpus) for node in made.cluster.nodes)
    cluster = msgspec.structs.replace(made.cluster, nodes=servers)
    tidy = [with_numbers(_by_age(job, made.now), rounded) for job in made.jobs]
    return put_together(cluster, tidy, like=msgspec.structs.replace(made, name=""))


def with_numbers(job: Job, change: Change) -> Job:
    """Return the job with every number changed, kept at what it may be."""
    fields: dict[str, object] = {}
    for name, least in NUMBERS.items():
        value = getattr(job, name)
        if value is not None:
            fields[name] = kept(name, max(change(value), least))
    if job.stage_seconds is not None:
        fields["stage_seconds"] = tuple(change(time) for time in job.stage_seconds)
    if job.scaling is not None:
        fields["scaling"] = calm({gpus: change(rate) for gpus, rate in job.scaling.items()})
    if job.plans is not None:
        fields["plans"] = tuple(msgspec.structs.replace(plan, throughput=change(plan.throughput)) for plan in job.plans)
    if job.guarantee is not None:
        fields["guarantee"] = msgspec.structs.replace(job.guarantee, throughput=change(job.guarantee.throughput))
    return msgspec.structs.replace(job, **fields)


def is_sensible(round_: Round) -> bool:
    """Return whether every job does something in some stage, and more GPUs never slow a job down nor each of them up.

    Algorithms are made for such jobs. What they do to others is no news: a curve that falls, or a job of no time at
    all, would be found first and tell nothing.
    """
    return all(
        any(job.stage_seconds or (1.0,))
        and (job.scaling is None or (1 in job.scaling and calm(job.scaling) == job.scaling))
        for job in round_.jobs
    )


def calm(curve: Mapping[int, float]) -> dict[int, float]:
    """Return the curve at every GPU count up to its largest, at most 8, never falling, never faster per GPU.

    A count that the table leaves out is interpolated in iteration time, as all of this package does: between 1 and 4
    GPUs of a linear curve that is slower per GPU, which is an artefact of the table and no property of a job.
    """
    speeds = scaling_table(curve).speeds
    found = {1: curve[1]}
    for gpus in range(2, min(len(speeds) - 1, _MOST_GPUS) + 1):
        rate = curve.get(gpus, rounded(curve[1] * speeds[gpus] / speeds[1]))
        most = rounded_down(found[gpus - 1] * gpus / (gpus - 1))
        found[gpus] = max(found[gpus - 1], min(rate, most))
    return found


def kept(name: str, value: float) -> float | int:
    """Return the number in the type of its field."""
    return round(value) if name == "remaining_iterations" else value


def _by_age(job: Job, now: float) -> Job:
    """Return the job submitted a round number of seconds ago."""
    if job.submitted is None:
        return job
    return msgspec.structs.replace(job, submitted=max(0.0, now - rounded(now - job.submitted)))
