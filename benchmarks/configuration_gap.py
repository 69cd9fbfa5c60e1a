"""How much remaining time the step-by-step algorithms leave, with and without moves between CPUs and GPUs.

Random rounds: as many GPUs as jobs, four on a node with 32 CPUs, and as many nodes again without GPUs. Half of the jobs
ask for a GPU, by chance. Each has its own step times (AITurbo's model): a step computes for 0.5 to 5 seconds on a GPU
and about 2 to 30 times as long on a core, with what servers and workers add. Servers and workers are 1 to 3 of each.
All jobs are predictable and have 100 to 10,000 steps left.

Total remaining times are compared where an algorithm runs as many jobs as the optimum. Optimus almost always does;
AITurbo lets jobs wait that only a step to less would have room for, so the table also says how many run.
"""

from __future__ import annotations

import argparse
from statistics import fmean

import numpy as np

from muri_opt import Cluster, Decision, Job, Limits, Node, Round, solve_round
from muri_opt.profiling.job_length import CoreEfficiency, StepTime
from muri_opt.profiling.plan_speed import TaskLimits, configuration_plans

SIZES = (4, 8, 16)
TASKS = TaskLimits(servers=3, workers=3)


def random_round(draw: np.random.Generator, jobs: int) -> Round:
    """Return a round of so many jobs, GPUs as many."""
    boxes = -(-jobs // 4)
    nodes = [Node(id=f"g{s}", gpus=min(4, jobs - 4 * s), cpus=32) for s in range(boxes)]
    nodes += [Node(id=f"c{s}", gpus=0, cpus=32) for s in range(boxes)]
    return Round(cluster=Cluster(nodes=tuple(nodes)), jobs=tuple(_job(draw, j) for j in range(jobs)))


def _job(draw: np.random.Generator, position: int) -> Job:
    computing, slower = float(draw.uniform(0.5, 5)), float(draw.uniform(2, 30))
    step = StepTime(
        th0=computing / 64,
        th1=0.02,
        th23=float(draw.uniform(0.05, 0.5)),
        th4=float(draw.uniform(0, 0.05)),
        th5=float(draw.uniform(0, 0.05)),
        th6=0.0,
        efficiency=CoreEfficiency(a=-5 / slower, b=0.2, d=5 / slower),
    )
    here = str(draw.choice(["cpu-p1-w1", "gpu-p1-w1-s1"]))
    return Job(
        id=f"j{position}",
        gpus=int(here.startswith("gpu")),
        plans=configuration_plans(step, batch=64, limits=TASKS),
        plan=here,
        submitted=float(position),
        executed_seconds=float(draw.integers(0, 5000)),
        remaining_iterations=int(draw.integers(100, 10_000)),
        predictable=True,
    )


def remaining(round_: Round, decision: Decision) -> float:
    """Return the remaining time of all jobs that run, in seconds."""
    total = 0.0
    for one in decision.assignments:
        job = round_.jobs[round_.job_index[one.jobs[0]]]
        (speed,) = {plan.throughput for plan in job.plans or () if plan.name == one.plan}
        total += (job.remaining_iterations or 0) / speed
    return total


def compared(round_: Round, policy: str, best: str, seconds: float) -> tuple[float, int, int, bool]:
    """Return remaining time by the policy's algorithm over that of the optimum of ``best``, who runs, if proved."""
    greedy = solve_round(round_, policy, "heuristic").decision
    optimum = solve_round(round_, best, "exact", limits=Limits(seconds=seconds))
    ratio = remaining(round_, greedy) / remaining(round_, optimum.decision)
    return ratio, len(greedy.running), len(optimum.decision.running), optimum.value == optimum.bound


LINES = (
    ("optimus-ps", "optimus-ps", "any configuration, no switch"),
    ("optimus-ps", "optimus-ps:switch=on", "any configuration, with switch"),
    ("aiturbo:objective=time,switch=off", "aiturbo:objective=time,switch=off", "one step, no switch"),
    ("aiturbo:objective=time,switch=off", "aiturbo:objective=time", "one step, with switch"),
    ("aiturbo:objective=time", "aiturbo:objective=time", "one step, both with switch"),
)


def main(arguments: list[str] | None = None) -> None:
    """Print the ratios of total remaining time to the optimum, mean and worst, and how many jobs run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20, help="rounds per cell of the table")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=20.0, help="time limit of an optimum")
    given = parser.parse_args(arguments)
    print(f"{given.rounds} rounds a cell: total remaining time over the optimum, mean (worst), where as many jobs run;")
    print("jobs that run, of those the optimum runs, in all rounds\n")
    print("| algorithm | optimum over | " + " | ".join(f"{jobs} jobs" for jobs in SIZES) + " | proved |")
    print("| --- " * (len(SIZES) + 3) + "|")
    for policy, best, words in LINES:
        cells, proved = [], 0
        for jobs in SIZES:
            draw = np.random.default_rng([given.seed, jobs])
            found = [compared(random_round(draw, jobs), policy, best, given.seconds) for _ in range(given.rounds)]
            ratios = [ratio for ratio, ran, most, _ in found if ran == most]
            share = sum(ran for _, ran, _, _ in found) / sum(most for _, _, most, _ in found)
            times = f"{fmean(ratios):.2f} ({max(ratios):.2f})" if ratios else "none as many"
            cells.append(f"{times}; {share:.0%}")
            proved += sum(is_proved for *_, is_proved in found)
        print(
            f"| `{policy}` | {words} | " + " | ".join(cells) + f" | {proved} of {given.rounds * len(SIZES)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
