"""Workloads that Muri can share GPUs in, made of plain ones: each job is given the stage times of a measured model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from muri_opt.errors import InputError
from muri_opt.replay.traces.csv_columns import Layout, name_cell, rows
from muri_opt.replay.workload import Workload
from muri_opt.replay.workloads.muri_trace import RESOURCES, muri_workload
from muri_opt.replay.workloads.rows import read_as
from muri_opt.replay.workloads.skipped_rows import kept
from muri_opt.rounds import Job
from muri_opt.rounds.error_text import shown
from muri_opt.rounds.quantities import microseconds

NAMES: Final = Layout(needed=("job_id", "model_name"), optional=("batch_size",))
"""What tells models apart in a trace of the Muri authors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was measured of a model on one number of GPUs.

    ``iteration_seconds`` is an iteration alone, which is not the sum of its stages: some overlap, and some time is in
    none of them.
    """

    iteration_seconds: float
    stage_seconds: tuple[float, ...]
    restart_seconds: float | None


Model = Mapping[int, Measured]
"""A model by GPUs: on more of them it has other stage times, most of all on the network."""


def with_stages(workload: Workload, models: Mapping[str, Model]) -> Workload:
    """Return the workload with stage times, iteration times and restarts of measured models; GPUs and time alone stay.

    The k-th job has model k modulo the number of models measured on its GPUs, in the order of ``models``; where none
    was, those of the next smaller number of GPUs on which one was. Jobs with fewer GPUs than any model was measured on
    are left out before they are numbered, and counted. An iteration is one of the model, and there are as many as come
    nearest to the time the job had, at least 1. Jobs with plans are refused: the throughput of a plan counts iterations
    of another length.
    """
    if not models:
        raise InputError("models", "no model", "the stage times of one model or more")
    pools: dict[int, list[Measured]] = {}
    for model in models.values():
        for gpus, measured in model.items():
            pools.setdefault(gpus, []).append(measured)
    jobs: list[Job] = []
    for position, job in enumerate(workload.jobs):
        if job.plans is not None:
            where = f"jobs[{position}] ({job.id!r}).plans"
            raise InputError(where, "plans", "none: their throughput counts other iterations than stage times do")
        nearest = max((gpus for gpus in pools if gpus <= job.gpus), default=None)
        if nearest is not None:
            pool = pools[nearest]
            jobs.append(_staged(job, pool[len(jobs) % len(pool)]))
    return replace(kept(workload, jobs, "no-stages"), resources=RESOURCES)


def _staged(job: Job, model: Measured) -> Job:
    work = (job.remaining_iterations or 0) * microseconds(job.iteration_seconds or 0.0)
    one = microseconds(model.iteration_seconds)
    return msgspec.structs.replace(
        job,
        remaining_iterations=max(1, (2 * work + one) // (2 * one)),
        iteration_seconds=model.iteration_seconds,
        stage_seconds=model.stage_seconds,
        restart_seconds=model.restart_seconds,
    )


def read_models(path: str | os.PathLike[str]) -> dict[str, dict[int, Measured]]:
    """Return the models in a trace file of the Muri authors by GPUs, in the order in which they appear."""
    return read_as(path, "stage times", parsed_models)


def parsed_models(text: str) -> dict[str, dict[int, Measured]]:
    """Return the models in the text of such a file; one with another batch size is another model."""
    jobs = {job.id: job for job in muri_workload(text, "models").jobs}
    models: dict[str, dict[int, Measured]] = {}
    for line, (job_id, name, batch) in rows(text, NAMES):
        job = jobs[job_id]
        found = Measured(
            iteration_seconds=job.iteration_seconds or 0.0,
            stage_seconds=job.stage_seconds or (),
            restart_seconds=job.restart_seconds,
        )
        name = name_cell(line, "model_name", name)
        model = models.setdefault(f"{name} ({batch})" if batch else name, {})
        if model.setdefault(job.gpus, found) != found:
            said = f"other times of {shown(name)} on {job.gpus} GPUs than in a line before"
            raise InputError(f"line {line}", said, "the same times of a model, batch size and number of GPUs")
    if not models:
        raise InputError("line 2", "no job", "one job or more, to take stage times from")
    return models
