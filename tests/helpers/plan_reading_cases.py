"""Rounds with plans that are drawn, and what becomes of them if one job is not as it was."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from running_states import settled

from muri_opt import Guarantee, Job, Round
from muri_opt.rounds.generate.families import generate

CHANGES = (
    {},
    {"remaining_iterations": 77},
    {"remaining_iterations": None},
    {"predictable": False},
    {"restart_seconds": 40.0},
    {"restarts": 3},
    {"executed_seconds": 9000.0},
    {"waiting_seconds": 9000.0},
    {"attained_gpu_seconds": 9000.0},
    {"gpus": 2},
    {"cpus": 7.0},
    {"memory_gib": 21.0},
    {"state": "waiting", "placement": None},
)


def drawn_rounds(family: str) -> Iterator[Round]:
    """Yield rounds, and each with one job that is not as it was; a waiting one and one that runs."""
    for seed in range(4):
        drawn = generate(family, jobs=25, nodes=4, seed=seed)
        named = (msgspec.structs.replace(job, plan=job.plan or (job.plans or ())[0].name) for job in drawn.jobs)
        yield msgspec.structs.replace(drawn, jobs=tuple(named))
    for _, second, _ in _pairs(family):
        yield second


def _pairs(family: str) -> Iterator[tuple[Round, Round, int]]:
    """Yield two rounds that differ in one job, and which; a waiting one and one that runs."""
    drawn = generate(family, jobs=12, nodes=3, seed=5)
    named = (msgspec.structs.replace(job, plan=job.plan or (job.plans or ())[0].name) for job in drawn.jobs)
    first = msgspec.structs.replace(drawn, jobs=tuple(named))
    runs = next(j for j, job in enumerate(first.jobs) if job.state == "running")
    waits = next(j for j, job in enumerate(first.jobs) if job.state == "waiting" and job.predictable is not False)
    for change in CHANGES:
        for place in (runs, waits):
            yield first, _changed(first, place, **change), place
    for place in (runs, waits):
        job = first.jobs[place]
        faster = tuple(msgspec.structs.replace(plan, throughput=2 * plan.throughput) for plan in job.plans or ())
        other = next((plan.name for plan in job.plans or () if plan.name != job.plan), job.plan)
        yield first, _changed(first, place, plans=faster), place
        yield first, _changed(first, place, plan=other), place
        promised = max(plan.throughput for plan in job.plans or ())
        yield first, _changed(first, place, guarantee=Guarantee(throughput=promised)), place


def _changed(round_: Round, place: int, **fields: object) -> Round:
    jobs: list[Job] = list(round_.jobs)
    jobs[place] = msgspec.structs.replace(jobs[place], **fields)
    return msgspec.structs.replace(round_, now=round_.now + 60.0, jobs=settled(round_.cluster, jobs))
