"""Elastic workloads made of plain ones: each job is given a measured model, as in the simulator of the AFS authors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

import msgspec

from muri_opt.errors import InputError
from muri_opt.replay.traces.csv_columns import Layout, name_cell, rows
from muri_opt.replay.workload import Workload
from muri_opt.replay.workloads.rows import count_cell, read_as, time_cell
from muri_opt.replay.workloads.skipped_rows import kept
from muri_opt.rounds import Job
from muri_opt.rounds.error_text import shown
from muri_opt.rounds.quantities import MAX_SECONDS

Scaling = Mapping[int, float]
"""Throughput by GPUs."""
LAYOUT: Final = Layout(needed=("model", "gpus", "iteration_seconds"))


def with_scaling(workload: Workload, curves: Mapping[str, Scaling]) -> Workload:
    """Return the workload with a scaling table for every job; its work and its time on the GPUs it asks for stay.

    The k-th job has model k modulo the number of models whose table reaches its GPUs, in the order of ``curves``. Jobs
    that no model can serve are left out before they are numbered, and counted.
    """
    if not curves:
        raise InputError("curves", "no model", "the scaling tables of one model or more")
    pools: dict[int, list[Scaling]] = {}
    jobs: list[Job] = []
    for job in workload.jobs:
        if job.gpus not in pools:
            pools[job.gpus] = [table for table in curves.values() if max(table, default=0) >= job.gpus]
        pool = pools[job.gpus]
        if pool:
            jobs.append(msgspec.structs.replace(job, scaling=pool[len(jobs) % len(pool)]))
    return kept(workload, jobs, "no-model")


def read_curves(path: str | os.PathLike[str]) -> dict[str, dict[int, float]]:
    """Return the throughput of every model by GPUs, in the order of a file with a row per model and GPU count.

    Columns are model, gpus and iteration_seconds; others are not read.
    """
    return read_as(path, "scaling tables", parsed_curves)


def parsed_curves(text: str) -> dict[str, dict[int, float]]:
    """Return the tables in the text of such a file."""
    tables: dict[str, dict[int, float]] = {}
    for line, (model, gpus, iteration_seconds) in rows(text, LAYOUT):
        table = tables.setdefault(name_cell(line, "model", model), {})
        count = count_cell(line, "gpus", gpus)
        if count in table:
            raise InputError(f"line {line}.gpus", f"{count} of {shown(model)} a second time", "each GPU count once")
        table[count] = 1 / time_cell(line, "iteration_seconds", iteration_seconds, MAX_SECONDS)
    return tables
