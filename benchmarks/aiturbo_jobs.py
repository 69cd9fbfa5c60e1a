"""The joint round and AITurbo on the jobs that AITurbo's authors published, with what their table does not say assumed.

The table (your own copy, FILE, as CSV) has 8,692 jobs: type, running time, servers, workers, GPUs of a worker,
throughput, and whether the length was predictable. What it says: over the jobs of a type throughput grows with workers
times GPUs, medians for a GPU within 6 % of each other in 16 of 18 types that had several numbers of them. What it does
not say, and is assumed:

* *Arrivals*: Poisson, so many that the jobs as submitted ask for ``--load`` times the GPUs of the cluster.
* *The cluster*: 8 nodes of 8 GPUs; CPUs and memory do not bind. A change takes 30 s.
* *Speed*: in proportion to the GPUs, from one to the most that a job of the type had.
* *Stages*: none, so that no two jobs share GPUs.

Jobs on CPUs only (1,020) are left out: the joint round has no such option. AITurbo is given the same speeds as
configurations of one server and workers with equal shares, and the lengths of predictable jobs; ``joint-s`` those of
all jobs, ``joint-l`` of none. Seeded samples, without replacement; with ``--jobs`` 7672 it is all of them. Every
decision is verified.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from muri_opt import Cluster, Job, Node
from muri_opt.replay import Workload, replay
from muri_opt.replay.metrics.summary import summary
from muri_opt.replay.workloads.plans import with_plans
from muri_opt.studies.runner.intervals import Interval, ratio_of

NODES, EACH = 8, 8
RESTART = 30.0
POLICIES = ("aiturbo", "joint-s", "joint-l")
PREDICTABLE = "0"
"""What the column says of a job whose length was predictable."""
HEAD = ("policy", "mean, h", "median, h", "99th, h", "restarts", "CPU s", "mean against aiturbo, 95 %")
SECONDS_PER_HOUR = 3600


def read(path: Path) -> list[Mapping[str, str]]:
    """Return the rows of the jobs that ran on GPUs."""
    with path.open(newline="") as file:
        return [row for row in csv.DictReader(file) if int(row["GPU"])]


def gpus_of(row: Mapping[str, str]) -> int:
    """Return the GPUs of a job: those of a worker, times the workers."""
    return int(row["Worker"]) * int(row["GPU"])


def workload(rows: Sequence[Mapping[str, str]], *, jobs: int, load: float, seed: int) -> Workload:
    """Return a sample of the jobs, in the order in which it was drawn, as they arrive."""
    draw = np.random.default_rng(seed)
    chosen = [rows[at] for at in draw.choice(len(rows), size=min(jobs, len(rows)), replace=False).tolist()]
    most: dict[str, int] = {}
    for row in rows:
        most[row["Job type"]] = max(most.get(row["Job type"], 0), gpus_of(row))
    service = sum(gpus_of(row) * float(row["Running time"]) for row in chosen)
    gap = service / (load * NODES * EACH * len(chosen))
    arrivals = np.cumsum(draw.exponential(gap, len(chosen))).round(3).tolist()
    return Workload.of(
        f"aiturbo-{seed}",
        [_job(f"job-{at}", row, most[row["Job type"]], arrivals[at]) for at, row in enumerate(chosen)],
    )


def _job(name: str, row: Mapping[str, str], most: int, submitted: float) -> Job:
    """Return a job of iterations of a second each with the GPUs it asks for."""
    return Job(
        id=name,
        gpus=gpus_of(row),
        iteration_seconds=1.0,
        remaining_iterations=max(1, round(float(row["Running time"]))),
        scaling={1: 1.0, most: float(most)} if most > 1 else {1: 1.0},
        submitted=submitted,
        predictable=row["Predictability"] == PREDICTABLE,
        restart_seconds=RESTART,
    )


def cluster() -> Cluster:
    """Return nodes on which only GPUs are counted."""
    return Cluster(nodes=tuple(Node(id=f"n{number}", gpus=EACH) for number in range(NODES)))


def run_one(work: Workload, policy: str) -> dict[str, float]:
    """Return the figures of one replay, times in seconds."""
    given = with_plans(work, cluster(), "aiturbo") if policy.startswith("aiturbo") else work
    began = time.process_time()
    found = summary(replay(given, cluster(), policy))
    figures = {"mean": found.mean, "median": found.p50, "p99": found.p99, "restarts": float(found.restarts)}
    return figures | {"cpu": time.process_time() - began}


def table(runs: Mapping[str, Sequence[Mapping[str, float]]]) -> list[str]:
    """Return the lines of a table: means over the samples, and ratios of the same sample with their interval."""
    lines = ["| " + " | ".join(HEAD) + " |", "| --- |" + " ---: |" * (len(HEAD) - 1)]
    first = [one["mean"] for one in runs[next(iter(runs))]]
    for policy, found in runs.items():
        mean = {key: float(np.mean([one[key] for one in found])) for key in found[0]}
        ratio = _shown(ratio_of([one["mean"] for one in found], first))
        hours = [f"{mean[key] / SECONDS_PER_HOUR:.2f}" for key in ("mean", "median", "p99")]
        cells = [f"`{policy}`", *hours, f"{mean['restarts']:,.0f}", f"{mean['cpu']:.0f}", ratio]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _shown(ratio: Interval) -> str:
    return f"{ratio.mean:.2f}" + ("" if ratio.low is None else f" ({ratio.low:.2f} to {ratio.high:.2f})")


def main(arguments: Sequence[str] | None = None) -> None:
    """Replay the samples and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument("--jobs", type=int, default=120, help="of a sample")
    parser.add_argument("--seeds", type=int, default=5, help="samples")
    parser.add_argument("--load", type=float, default=1.0, help="GPUs that are asked for, of those there are")
    parser.add_argument("--policies", nargs="+", default=list(POLICIES), metavar="P", help="the first is compared with")
    asked = parser.parse_args(arguments)
    rows = read(asked.file)
    runs: dict[str, list[dict[str, float]]] = {policy: [] for policy in asked.policies}
    for seed in range(asked.seeds):
        work = workload(rows, jobs=asked.jobs, load=asked.load, seed=seed)
        for policy in asked.policies:
            runs[policy].append(run_one(work, policy))
            print(f"seed {seed}, {policy}: {runs[policy][-1]}", flush=True)
    print("\n".join(table(runs)))


if __name__ == "__main__":
    main()
