"""Thirty generated workloads: which policy has the shortest mean completion time, how often, and by how much.

Six loads from 0.5 to 3 with five seeds each: 60 jobs of 1 to 8 GPUs on 4 nodes of 8 GPUs. A load of 1 asks for as many
GPU seconds as the cluster has until the last job is submitted. Jobs are of 12 models drawn with the workload, each with
stages, a curve and the plans that say the same as the curve; every policy is given what it decides by. Lengths are
log-normal with a median of half an hour (``--length``), a restart takes 30 s (``--restart``). All by the algorithms of
the policies, on real nodes, every decision verified.

A run is a line of a CSV file, written when it is done: the command can be stopped and given again. Figures are means of
logarithms over workloads, as ratios to ``joint-s`` on the same workload. The 95 % intervals, of Student's t, are over
seeds: the workloads of a seed have the same jobs at every load, and count as one.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, log, sqrt
from pathlib import Path
from statistics import mean, stdev

import numpy as np
from msgspec.structs import replace

from muri_opt import Cluster, Job, Node, Plan
from muri_opt.replay import Workload, replay
from muri_opt.replay.metrics.summary import summary

LOADS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
SEEDS = 5
JOBS = 60
NODES, EACH = 4, 8
MODELS = 12
MOST = 16
LENGTH = 1800.0
RESTART = 30.0
RESOURCES = ("storage", "gpu", "network")
BASE = "joint-s"
GANGS = ("fifo:preempt=yes", "srtf", "srsf", "tiresias")
GROUPS = ("muri-s", "muri-l", "muri-s:objective=completion")
CURVES = ("afs-l", "afs-p", "max-min-elastic", "optimus", "afs-l:objective=completion")
PLANS = ("rubick", "sia")
GUESSED = ("joint-l", "joint-l:group=1", "joint-l:restarts=pay,weights=rank", "joint-l:restarts=pay,weights=gittins")
JOINT = (BASE, "joint-s:weights=pow,power=0.35", "joint-s:group=1", "joint-s:restarts=pay", *GUESSED)
SLOWED = ("joint-s:slowdown=muri",)
"""Another world, in which jobs that share are slowed down as Muri's authors assume: not counted among the winners."""
FIELDS = {
    **dict.fromkeys(GANGS, ()),
    **dict.fromkeys(GROUPS, ("stage_seconds",)),
    **dict.fromkeys(CURVES, ("scaling",)),
    **dict.fromkeys(PLANS, ("plan", "plans")),
    **dict.fromkeys((*JOINT, *SLOWED), ("stage_seconds", "scaling")),
}
"""Which fields of a job each policy is given, beside its GPUs and its length."""
BLIND = ("fifo:preempt=yes", "tiresias", "muri-l", "afs-p", "max-min-elastic", "rubick", "sia", *GUESSED)
"""Policies that do not know how long jobs are."""
COLUMNS = ("load", "seed", "policy", "mean", "median", "p99", "makespan", "restarts", "rounds", "cpu_seconds")
T_975 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}
"""Student's t by degrees of freedom."""
MOST_SEEDS = 10


@dataclass(frozen=True, slots=True, order=True)
class Run:
    """One replay."""

    load: float
    seed: int
    policy: str


def all_runs(loads: Sequence[float], seeds: int, policies: Iterable[str]) -> list[Run]:
    """Return every replay, workload by workload, ``joint-s`` first."""
    line = sorted(policies, key=lambda policy: policy != BASE)
    return [Run(load, seed, policy) for seed in range(seeds) for load in loads for policy in line]


@lru_cache(maxsize=2)
def workload(load: float, seed: int, jobs: int = JOBS, median: float = LENGTH, restart: float = RESTART) -> Workload:
    """Return the jobs of a seed at a load; the jobs of a seed are the same at all loads, only closer to each other.

    Their lengths have such a ``median``, and are between a thirtieth and 96 times as long.
    """
    draw = np.random.default_rng([22, seed])
    models = [_model(draw) for _ in range(MODELS)]
    found = []
    for number in range(jobs):
        gpus = int(draw.choice((1, 2, 4, 8), p=(0.5, 0.2, 0.2, 0.1)))
        stages, seconds, power = models[int(draw.integers(MODELS))]
        length = float(np.clip(median * exp(1.3 * draw.standard_normal()), median / 30, 96 * median))
        curve = {count: round(float(count**power), 4) for count in (1, 2, 4, 8, MOST)}
        found.append(
            Job(
                id=f"job-{number}",
                gpus=gpus,
                iteration_seconds=seconds,
                remaining_iterations=max(1, round(length / seconds)),
                restart_seconds=restart,
                stage_seconds=stages,
                scaling=curve,
                plan=f"dp{gpus}",
                plans=_plans(curve, gpus, seconds),
            )
        )
    service = sum(job.gpus * (job.iteration_seconds or 0) * (job.remaining_iterations or 0) for job in found)
    span = service / (NODES * EACH * load)
    moments = np.sort(draw.uniform(0, span, jobs))
    timed = (replace(job, submitted=round(float(at), 3)) for job, at in zip(found, moments, strict=True))
    return Workload(name=f"joint-{load:g}-{seed}", jobs=tuple(timed), resources=RESOURCES)


def _model(draw: np.random.Generator) -> tuple[tuple[float, ...], float, float]:
    """Return stages of which one is long, the time of an iteration, and the power of GPUs by which speed grows."""
    longest = int(draw.integers(len(RESOURCES)))
    stages = tuple(
        round(float(draw.uniform(0.3, 0.9) if at == longest else draw.uniform(0.05, 0.4)), 3)
        for at in range(len(RESOURCES))
    )
    return stages, round(sum(stages) * float(draw.uniform(1.0, 1.2)), 3), float(draw.uniform(0.5, 0.95))


def _plans(curve: Mapping[int, float], gpus: int, seconds: float) -> tuple[Plan, ...]:
    """Return a plan for each number of GPUs of the curve, with its speed, on as few nodes as can be."""
    return tuple(
        Plan(
            name=f"dp{count}",
            gpus=count,
            nodes=max(1, count // EACH),
            throughput=curve[count] / curve[gpus] / seconds,
        )
        for count in curve
    )


def given(work: Workload, fields: Iterable[str]) -> Workload:
    """Return the workload with only these of the fields that say how jobs may run."""
    dropped = dict.fromkeys({"stage_seconds", "scaling", "plan", "plans"}.difference(fields))
    jobs = tuple(replace(job, **dropped) for job in work.jobs)
    return Workload(name=work.name, jobs=jobs, resources=work.resources)


def run_one(run: Run, jobs: int, length: float, restart: float) -> dict[str, str | int | float]:
    """Return the line of one replay of so many jobs of such a median length, with restarts of so many seconds."""
    cluster = Cluster(nodes=tuple(Node(id=f"n{number}", gpus=EACH) for number in range(NODES)))
    began = time.process_time()
    work = given(workload(run.load, run.seed, jobs, length, restart), FIELDS[run.policy])
    found = summary(replay(work, cluster, run.policy))
    figures = found.mean, found.p50, found.p99, found.makespan, found.restarts, found.rounds
    values = (run.load, run.seed, run.policy, *figures, round(time.process_time() - began, 3))
    return dict(zip(COLUMNS, values, strict=True))


def read(path: Path) -> dict[Run, dict[str, str]]:
    """Return the lines that are there; one that was being written when the command was stopped is left out."""
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if all(row.get(name) for name in COLUMNS)]
    return {Run(float(row["load"]), int(row["seed"]), row["policy"]): row for row in rows}


def run_all(runs: Sequence[Run], path: Path, jobs: int, length: float, restart: float) -> None:
    """Do the runs that the file does not have, each written when it is done."""
    there = read(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows({name: row[name] for name in COLUMNS} for row in there.values())
        for number, run in enumerate(runs):
            if run not in there:
                file.flush()
                writer.writerow(run_one(run, jobs, length, restart))
                print(f"{number + 1} of {len(runs)}: {run}", file=sys.stderr, flush=True)


def interval(logs: Sequence[float]) -> str:
    """Return the ratio that the mean of some logarithms says, with its 95 % interval."""
    middle = mean(logs)
    if len(logs) < 2:
        return f"{exp(middle):.2f}"
    half = T_975[len(logs) - 1] * stdev(logs) / sqrt(len(logs))
    return f"{exp(middle):.2f} ({exp(middle - half):.2f} to {exp(middle + half):.2f})"


def tables(rows: Mapping[Run, Mapping[str, str]], loads: Sequence[float]) -> list[str]:
    """Return the lines of a table: wins and ratios to ``joint-s``, over all workloads and load by load."""
    means = {run: float(row["mean"]) for run, row in rows.items()}
    works = sorted({(run.load, run.seed) for run in rows})
    wins = dict.fromkeys(FIELDS, 0)
    blind = dict.fromkeys(FIELDS, 0)
    for load, seed in works:
        for count, among in ((wins, [one for one in FIELDS if one not in SLOWED]), (blind, BLIND)):
            found = {one: means[Run(load, seed, one)] for one in among if Run(load, seed, one) in means}
            if found:
                count[min(found, key=found.__getitem__)] += 1
    lines = [
        f"{len(works)} workloads, mean completion times as ratios to `{BASE}` of the same workload, 95 % intervals",
        "",
        "| policy | wins | of those that know no lengths | all | "
        + " | ".join(f"load {load:g}" for load in loads)
        + " |",
        "| --- | ---: | ---: | ---: |" + " ---: |" * len(loads),
    ]
    for policy in FIELDS:
        logs = {
            (load, seed): log(means[Run(load, seed, policy)] / means[Run(load, seed, BASE)])
            for load, seed in works
            if {Run(load, seed, policy), Run(load, seed, BASE)} <= means.keys()
        }
        if logs:
            own = [[one for (at, _), one in logs.items() if at == load] for load in loads]
            cells = [f"{exp(mean(some)):.2f}" if some else "" for some in own]
            by_seed = [mean(one for (_, of), one in logs.items() if of == seed) for seed in {seed for _, seed in logs}]
            won = "" if policy in SLOWED else str(wins[policy])
            unknown = str(blind[policy]) if policy in BLIND else ""
            lines.append(f"| `{policy}` | {won} | {unknown} | {interval(by_seed)} | " + " | ".join(cells) + " |")
    return lines


def main(arguments: list[str] | None = None) -> None:
    """Do what is not done yet and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path, default=Path("joint-workloads.csv"), help="where the runs are kept")
    parser.add_argument(
        "--seeds", type=int, default=SEEDS, choices=range(1, MOST_SEEDS + 1), metavar="N", help="workloads of each load"
    )
    parser.add_argument("--loads", type=float, nargs="+", default=LOADS)
    parser.add_argument("--jobs", type=int, default=JOBS, help="of a workload")
    parser.add_argument(
        "--length", type=float, default=LENGTH, metavar="S", help="the median length; each has its file"
    )
    parser.add_argument("--restart", type=float, default=RESTART, metavar="S", help="what one takes; each has its file")
    parser.add_argument("--policies", nargs="+", default=list(FIELDS), choices=FIELDS, metavar="P")
    asked = parser.parse_args(arguments)
    runs = all_runs(asked.loads, asked.seeds, asked.policies)
    run_all(runs, asked.file, asked.jobs, asked.length, asked.restart)
    rows = read(asked.file)
    print("\n".join(tables({run: rows[run] for run in runs}, asked.loads)))


if __name__ == "__main__":
    main()
