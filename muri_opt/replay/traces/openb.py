"""Alibaba's openb trace: one CSV row per pod; its clock counts seconds from a beginning of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from muri_opt.replay.traces.attempts import left_out, run_time
from muri_opt.replay.traces.csv_columns import Layout, optional_cell, seconds_cell, whole_cell
from muri_opt.replay.traces.csv_tables import table_jobs
from muri_opt.replay.traces.jobs import Attempt, Status, TraceJob
from muri_opt.replay.traces.skipped_rows import ReadReport, Tally
from muri_opt.replay.traces.timestamps import is_nothing
from muri_opt.rounds.quantities import MAX_CPUS, MAX_MEMORY_GIB, MAX_SECONDS, MIB_PER_GIB, MILLI_PER_CPU

LAYOUT: Final = Layout(
    needed=("name", "num_gpu", "gpu_milli", "pod_phase", "creation_time", "deletion_time", "scheduled_time"),
    optional=("cpu_milli", "memory_mib", "gpu_spec"),
)
MILLI_PER_GPU: Final = 1000
_STATUS: Final[Mapping[str, Status]] = {
    "Succeeded": "passed",
    "Failed": "failed",
    "Running": "unknown",  # the phase when the pod was deleted: nothing says why it was
    "Pending": "unknown",
}


def openb_jobs(text: str) -> tuple[list[TraceJob], ReadReport]:
    """Return the pods that ask for whole GPUs and were scheduled, in the order of the file."""
    return table_jobs(text, LAYOUT, _job)


def _job(line: int, cells: list[str], tally: Tally) -> TraceJob | None:
    name, num_gpu, gpu_milli, phase, creation, deletion, scheduled, cpu_milli, memory_mib, gpu_spec = cells
    gpus = whole_cell(line, "num_gpu", num_gpu)
    milli = whole_cell(line, "gpu_milli", gpu_milli, MILLI_PER_GPU) if gpus else 0
    submitted = optional_cell(line, "creation_time", creation, MAX_SECONDS)
    start = seconds_cell(line, "scheduled_time", scheduled, MAX_SECONDS)
    end = seconds_cell(line, "deletion_time", deletion, MAX_SECONDS)
    cpus = optional_cell(line, "cpu_milli", cpu_milli, MAX_CPUS * MILLI_PER_CPU)
    memory = optional_cell(line, "memory_mib", memory_mib, MAX_MEMORY_GIB * MIB_PER_GIB)
    attempts = () if start is None else (Attempt(start=start, end=end),)
    place = f"line {line} ({name})"
    if gpus == 0:
        reason = "no-gpu"
    elif milli < MILLI_PER_GPU:
        reason = "shared-gpu"
    else:
        reason = left_out(submitted, attempts)
    if reason or submitted is None:
        tally.add(reason, place)
        return None
    if not is_nothing(gpu_spec):
        tally.add("gpu-type", f"{place} asks for {gpu_spec}")
    if phase not in _STATUS:
        tally.add("unknown-status", place)
    return TraceJob(
        id=name,
        submitted=submitted,
        gpus=gpus,
        cpus=None if cpus is None else cpus / MILLI_PER_CPU,
        memory_gib=None if memory is None else memory / MIB_PER_GIB,
        status="running" if end is None else _STATUS.get(phase, "unknown"),
        attempts=attempts,
        duration=run_time(attempts),
    )
