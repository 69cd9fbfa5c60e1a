"""Whether every answer of Muri has a bound that was checked: random rounds of 2 to 2,000 jobs, by all methods.

Of a hundred rounds 90 have 2 to 30 jobs, 8 have 31 to 200 and 2 have 201 to 2,000, each evenly drawn. Policies, methods
and whether the jobs are all different change from round to round. Limits are of work, so that a loaded machine finds
the same.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from muri_opt import Limits, Round, solve_round, verify
from muri_opt.rounds.generate.families import generate

POLICIES = (
    "muri-s",
    "muri-l",
    "muri-s:group=2",
    "muri-s:objective=gpu-time",
    "muri-l:objective=progress",
    "muri-s:objective=completion",
    "muri-s:sizes=mixed",
    "muri-s:run=free",
    "muri-l:run=best",
)
METHODS = ("heuristic", "auto", "exact")
SIZES = ((2, 30), (31, 200), (201, 2_000))
PARTS = (0.90, 0.08, 0.02)


def main(arguments: list[str] | None = None) -> None:
    """Print how many rounds were answered with a checked bound, and every round that was not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3_000)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first round")
    parser.add_argument("--work", type=float, default=2.0, help="units of work of each answer (default: 2)")
    given = parser.parse_args(arguments)
    began, without = time.process_time(), 0
    for seed in range(given.first, given.first + given.rounds):
        wrong = faults_of(seed, given.work)
        without += bool(wrong)
        if wrong:
            print(f"round {seed}: {wrong}", flush=True)
    print(f"{given.rounds} rounds, {without} without a checked bound, {time.process_time() - began:.0f} s CPU")


def faults_of(seed: int, work: float) -> str:
    """Return what is wrong with the answer to a random round, or nothing."""
    draw = np.random.default_rng(seed)
    low, high = SIZES[int(draw.choice(len(SIZES), p=PARTS))]
    jobs = int(draw.integers(low, high + 1))
    policy, method = POLICIES[seed % len(POLICIES)], METHODS[seed // len(POLICIES) % len(METHODS)]
    round_ = random_round(jobs, seed)
    result = solve_round(round_, policy, method, Limits(work=work))
    asked = f"{policy} {method} {jobs} jobs"
    if result.value is None:  # exact may find nothing in its work, and says so; the others always answer
        return "" if method == "exact" else f"{asked}: no answer: {result.termination.detail}"
    certificate = verify(round_, result)
    if certificate.violations:
        return f"{asked}: {certificate.violations[0]}"
    if certificate.checked_bound is None or certificate.checked_bound < result.value:
        return f"{asked}: value {result.value}, checked bound {certificate.checked_bound}"
    return ""


def random_round(jobs: int, seed: int) -> Round:
    """Return a round of which some jobs run."""
    return generate("interleaving", jobs=jobs, nodes=max(1, jobs // 8), seed=seed)


if __name__ == "__main__":
    main()
