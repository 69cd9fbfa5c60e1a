"""How far Muri's rounds of matching are from the optimal grouping, on random rounds that fill groups of four."""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.matching import stage_times
from muri_opt import Cluster, Job, Limits, Node, Round, solve_round
from muri_opt.systems.muri.interleaving import SLOWDOWN, best_period


def main(arguments: list[str] | None = None) -> None:
    """Print mean and worst loss of the heuristic against the proved optimum."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--preset", choices=("paper", "authors"), default="authors")
    parser.add_argument("--stages", choices=("models", "uniform"), default="models")
    given = parser.parse_args(arguments)
    policy = f"muri-s:preset={given.preset},autopack=off"
    losses = []
    for seed in range(given.rounds):
        round_ = random_round(given.jobs, given.preset, given.stages, seed)
        heuristic = solve_round(round_, policy, "heuristic")
        optimum = solve_round(round_, policy, "exact", Limits(seconds=600))
        if optimum.value is None or optimum.value != optimum.bound:
            raise SystemExit(f"round {seed} was not solved: {optimum.termination.detail}")
        losses.append(1 - (heuristic.value or 0) / optimum.value)
    found = np.array(losses)
    print(
        f"{given.rounds} rounds of {given.jobs} jobs, {given.stages} stages, preset {given.preset}: the heuristic loses"
    )
    print(f"{found.mean():.1%} on average, {found.max():.1%} at worst; {int((found == 0).sum())} times it is optimal")


def random_round(jobs: int, preset: str, stages_of: str, seed: int) -> Round:
    """Return a round of jobs of equal GPU count, four times as many as fit at once, with random stage times."""
    draw = np.random.default_rng(seed)
    kinds = 3 if preset == "authors" else 4
    models = stage_times(jobs, "models", seed) / 1_000_000
    if kinds == 3:
        models = np.column_stack([models[:, 0] + models[:, 1], models[:, 2], models[:, 3]])
    resources = ("data", "gpu", "network") if kinds == 3 else ("storage", "cpu", "gpu", "network")
    tasks = []
    for j in range(jobs):
        uniform = draw.integers(1, 1000, kinds) / 1000
        stages = tuple((models[j] if stages_of == "models" else uniform).tolist())
        tasks.append(
            Job(
                id=f"job-{j}",
                gpus=1,
                stage_seconds=stages,
                remaining_iterations=int(draw.integers(1, 10_000)),
                iteration_seconds=best_period([stages]).period_seconds * SLOWDOWN["muri"][1],
            )
        )
    cluster = Cluster(nodes=(Node(id="n0", gpus=max(1, jobs // 4)),))
    return Round(cluster=cluster, jobs=tuple(tasks), resources=resources)


if __name__ == "__main__":
    main()
