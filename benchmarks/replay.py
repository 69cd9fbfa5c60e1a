"""Replays of very many jobs: list policies on arrays, and rounds of the same policies for comparison.

Sizes and durations are heavy-tailed: nine jobs in ten are of one to eight GPUs, and the arrival rate asks for the
given load of the cluster. Times are CPU seconds of this process.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from muri_opt import Cluster, Job, Node
from muri_opt.replay import Workload
from muri_opt.replay.run import replay

SIZES = (1, 2, 4, 8, 16, 32)
PARTS = (0.6, 0.1, 0.12, 0.1, 0.05, 0.03)


def workload(jobs: int, gpus: int, load: float, seed: int) -> Workload:
    """Return jobs of log-normal duration that ask for ``load`` of the GPUs on average."""
    draw = np.random.default_rng(seed)
    sizes = draw.choice(SIZES, size=jobs, p=PARTS)
    seconds = np.maximum(1, np.minimum(draw.lognormal(6.0, 1.5, size=jobs), 200_000)).round().astype(int)
    span = float((sizes * seconds).sum()) / (gpus * load)
    arrivals = np.sort(draw.uniform(0, span, size=jobs))
    return Workload.of(
        f"{jobs} jobs",
        (
            Job(
                id=f"j{place}",
                gpus=int(sizes[place]),
                submitted=float(arrivals[place]),
                remaining_iterations=int(seconds[place]),
                iteration_seconds=1.0,
                restart_seconds=10.0,
            )
            for place in range(jobs)
        ),
    )


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--nodes", type=int, default=125, help="of 8 GPUs each")
    parser.add_argument("--load", type=float, default=1.0)
    parser.add_argument("--policies", default="fifo:preempt=yes,tiresias")
    parser.add_argument("--rounds", type=int, default=1000, help="jobs of the replays that make rounds")
    given = parser.parse_args(arguments)
    cluster = Cluster(nodes=tuple(Node(id=f"n{place}", gpus=8) for place in range(given.nodes)))
    print("| jobs | policy | decided on | rounds | mean JCT in h | GPU h lost | preemptions | CPU s |")
    print("|" + " --- |" * 8)
    for jobs, fast in ((given.jobs, True), (given.rounds, False)):
        work = workload(jobs, cluster.total_gpus, given.load, seed=1)
        for policy in given.policies.split(","):
            began = time.process_time()
            found = replay(work, cluster, policy, fast=fast)
            spent = time.process_time() - began
            cells = (
                f"{jobs:,}",
                policy,
                "arrays" if fast else "rounds",
                f"{found.rounds:,}",
                f"{found.jobs.completion.mean() / 3600:.3f}",
                f"{found.jobs.lost.sum() / 3600:,.0f}",
                f"{found.jobs.preemptions.sum():,}",
                f"{spent:.1f}",
            )
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
