"""AITurbo against Optimus and least attained service, by the part of the jobs whose length nobody can predict.

Jobs are those of the family ``configurations``: parameter servers and workers, on CPUs or on shares of GPUs. They
arrive by a Poisson process on the cluster of the family, half of whose nodes have GPUs, and are replayed as published,
with restarts for every change. Which jobs are unpredictable is drawn, and a larger part holds a smaller one. Least
attained service, the rule of Tiresias and of AITurbo for jobs that it cannot predict, is AITurbo where no job is
predictable: it knows no queues. Optimus leaves an unpredictable job the configuration that it asks for.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import msgspec
import numpy as np

from muri_opt.replay import Workload, replay
from muri_opt.rounds import Cluster, Job
from muri_opt.rounds.generate.families import generate
from muri_opt.studies.runner.intervals import Interval, interval_of, ratio_of

PARTS = (0.0, 0.25, 0.5, 0.75, 1.0)
NODES = 4
MEDIAN, SPREAD = 900.0, 1.2
"""Seconds that a job takes by the configuration it asks for, log-normal: the median, the deviation of the logarithm."""
RESTART = 30.0


def workload(seed: int, jobs: int, gap: float) -> tuple[Workload, Cluster]:
    """Return drawn jobs, all of them predictable, that arrive ``gap`` seconds apart on average, and their cluster."""
    round_ = generate("configurations", jobs=jobs, nodes=NODES, seed=seed)
    draw = np.random.default_rng(seed)
    seconds = MEDIAN * np.exp(SPREAD * draw.standard_normal(jobs))
    arrivals = np.cumsum(draw.exponential(gap, jobs)).round(3)
    drawn = [
        _waiting(job, at, length)
        for job, at, length in zip(round_.jobs, arrivals.tolist(), seconds.tolist(), strict=True)
    ]
    return Workload.of(f"configurations/{seed}", drawn), round_.cluster


def _waiting(job: Job, submitted: float, seconds: float) -> Job:
    """Return the job as it arrives, with so many seconds of work."""
    speed = next(plan.throughput for plan in job.plans if plan.name == job.plan)
    return Job(
        id=job.id,
        gpus=job.gpus,
        cpus=job.cpus,
        plans=job.plans,
        plan=job.plan,
        submitted=submitted,
        remaining_iterations=max(1, round(seconds * speed)),
        iteration_seconds=round(1 / speed, 6),
        predictable=True,
        restart_seconds=RESTART,
    )


def with_unpredictable(whole: Workload, part: float, seed: int) -> Workload:
    """Return the workload with that part of its jobs unpredictable."""
    order = np.random.default_rng((seed, 1)).permutation(len(whole.jobs))
    hidden = set(order[: round(part * len(order))].tolist())
    jobs = [msgspec.structs.replace(job, predictable=place not in hidden) for place, job in enumerate(whole.jobs)]
    return Workload.of(whole.name, jobs)


def mean_time(jobs: Workload, cluster: Cluster, policy: str) -> float:
    """Return the mean completion time under a policy, as published: every change is made, whatever it costs."""
    return float(replay(jobs, cluster, f"{policy}:restarts=ignore").jobs.completion.mean())


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=40)
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--gap", type=float, default=60.0)
    parser.add_argument("--parts", type=float, nargs="+", default=PARTS)
    asked = parser.parse_args(given)
    draws = [workload(seed, asked.jobs, asked.gap) for seed in range(1, asked.draws + 1)]
    served = [mean_time(with_unpredictable(jobs, 1.0, 0), cluster, "aiturbo") for jobs, cluster in draws]
    print("unpredictable | AITurbo, s | Optimus / AITurbo | least attained service / AITurbo")
    for part in asked.parts:
        mixed = [(with_unpredictable(jobs, part, seed), cluster) for seed, (jobs, cluster) in enumerate(draws)]
        ours = [mean_time(jobs, cluster, "aiturbo") for jobs, cluster in mixed]
        optimus = [mean_time(jobs, cluster, "optimus-ps") for jobs, cluster in mixed]
        cells = [f"{interval_of(ours).mean:,.0f}", _shown(ratio_of(optimus, ours)), _shown(ratio_of(served, ours))]
        print(f"{part:.0%} | {' | '.join(cells)}")


def _shown(ratio: Interval) -> str:
    ends = "" if ratio.low is None else f" ({ratio.low:.2f} to {ratio.high:.2f})"
    return f"{ratio.mean:.2f}{ends}"


if __name__ == "__main__":
    main()
