"""The workloads of Rubick's authors: one CSV row per job, its plans from the tables of measured iteration times."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from muri_opt.errors import InputError
from muri_opt.replay.traces.csv_columns import Layout, name_cell, number_cell, rows, whole_cell
from muri_opt.replay.workload import Workload
from muri_opt.replay.workloads.rows import count_cell, id_cell, read_as, time_cell
from muri_opt.replay.workloads.rubick_tables import BATCH, worthwhile
from muri_opt.replay.workloads.skipped_rows import ordered
from muri_opt.rounds import Guarantee, Job, Plan
from muri_opt.rounds.error_text import listed, shown
from muri_opt.rounds.quantities import MAX_ITERATIONS, MAX_SECONDS

LAYOUT: Final = Layout(
    needed=("name", "submission_time", "duration", "application", "num_gpus", "exec_plan", "steps", "is_sla")
)
RESTART_SECONDS: Final = 78.0
"""What a change of plan or placement takes on average, as the paper reports it."""
_MOST_STEPS: Final = MAX_ITERATIONS // max(BATCH.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class RubickRow:
    """One row: ``duration`` seconds by the requested ``plan`` on ``gpus`` GPUs, which are ``steps`` iterations."""

    line: int
    name: str
    submitted: float
    duration: float
    application: str
    gpus: int
    plan: str
    steps: int
    guaranteed: bool


def rubick_workload(text: str, name: str, plans: Mapping[str, Sequence[Plan]]) -> Workload:
    """Return the workload in the text of a file of Rubick's authors, by the measured plans of each application.

    Work is counted in samples, as the throughput of the plans is. A job that was promised its service is guaranteed the
    throughput of what it asks for.
    """
    jobs = [_job(row, plans[row.application]) for row in rubick_rows(text)]
    return ordered(name, jobs)


def read_rubick_rows(path: str | os.PathLike[str]) -> list[RubickRow]:
    """Return the rows of such a file, in its order."""
    return read_as(path, "a workload", rubick_rows)


def rubick_rows(text: str) -> list[RubickRow]:
    """Return the rows in the text of such a file, in its order."""
    seen: dict[str, int] = {}
    return [_row(line, cells, seen) for line, cells in rows(text, LAYOUT)]


def _row(line: int, cells: list[str], seen: dict[str, int]) -> RubickRow:
    name, submission_time, duration, application, num_gpus, plan, steps, is_sla = cells
    if application not in BATCH:
        raise InputError(f"line {line}.application", shown(application), "one of " + ", ".join(BATCH))
    return RubickRow(
        line=line,
        name=id_cell(line, "name", name, seen),
        submitted=number_cell(line, "submission_time", submission_time, MAX_SECONDS),
        duration=time_cell(line, "duration", duration, MAX_SECONDS),
        application=application,
        gpus=count_cell(line, "num_gpus", num_gpus),
        plan=name_cell(line, "exec_plan", plan),
        steps=count_cell(line, "steps", steps, _MOST_STEPS),
        guaranteed=whole_cell(line, "is_sla", is_sla, 1) == 1,
    )


def _job(row: RubickRow, plans: Sequence[Plan]) -> Job:
    asked = requested(row, plans)
    return Job(
        id=row.name,
        submitted=row.submitted,
        gpus=row.gpus,
        remaining_iterations=row.steps * BATCH[row.application],
        iteration_seconds=1 / asked.throughput,
        plans=worthwhile(plans, row.plan),
        plan=row.plan,
        guarantee=Guarantee(throughput=asked.throughput) if row.guaranteed else None,
        restart_seconds=RESTART_SECONDS,
    )


def requested(row: RubickRow, plans: Sequence[Plan]) -> Plan:
    """Return the plan a job asks for, on as few nodes as it was measured on."""
    named = [plan for plan in plans if plan.name == row.plan]
    fitting = [plan for plan in named if plan.gpus == row.gpus]
    if not fitting:
        sizes = listed(f"{plan.name} on {plan.gpus}" for plan in named or plans)
        found = f"{shown(row.plan)} on {row.gpus} GPUs, which was not measured"
        raise InputError(f"line {row.line}.exec_plan", found, f"a measured plan: {sizes}")
    return min(fitting, key=lambda plan: plan.nodes)
