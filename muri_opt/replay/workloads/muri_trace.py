"""The traces of the Muri authors: one CSV row per job, with the times of its stages in milliseconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from muri_opt.replay.clocks.muri_task import UNKNOWN_TOLL
from muri_opt.replay.traces.csv_columns import Layout, number_cell, rows
from muri_opt.replay.workload import Workload
from muri_opt.replay.workloads.rows import count_cell, id_cell, time_cell
from muri_opt.replay.workloads.skipped_rows import ordered
from muri_opt.rounds import Job
from muri_opt.rounds.quantities import MAX_ITERATIONS, MAX_SECONDS, MILLISECONDS_PER_SECOND

RESOURCES: Final = ("data", "gpu", "network")
"""Storage and CPU are one stage in the authors' measurements."""
LAYOUT: Final = Layout(
    needed=(
        "job_id",
        "num_gpu",
        "submit_time",
        "iterations",
        "model_name",
        "iteration_time",
        "resource_time_0",
        "resource_time_1",
        "resource_time_2",
    )
)
RESTART_SECONDS: Final[Mapping[str, Mapping[int, float]]] = {
    "vgg16": {1: 7, 2: 7, 4: 8, 8: 9, 16: 9, 32: 10},
    "vgg19": {1: 7, 2: 7, 4: 8, 8: 9, 16: 10, 32: 10},
    "resnet18": {1: 4, 2: 5, 4: 5, 8: 7, 16: 7, 32: 7},
    "shufflenet_v2_x1_0": {1: 4, 2: 4, 4: 5, 8: 5, 16: 7, 32: 8},
    "a2c": {1: 38, 2: 39, 4: 39, 8: 46, 16: 46, 32: 46},
    "dqn": {1: 5, 2: 5, 4: 6, 8: 6, 16: 8, 32: 8},
}
"""What a restart takes by model and GPUs, from the simulator of the Muri authors; of all others as of bert, 10 s."""

_MOST: Final = MAX_SECONDS * MILLISECONDS_PER_SECOND


def muri_workload(text: str, name: str) -> Workload:
    """Return the workload in the text of a trace file of the Muri authors; other columns are not read."""
    seen: dict[str, int] = {}
    return ordered(name, [_job(line, cells, seen) for line, cells in rows(text, LAYOUT)], resources=RESOURCES)


def _job(line: int, cells: list[str], seen: dict[str, int]) -> Job:
    job_id, num_gpu, submit_time, iterations, model, iteration_time, *stages = cells
    gpus = count_cell(line, "num_gpu", num_gpu)
    return Job(
        id=id_cell(line, "job_id", job_id, seen),
        gpus=gpus,
        submitted=number_cell(line, "submit_time", submit_time, _MOST) / MILLISECONDS_PER_SECOND,
        remaining_iterations=count_cell(line, "iterations", iterations, MAX_ITERATIONS),
        iteration_seconds=time_cell(line, "iteration_time", iteration_time, _MOST) / MILLISECONDS_PER_SECOND,
        stage_seconds=tuple(
            number_cell(line, f"resource_time_{stage}", cell, _MOST) / MILLISECONDS_PER_SECOND
            for stage, cell in enumerate(stages)
        ),
        restart_seconds=RESTART_SECONDS.get(model, {}).get(gpus, UNKNOWN_TOLL),
    )
