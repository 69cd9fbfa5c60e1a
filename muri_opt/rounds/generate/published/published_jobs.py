"""The jobs of rounds after public traces: each function draws so many, for a cluster of so many nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from muri_opt.rounds.generate.family_fields import NODE_GPUS, NOW, Fields
from muri_opt.rounds.generate.portable_random import Draws, Floats, Ints
from muri_opt.rounds.generate.published import job_mixes as mixes
from muri_opt.rounds.generate.published.model_tables import AFS_CURVES, MURI_STAGES, RUBICK_TIMES
from muri_opt.rounds.job import Guarantee, Plan

_WAITED: mixes.Quantiles = ((0.0, 0.0), (0.3, 150.0), (0.6, 600.0), (0.8, 1800.0), (0.95, 7200.0), (1.0, 86_400.0))
_TICK = 0.001
_OFFLOAD_CPUS, _PLAIN_CPUS = 8, 1  # per GPU, as Rubick's authors demand them
_PHILLY_ITERATION = 1.0
_STEP_SECONDS = (0.5, 5.0)
_CORE_SLOWDOWN = (4.0, 20.0)


def gangs(draws: Draws, jobs: int, nodes: int) -> Fields:
    """Return gangs of the sizes of Tiresias, with times of the simulator of AFS."""
    gpus = _sizes(draws, jobs, mixes.TIRESIAS_SIZES, nodes)
    return _rows(draws, gpus, draws.spread(jobs, mixes.SIMULATED_SECONDS), np.full(jobs, _TICK))


def interleaving(draws: Draws, jobs: int, nodes: int) -> Fields:
    """Return jobs of Muri's sizes and times, each of one of its eight models, with stage times as measured."""
    gpus = np.minimum(_sizes(draws, jobs, mixes.MURI_SIZES, nodes), max(MURI_STAGES))
    models = list(MURI_STAGES[1])
    turn = draws.below(jobs, len(models)).tolist()
    measured = [MURI_STAGES[size][models[at]] for size, at in zip(gpus.tolist(), turn, strict=True)]
    iteration = np.array([alone / 1000 for alone, *_ in measured])
    rows = _rows(draws, gpus, draws.spread(jobs, mixes.MURI_SECONDS), iteration)
    for row, at, (_, *stages) in zip(rows, turn, measured, strict=True):
        row["stage_seconds"], row["model"] = tuple(time / 1000 for time in stages), models[at]
    return rows


def elastic(draws: Draws, jobs: int, nodes: int) -> Fields:
    """Return jobs as in the simulator of AFS, each with the measured speed-ups of one of nine models."""
    curves = list(AFS_CURVES.values())
    turn = draws.below(jobs, len(curves)).tolist()
    asked = _sizes(draws, jobs, mixes.SIMULATED_SIZES, nodes).tolist()
    gpus = np.array([min(size, max(curves[at])) for size, at in zip(asked, turn, strict=True)], dtype=np.int64)
    rows = _rows(draws, gpus, draws.spread(jobs, mixes.SIMULATED_SECONDS), np.full(jobs, _TICK))
    for row, at in zip(rows, turn, strict=True):
        row["scaling"] = dict(curves[at])
    return rows


def dated(draws: Draws, jobs: int, nodes: int) -> Fields:
    """Return elastic jobs with deadlines as ElasticFlow draws them."""
    rows = elastic(draws, jobs, nodes)
    factors = draws.uniform(jobs, *mixes.DEADLINE_FACTORS).tolist()
    for row, factor in zip(rows, factors, strict=True):
        left = row["remaining_iterations"] * row["iteration_seconds"]
        row["deadline"] = NOW + round(left * factor, 3)
    return rows


def joint(draws: Draws, jobs: int, _nodes: int) -> Fields:
    """Return jobs of Muri's models with stage times on one GPU, and speed-ups by the iteration times on more."""
    models = list(MURI_STAGES[1])
    turn = draws.below(jobs, len(models)).tolist()
    alone = np.array([MURI_STAGES[1][models[at]][0] / 1000 for at in turn])
    rows = _rows(draws, np.ones(jobs, dtype=np.int64), draws.spread(jobs, mixes.MURI_SECONDS), alone)
    curves = {model: dict(_speed_ups(model)) for model in models}
    for row, at in zip(rows, turn, strict=True):
        row["stage_seconds"] = tuple(time / 1000 for time in MURI_STAGES[1][models[at]][1:])
        row["scaling"], row["model"] = curves[models[at]], models[at]
    return rows


def plans(draws: Draws, jobs: int, nodes: int) -> Fields:
    """Return jobs of Rubick's models with the measured plans that the cluster can hold."""
    kinds = [(model, gpus) for model, gpus in mixes.RUBICK_ASKED if gpus <= nodes * NODE_GPUS]
    turn = draws.pick(jobs, range(len(kinds)), [mixes.RUBICK_ASKED[kind] for kind in kinds]).tolist()
    made = {model: tuple(_measured_plans(model, nodes)) for model in RUBICK_TIMES}
    asked = [_asked_plan(made[kinds[at][0]], kinds[at][1]) for at in turn]
    gpus = np.array([plan.gpus for plan in asked], dtype=np.int64)
    pace = np.array([round(1 / plan.throughput, 6) for plan in asked])
    rows = _rows(draws, gpus, draws.spread(jobs, mixes.RUBICK_SECONDS), pace)
    guaranteed = (draws.uniform(jobs) < mixes.RUBICK_GUARANTEED).tolist()
    for row, at, plan, promised in zip(rows, turn, asked, guaranteed, strict=True):
        row |= {"plans": made[kinds[at][0]], "plan": plan.name, "cpus": plan.cpus, "model": kinds[at][0]}
        if promised:
            row["guarantee"] = Guarantee(throughput=plan.throughput)
    return rows


def configurations(draws: Draws, jobs: int, _nodes: int) -> Fields:
    """Return jobs with the servers and workers of AITurbo's table, and one step of workers fewer or more.

    How fast a configuration is, no table says: a step computes for 0.5 to 5 s on a GPU and 4 to 20 times as long on a
    worker's five cores.
    """
    shapes = list(mixes.AITURBO_SHAPES)
    turn = draws.pick(jobs, range(len(shapes)), list(mixes.AITURBO_SHAPES.values())).tolist()
    known = (draws.uniform(jobs) < mixes.AITURBO_PREDICTABLE).tolist()
    times = {one: draws.spread(jobs, mixes.AITURBO_SECONDS[one]) for one in (True, False)}
    seconds = np.where(known, times[True], times[False])
    steps = draws.uniform(jobs, *_STEP_SECONDS).round(3).tolist()
    slower = draws.uniform(jobs, *_CORE_SLOWDOWN).round(3).tolist()
    asks = [shapes[int(at)] for at in turn]
    made = [tuple(_shape_plans(servers, workers, steps[j], slower[j])) for j, (servers, workers) in enumerate(asks)]
    asked = [own[0] for own in made]
    gpus = np.array([plan.gpus for plan in asked], dtype=np.int64)
    rows = _rows(draws, gpus, seconds, np.array([round(1 / plan.throughput, 6) for plan in asked]))
    for j, row in enumerate(rows):
        row |= {"plans": made[j], "plan": asked[j].name, "cpus": asked[j].cpus, "predictable": known[j]}
        if not known[j]:
            row["remaining_iterations"] = None
    return rows


def busy(draws: Draws, jobs: int, nodes: int) -> Fields:
    """Return gangs of the sizes, times and virtual clusters of Philly, as they run at one moment."""
    gpus = _sizes(draws, jobs, mixes.PHILLY_RUNNING, nodes)
    by_size = {size: draws.spread(jobs, points) for size, points in mixes.PHILLY_SECONDS.items()}
    seconds = np.array([by_size[_known_size(size)][j] for j, size in enumerate(gpus.tolist())])
    tenants = list(mixes.PHILLY_TENANTS)
    owner = draws.pick(jobs, range(len(tenants)), [time for time, _ in mixes.PHILLY_TENANTS.values()]).tolist()
    rows = _rows(draws, gpus, seconds, np.full(jobs, _PHILLY_ITERATION))
    for row, tenant in zip(rows, owner, strict=True):
        row["tenant"] = tenants[tenant]
    return rows


def _sizes(draws: Draws, jobs: int, sizes: Mapping[int, int], nodes: int) -> Ints:
    """Return the GPUs of jobs, drawn by the counts of ``sizes``, and at most those of the cluster."""
    return np.minimum(draws.pick(jobs, list(sizes), list(sizes.values())), nodes * NODE_GPUS)


def _known_size(gpus: int) -> int:
    return max(size for size in mixes.PHILLY_SECONDS if size <= gpus)


def _rows(draws: Draws, gpus: Ints, seconds: Floats, iteration: Floats) -> Fields:
    """Return the fields that all jobs have: none has run, each has waited, and has so many seconds of work."""
    jobs = len(gpus)
    waited = np.floor(draws.spread(jobs, _WAITED)).tolist()
    restart = draws.pick(jobs, (15, 30, 60), (30, 50, 20)).tolist()
    left = np.maximum(np.floor(seconds / iteration).astype(np.int64), 1).tolist()
    columns = zip(gpus.tolist(), waited, restart, left, iteration.tolist(), strict=True)
    return [_row(j, *values) for j, values in enumerate(columns)]


def _row(job: int, gpus: int, waited: float, restart: int, left: int, iteration: float) -> dict[str, Any]:
    return {
        "id": f"job-{job}",
        "gpus": gpus,
        "submitted": NOW - waited,
        "waiting_seconds": waited,
        "executed_seconds": 0.0,
        "attained_gpu_seconds": 0.0,
        "restarts": 0,
        "restart_seconds": float(restart),
        "remaining_iterations": left,
        "iteration_seconds": iteration,
    }


def _speed_ups(model: str) -> Iterator[tuple[int, float]]:
    """Yield numbers of GPUs with their speed-up over one: each does a batch in the measured time of an iteration."""
    alone = MURI_STAGES[1][model][0]
    for gpus in (1, 2, 4, 8):
        yield gpus, round(gpus * alone / MURI_STAGES[gpus][model][0], 4)


def _measured_plans(model: str, nodes: int) -> Iterator[Plan]:
    batch, times = RUBICK_TIMES[model]
    for (name, gpus, parts), seconds in times.items():
        if parts <= nodes:
            cpus = gpus * (_OFFLOAD_CPUS if name == "zero-offload" else _PLAIN_CPUS)
            throughput = round(batch / seconds, 3)
            yield Plan(name=f"{name}-{gpus}x{parts}", gpus=gpus, nodes=parts, cpus=cpus, throughput=throughput)


def _asked_plan(made: Sequence[Plan], gpus: int) -> Plan:
    """Return the plan for so many GPUs on the fewest nodes."""
    return min((plan for plan in made if plan.gpus == gpus), key=lambda plan: plan.nodes)


def _shape_plans(servers: int, workers: int, step: float, slower: float) -> Iterator[Plan]:
    """Yield the configurations of a job, the one it asks for first; of at most a node's GPUs."""
    for count in dict.fromkeys((workers, max(1, workers // 2), min(2 * workers, NODE_GPUS))):
        sending = 0.05 * count / servers + 0.02 * count
        on_gpus = round(1 / (step / count + 0.02 + sending), 6)
        on_cores = round(1 / (slower * (step / count + 0.02) + sending), 6)
        name = f"p{servers}-w{count}"
        yield Plan(name=f"gpu-{name}-s1", gpus=count, cpus=servers + count, throughput=on_gpus)
        yield Plan(name=f"cpu-{name}", gpus=0, cpus=servers + 5 * count, throughput=on_cores)
