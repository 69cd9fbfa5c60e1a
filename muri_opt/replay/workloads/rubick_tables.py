"""Execution plans from the iteration times that Rubick's authors measured, one table per application.

A row has a plan's name, a placement of one digit per node, its GPUs, and the seconds of an iteration.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from muri_opt.errors import InputError
from muri_opt.replay.traces.csv_columns import Layout, name_cell, rows
from muri_opt.replay.workloads.rows import read_as, time_cell
from muri_opt.rounds import Plan
from muri_opt.rounds.error_text import shown
from muri_opt.rounds.quantities import MAX_SECONDS

BATCH: Final[Mapping[str, int]] = {
    "vit": 64,
    "roberta": 64,
    "bert": 32,
    "t5": 16,
    "gpt2": 16,
    "llama7": 8,
    "llama30": 4,
}
"""Samples of an iteration by application, from the authors' code, as all numbers below."""
LAYOUT: Final = Layout(needed=("exec_plan", "placement", "iter_time"))

_CPUS: Final[Mapping[str, int]] = {"zero-offload": 8}
_GIB: Final[Mapping[str, float]] = {"": 1.2, "zero-dp": 1.5, "zero-offload": 5.1}
_GIB_OF: Final[Mapping[str, Mapping[str, float]]] = {
    "vit": {"": 2.0, "gc": 1.9, "zero-offload": 3.0},
    "t5": {"": 1.5, "zero-dp": 8.1},
}


def read_plans(directory: str | os.PathLike[str]) -> tuple[dict[str, list[Plan]], dict[str, int]]:
    """Return the measured plans of each application, and how many rows have no equal GPUs on each node.

    Throughput is in samples a second. CPUs are one per GPU, eight where the optimiser runs on them.
    """
    plans: dict[str, list[Plan]] = {}
    odd: dict[str, int] = {}
    for application in BATCH:
        path = Path(directory) / f"placements_{application}.csv"
        measured = read_as(path, "measured iteration times", partial(_measured, application))
        plans[application] = [plan for plan in measured if plan is not None]
        odd[application] = measured.count(None)
    return plans, odd


def worthwhile(plans: Sequence[Plan], own: str) -> tuple[Plan, ...]:
    """Return the plans without those that another on the same placement beats with no more CPUs and memory.

    Those of the job's own name stay.
    """

    def beaten(plan: Plan) -> bool:
        return any(
            (other.gpus, other.nodes) == (plan.gpus, plan.nodes)
            and other.throughput > plan.throughput
            and (other.cpus or 0) <= (plan.cpus or 0)
            and (other.memory_gib or 0) <= (plan.memory_gib or 0)
            for other in plans
        )

    return tuple(plan for plan in plans if plan.name == own or not beaten(plan))


def _measured(application: str, text: str) -> list[Plan | None]:
    """Return the plans of the rows, nothing for a row whose nodes have not equally many GPUs."""
    gib = _GIB_OF.get(application, _GIB)
    plans: list[Plan | None] = []
    for line, (plan, placement, iter_time) in rows(text, LAYOUT):
        name = name_cell(line, "exec_plan", plan)
        seconds = time_cell(line, "iter_time", iter_time, MAX_SECONDS)
        if not (placement.isascii() and placement.isdecimal() and "0" not in placement):
            found = shown(placement) if placement else "nothing"
            raise InputError(f"line {line}.placement", found, "a digit from 1 to 9 per node")
        if len(set(placement)) > 1:
            plans.append(None)
            continue
        gpus = len(placement) * int(placement[0])
        plans.append(
            Plan(
                name=name,
                gpus=gpus,
                nodes=len(placement),
                cpus=gpus * _CPUS.get(name, 1),
                memory_gib=gpus * gib.get(name, gib[""]),
                throughput=BATCH[application] / seconds,
            )
        )
    return plans
