"""The smallest round that still shows a gap: jobs, nodes, GPUs, fields and digits are left out one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Final

import msgspec

from muri_opt.errors import RefusalError
from muri_opt.rounds import Job, Round
from muri_opt.rounds.configurations import configurations_of
from muri_opt.studies.worst_case.measure import Distance, Measure
from muri_opt.studies.worst_case.rounds import NUMBERS, asking, is_configured, is_sensible, kept, put_together, waiting
from muri_opt.studies.worst_case.short_numbers import simpler

_OPTIONAL: Final = (
    "user",
    "tenant",
    "guarantee",
    "predictable",
    "cpus",
    "memory_gib",
    "restart_seconds",
    "restarts",
    "attained_gpu_seconds",
    "executed_seconds",
    "waiting_seconds",
    "submitted",
    "plans",
    "scaling",
    "stage_seconds",
    "iteration_seconds",
    "remaining_iterations",
)
_OF_SINGLE_JOBS: Final = ("tenant", "guarantee", "restart_seconds")
"""What some jobs may have and others not; a field that only some have would be hard to read elsewhere."""
_NODE_OPTIONAL: Final = ("rack", "cpus", "memory_gib", "gpu_type")

Candidates = Iterator[Round]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrunk:
    """The smaller round, its distance, and how many rounds were looked at on the way."""

    round: Round
    distance: Distance
    evaluations: int


def shrink(
    round_: Round,
    measure: Measure,
    at_least: Fraction,
    *,
    same_cluster: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Shrunk:
    """Return a round of which no single part can be left out or made simpler without the gap falling below.

    Every step leaves something out, so there is an end; steps are tried in one fixed order, so it is always the same.
    Shrinking what is returned changes nothing. With ``same_cluster`` nodes and their GPUs stay as they are. A round of
    sensible jobs stays one.
    """
    distance = measure.of(round_)
    if distance is None or distance.gap < at_least:
        found = "no proved optimum" if distance is None else f"a gap of {float(distance.gap):.4f}"
        raise RefusalError("round", found, f"a proved gap of at least {float(at_least):.4f}")
    current, looked_at = (_renamed(round_), distance), 1
    sensible, again = is_sensible(round_), True
    steps = [step for step in _STEPS if not (same_cluster and step in (_fewer_nodes, _smaller_nodes))]
    while again:
        again = False
        for step in steps:
            candidates = step(current[0])
            while (candidate := next(candidates, None)) is not None:
                if sensible and not is_sensible(candidate):
                    continue
                looked_at += 1
                if progress is not None:
                    progress(looked_at)
                found_distance = measure.of(candidate)
                if found_distance is not None and found_distance.gap >= at_least:
                    current, again = (candidate, found_distance), True
                    candidates = step(candidate)
    return Shrunk(round=current[0], distance=current[1], evaluations=looked_at)


def _renamed(round_: Round) -> Round:
    """Return the round with short ids: jobs a, b, c and so on, nodes n0, n1."""
    nodes = {node.id: f"n{s}" for s, node in enumerate(round_.cluster.nodes)}
    servers = tuple(msgspec.structs.replace(node, id=nodes[node.id]) for node in round_.cluster.nodes)
    jobs = tuple(
        msgspec.structs.replace(
            job,
            id=chr(ord("a") + j) if len(round_.jobs) <= 26 else f"job-{j}",
            placement=None if job.placement is None else {nodes[node]: gpus for node, gpus in job.placement.items()},
        )
        for j, job in enumerate(round_.jobs)
    )
    cluster = msgspec.structs.replace(round_.cluster, nodes=servers)
    return msgspec.structs.replace(round_, name="", cluster=cluster, jobs=jobs)


def _fewer_jobs(round_: Round) -> Candidates:
    for at in reversed(range(len(round_.jobs))):
        jobs = (*round_.jobs[:at], *round_.jobs[at + 1 :])
        if jobs:
            yield _renamed(put_together(round_.cluster, jobs, like=round_))


def _fewer_nodes(round_: Round) -> Candidates:
    """Put all GPUs on one node, or leave a node out."""
    nodes = round_.cluster.nodes
    if len(nodes) > 1:
        single = msgspec.structs.replace(nodes[0], gpus=round_.cluster.total_gpus)
        cluster = msgspec.structs.replace(round_.cluster, nodes=(single,))
        yield _renamed(put_together(cluster, round_.jobs, like=round_))
    for at in reversed(range(len(nodes))):
        left = (*nodes[:at], *nodes[at + 1 :])
        if left:
            cluster = msgspec.structs.replace(round_.cluster, nodes=left)
            yield _renamed(put_together(cluster, round_.jobs, like=round_))


def _smaller_nodes(round_: Round) -> Candidates:
    for at, node in enumerate(round_.cluster.nodes):
        for gpus in range(1, node.gpus):
            smaller = msgspec.structs.replace(node, gpus=gpus)
            nodes = (*round_.cluster.nodes[:at], smaller, *round_.cluster.nodes[at + 1 :])
            cluster = msgspec.structs.replace(round_.cluster, nodes=nodes)
            yield put_together(cluster, round_.jobs, like=round_)


def _smaller_jobs(round_: Round) -> Candidates:
    """Let a job ask for fewer GPUs, or for a configuration of less service."""
    for at, job in enumerate(round_.jobs):
        if is_configured(job):
            service = {name: one.service for name, one in configurations_of(job).items()}
            for plan in sorted(job.plans or (), key=lambda plan: service[plan.name]):
                if job.plan is not None and service[plan.name] < service[job.plan]:
                    yield _with_job(round_, at, asking(job, plan))
            continue
        for gpus in range(1, job.gpus):
            yield _with_job(round_, at, msgspec.structs.replace(job, gpus=gpus))


def _fewer_fields(round_: Round) -> Candidates:
    """Leave out a field of all jobs at once, then of single ones; a field of nodes; tenants; the time of day."""
    for name in _OPTIONAL:
        if any(getattr(job, name) is not None for job in round_.jobs):
            yield _with_jobs(round_, partial(_without, name=name))
    for name in _NODE_OPTIONAL:
        if any(getattr(node, name) is not None for node in round_.cluster.nodes):
            nodes = tuple(msgspec.structs.replace(node, **{name: None}) for node in round_.cluster.nodes)
            cluster = msgspec.structs.replace(round_.cluster, nodes=nodes)
            yield msgspec.structs.replace(round_, cluster=cluster)
    if any(job.state == "running" for job in round_.jobs):
        yield _with_jobs(round_, waiting)
    used = {job.tenant for job in round_.jobs}
    tenants = tuple(tenant for tenant in round_.cluster.tenants if tenant.id in used)
    if tenants != round_.cluster.tenants:
        yield msgspec.structs.replace(round_, cluster=msgspec.structs.replace(round_.cluster, tenants=tenants))
    if round_.now:
        yield msgspec.structs.replace(round_, now=0.0)
    for at, job in enumerate(round_.jobs):
        for name in _OF_SINGLE_JOBS:
            if getattr(job, name) is not None:
                yield _with_job(round_, at, _without(job, name))
        if job.state == "running":
            yield _with_job(round_, at, waiting(job))


def _earlier(round_: Round) -> Candidates:
    """Let jobs be submitted at 0, 1, 2 and so on."""
    times = sorted({job.submitted for job in round_.jobs if job.submitted is not None})
    turn = {time: float(place) for place, time in enumerate(times)}
    if any(place < time for time, place in turn.items()):
        yield _with_jobs(round_, partial(_submitted, turn=turn))


def _submitted(job: Job, turn: Mapping[float, float]) -> Job:
    return job if job.submitted is None else msgspec.structs.replace(job, submitted=turn[job.submitted])


def _shorter_tables(round_: Round) -> Candidates:
    """Leave out CPUs or memory of all plans, the largest GPU counts of a curve, or a plan."""
    for name in ("cpus", "memory_gib"):
        if any(getattr(plan, name) is not None for job in round_.jobs for plan in job.plans or ()):
            yield _with_jobs(round_, partial(_plans_without, name=name))
    for at, job in enumerate(round_.jobs):
        curve = dict(job.scaling or {})
        for gpus in reversed(curve):
            if len(curve) > 1:
                left = {k: rate for k, rate in curve.items() if k != gpus}
                yield _with_job(round_, at, msgspec.structs.replace(job, scaling=left))
        for plan in job.plans or ():
            left_plans = tuple(one for one in job.plans or () if one != plan)
            if left_plans and plan.name != job.plan:
                yield _with_job(round_, at, msgspec.structs.replace(job, plans=left_plans))


def _shorter_jobs(round_: Round) -> Candidates:
    """Leave a nought off the remaining iterations of all jobs."""
    lengths = [job.remaining_iterations for job in round_.jobs]
    if all(length is not None and length % 10 == 0 for length in lengths) and any(lengths):
        yield _with_jobs(
            round_,
            lambda job: msgspec.structs.replace(job, remaining_iterations=(job.remaining_iterations or 0) // 10),
        )


def _simpler_numbers(round_: Round) -> Candidates:
    for at, job in enumerate(round_.jobs):
        for changed in _simpler_jobs(job):
            yield _with_job(round_, at, changed)


def _simpler_jobs(job: Job) -> Iterator[Job]:
    for name, least in NUMBERS.items():
        value = getattr(job, name)
        for number in simpler(value, least) if value is not None else ():
            yield msgspec.structs.replace(job, **{name: kept(name, number)})
    for place, time in enumerate(job.stage_seconds or ()):
        for number in simpler(time):
            yield msgspec.structs.replace(job, stage_seconds=_at(job.stage_seconds or (), place, number))
    for gpus, rate in (job.scaling or {}).items():
        for number in simpler(rate, 0.001):
            yield msgspec.structs.replace(job, scaling={**(job.scaling or {}), gpus: number})
    plans = job.plans or ()
    for place, plan in enumerate(plans):
        for number in simpler(plan.throughput, 0.001):
            simple = msgspec.structs.replace(plan, throughput=number)
            yield msgspec.structs.replace(job, plans=_at(plans, place, simple))
    if job.guarantee is not None:
        for number in simpler(job.guarantee.throughput, 0.001):
            yield msgspec.structs.replace(job, guarantee=msgspec.structs.replace(job.guarantee, throughput=number))


def _at(items: tuple[Any, ...], place: int, item: Any) -> tuple[Any, ...]:
    return (*items[:place], item, *items[place + 1 :])


def _without(job: Job, name: str) -> Job:
    return msgspec.structs.replace(job, **{name: None, **({"plan": None} if name == "plans" else {})})


def _plans_without(job: Job, name: str) -> Job:
    plans = None if job.plans is None else tuple(msgspec.structs.replace(plan, **{name: None}) for plan in job.plans)
    return msgspec.structs.replace(job, plans=plans)


def _with_job(round_: Round, at: int, job: Job) -> Round:
    return put_together(round_.cluster, _at(round_.jobs, at, job), like=round_)


def _with_jobs(round_: Round, change: Callable[[Job], Job]) -> Round:
    return put_together(round_.cluster, [change(job) for job in round_.jobs], like=round_)


_STEPS: Final[tuple[Callable[[Round], Candidates], ...]] = (
    _fewer_jobs,
    _fewer_nodes,
    _smaller_nodes,
    _smaller_jobs,
    _fewer_fields,
    _earlier,
    _shorter_tables,
    _simpler_numbers,
    _shorter_jobs,
)
