"""The flattened Philly trace: one CSV row per job with submission, duration, GPUs and virtual cluster."""

from __future__ import annotations

import math
from typing import Final

from muri_opt.replay.traces.csv_columns import Layout, rows, seconds_cell, unused_columns, whole_cell
from muri_opt.replay.traces.jobs import TraceJob
from muri_opt.replay.traces.skipped_rows import ReadReport, Tally
from muri_opt.replay.traces.timestamps import clock_seconds, is_nothing
from muri_opt.rounds.quantities import MAX_GPU_SECONDS, MAX_SECONDS

LAYOUT: Final = Layout(needed=("timestamp", "duration", "num_gpus"), optional=("gpu_time", "cluster"))
_SAME: Final = 1e-6


def flat_jobs(text: str) -> tuple[list[TraceJob], ReadReport]:
    """Return the jobs in the order of the file; rows have no ids, so a job is named by its line."""
    tally, seen, jobs = Tally(), set[tuple[str, ...]](), []
    for line, cells in rows(text, LAYOUT):
        job = _job(line, cells, tally)
        if job is None:
            continue
        row = tuple(cells)
        if row in seen:
            tally.add("same-row", f"line {line}")
        seen.add(row)
        jobs.append(job)
    return jobs, tally.report(len(jobs), unused_columns(text, LAYOUT))


def _job(line: int, cells: list[str], tally: Tally) -> TraceJob | None:
    timestamp, seconds, num_gpus, gpu_time, cluster = cells
    submitted = clock_seconds(f"line {line}.timestamp", timestamp)
    duration = seconds_cell(line, "duration", seconds, MAX_SECONDS)
    gpus = whole_cell(line, "num_gpus", num_gpus)
    told = seconds_cell(line, "gpu_time", gpu_time, MAX_GPU_SECONDS)
    if submitted is None:
        tally.add("no-submission-time", f"line {line}")
    elif duration is None:
        tally.add("no-duration", f"line {line}")
    elif duration < 0:
        tally.add("end-before-start", f"line {line}")
    elif gpus == 0:
        tally.add("no-gpu", f"line {line}")
    else:
        if told is not None and not math.isclose(told, duration * gpus, rel_tol=_SAME):
            tally.add("other-gpu-time", f"line {line}")
        tenant = None if is_nothing(cluster) else cluster
        return TraceJob(id=f"line-{line}", submitted=submitted, gpus=gpus, tenant=tenant, duration=duration)
    return None
