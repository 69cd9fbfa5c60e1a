"""How close groups of up to four come to the optimum where they are too many to list, on rounds of different jobs.

Each round is searched within a budget of work, so that the answer is the same wherever it is run, or within a limit in
seconds, and the prices found are checked by the verifier. Times are CPU seconds of one core.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from muri_opt import Cluster, Job, Limits, Node, Round
from muri_opt.solve.exact import search_chapter
from muri_opt.systems import policy_from, program_of
from muri_opt.verify import Audit

KINDS = ("uniform", "dominant", "models")
OBJECTIVES = ("efficiency", "progress", "completion")


def main(arguments: list[str] | None = None) -> None:
    """Print a line for each round: value, checked bound, gap, and the times of search and check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=[*KINDS])
    parser.add_argument("--objectives", nargs="+", choices=OBJECTIVES, default=["efficiency"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[11, 12, 13])
    parser.add_argument("--policy", default="muri-s")
    parser.add_argument("--work", type=float, default=10.0)
    parser.add_argument("--seconds", type=float, help="a limit in seconds instead of a budget of work")
    given = parser.parse_args(arguments)
    limits = Limits(work=given.work) if given.seconds is None else Limits(seconds=given.seconds)
    print(f"{'kind':9} {'objective':10} seed {'value':>13} {'bound':>13} {'gap':>7} {'search':>8} {'check':>7}")
    for kind in given.kinds:
        for objective in given.objectives:
            for seed in given.seeds:
                measured = gap_of(
                    different_jobs(kind, given.jobs, seed), f"{given.policy}:objective={objective}", limits
                )
                print(f"{kind:9} {objective:10} {seed:4} {measured}", flush=True)


def gap_of(round_: Round, policy: str, limits: Limits) -> str:
    """Return value, checked bound, gap and times of one round, as columns."""
    rules = policy_from(policy).rules
    audit, program = Audit(round_, rules), program_of(rules)
    start = policy_from(policy).decide(round_, seed=0)
    began = time.process_time()
    answer = search_chapter(round_, program, limits, start)
    searched = time.process_time()
    if answer is None or answer.decision is None or answer.duals is None:
        return "groups were not priced"
    proved = audit.bound(answer.decision, (answer.duals,))
    checked = time.process_time()
    value = audit.value(answer.decision)
    if proved is None:
        return f"{value:13,} has no bound"
    bound = proved[0]
    return (
        f"{value:13,} {bound:13,} {(bound - value) / bound:7.2%} {searched - began:6.1f} s {checked - searched:5.1f} s"
    )


def different_jobs(kind: str, jobs: int, seed: int) -> Round:
    """Return different jobs of one GPU each, 24 GPUs for a hundred of them.

    Their stages are uniform, or one is far longer than the others, or they are within a tenth of one of 8 models'.
    """
    rng: Any = np.random.default_rng(seed)
    stages = rng.integers(1, 1000, (jobs, 4))
    if kind == "dominant":
        stages = rng.integers(1, 200, (jobs, 4))
        stages[np.arange(jobs), rng.integers(0, 4, jobs)] = rng.integers(400, 1000, jobs)
    if kind == "models":
        models = rng.integers(1, 1000, (8, 4))
        stages = np.maximum(1, models[rng.integers(0, 8, jobs)] * rng.uniform(0.9, 1.1, (jobs, 4)))
    made = tuple(
        Job(
            id=f"j{place}",
            gpus=1,
            stage_seconds=tuple((times / 1000).tolist()),
            iteration_seconds=float(times.sum() / 1000),
            remaining_iterations=int(rng.integers(1, 10_000)),
            attained_gpu_seconds=float(7 * place % 100),
        )
        for place, times in enumerate(stages.astype(int))
    )
    nodes = (Node(id="n0", gpus=max(1, jobs * 24 // 100)),)
    return Round(cluster=Cluster(nodes=nodes), jobs=made, resources=("storage", "cpu", "gpu", "network"))


if __name__ == "__main__":
    main()
