"""Helios' ``cluster_log.csv``: one row per job of a Slurm cluster, with its queue and run times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from muri_opt.replay.traces.attempts import left_out, run_time
from muri_opt.replay.traces.csv_columns import Layout, optional_cell, seconds_cell, whole_cell
from muri_opt.replay.traces.csv_tables import table_jobs
from muri_opt.replay.traces.jobs import Attempt, Status, TraceJob
from muri_opt.replay.traces.skipped_rows import ReadReport, Tally
from muri_opt.replay.traces.timestamps import clock_seconds, is_nothing
from muri_opt.rounds.quantities import MAX_CPUS, MAX_SECONDS

LAYOUT: Final = Layout(
    needed=("job_id", "gpu_num", "state", "submit_time", "start_time", "end_time"),
    optional=("user", "vc", "cpu_num", "duration"),
)
_STATUS: Final[Mapping[str, Status]] = {
    "COMPLETED": "passed",
    "CANCELLED": "killed",
    "FAILED": "failed",
    "TIMEOUT": "failed",  # as the authors count them
    "NODE_FAIL": "failed",
}


def helios_jobs(text: str) -> tuple[list[TraceJob], ReadReport]:
    """Return the jobs on GPUs in the order of the file."""
    return table_jobs(text, LAYOUT, _job)


def _job(line: int, cells: list[str], tally: Tally) -> TraceJob | None:
    name, gpu_num, state, submit_time, start_time, end_time, user, vc, cpu_num, told = cells
    gpus = whole_cell(line, "gpu_num", gpu_num)
    submitted = clock_seconds(f"line {line}.submit_time", submit_time)
    start = clock_seconds(f"line {line}.start_time", start_time)
    end = clock_seconds(f"line {line}.end_time", end_time)
    cpus = optional_cell(line, "cpu_num", cpu_num, MAX_CPUS)
    duration = seconds_cell(line, "duration", told, MAX_SECONDS)
    attempts = () if start is None else (Attempt(start=start, end=end),)
    place = f"line {line} ({name})"
    reason = left_out(submitted, attempts) if gpus else "no-gpu"
    if reason or submitted is None:
        tally.add(reason, place)
        return None
    if state not in _STATUS:
        tally.add("unknown-status", place)
    took = run_time(attempts)
    if took is not None and duration is not None and took != duration:
        tally.add("other-duration", place)
    return TraceJob(
        id=name,
        submitted=submitted,
        gpus=gpus,
        tenant=None if is_nothing(vc) else vc,
        user=None if is_nothing(user) else user,
        cpus=cpus,
        status="running" if end is None else _STATUS.get(state, "unknown"),
        attempts=attempts,
        duration=took,
    )
