"""What rules for failing jobs save: retries and pre-runs on seeded workloads, and where a pre-run pays.

Every line is one set of rules on the same jobs with the same failures, summed over the seeds. The pool is part of the
cluster. *Chosen* pre-runs have the best length by size at a price of delay of 1, found on a sample of failures drawn
with another seed. *Cost* is what was lost and what the pool took, as a share of the useful GPU time.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field

from muri_opt.replay.failures import (
    POOL_GPUS,
    TWO_MINUTES,
    FailureModel,
    FailureRules,
    PreRun,
    best_lengths,
    break_even_gpus,
    compared_rules,
    draw_failures,
    draw_workload,
    first_failures,
    simulate,
)
from muri_opt.replay.failures.workload import MIXED_SIZES

LARGE_SIZES = {8: 50, 16: 20, 32: 20, 64: 10}
SAMPLE = 100_000
SAMPLE_SEED = 2**40
HOUR = 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A workload: what is assumed, the cluster, the sizes."""

    name: str
    gpus: int
    sizes: Mapping[int, int]
    model: FailureModel = field(default_factory=FailureModel)


HOPEFUL = {"user": 0.3, "infrastructure": 0.9, "unclear": 0.5}
SETTINGS = (
    Setting(name="mixed sizes", gpus=64, sizes=MIXED_SIZES),
    Setting(name="mixed, more recover", gpus=64, sizes=MIXED_SIZES, model=FailureModel(recovery=HOPEFUL)),
    Setting(name="large gangs", gpus=512, sizes=LARGE_SIZES),
    Setting(name="large, half fail", gpus=512, sizes=LARGE_SIZES, model=FailureModel(failing=0.5)),
)


def main(arguments: list[str] | None = None) -> None:
    """Print the table of rules and the table of lengths."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=5, help="workloads a line, of seeds 0, 1, ...")
    given = parser.parse_args(arguments)
    print(f"{given.jobs:,} jobs a workload, {given.seeds} seeds; GPU hours in all, mean hours a workload\n")
    head = ("workload", "rules", "passed", "useful", "lost", "pre-run", "saved", "cost", "completion", "first failure")
    print("| " + " | ".join(head) + " |")
    print("|" + " --- |" * len(head))
    for setting in SETTINGS:
        for line in lines(setting, given.jobs, given.seeds):
            print("| " + " | ".join(line) + " |", flush=True)
    print("\nbest length of a pre-run in minutes by price of delay, and the smallest gang it pays for\n")
    print("| jobs that fail | price | smallest gang | 8 GPUs | 16 | 32 | 64 | 128 |")
    print("|" + " --- |" * 8)
    for failing in (0.172, 0.5):
        fails = sample(FailureModel(failing=failing))
        for price in (0, 1):
            lengths = best_lengths(sizes=(8, 16, 32, 64, 128), fails=fails, price=price)
            minutes = " | ".join(f"{length / 60_000:.1f}" for length in lengths.values())
            print(f"| {failing:.1%} | {price} | {break_even_gpus(fails, price)} | {minutes} |")


def lines(setting: Setting, jobs: int, seeds: int) -> list[list[str]]:
    """Return the lines of one setting: the four sets of rules, and adaptive retry with chosen pre-runs."""
    rules = dict(compared_rules(TWO_MINUTES))
    adaptive = rules["adaptive retry"]
    lengths = best_lengths(sizes=setting.sizes, fails=sample(setting.model), price=1)
    if any(lengths.values()):
        chosen = PreRun(milliseconds=0, by_gpus=lengths)
        rules["chosen pre-run, adaptive"] = FailureRules(retry=adaptive.retry, pre_run=chosen)
    reports = []
    for seed in range(seeds):
        work = draw_workload(jobs, seed=seed, gpus=setting.gpus - POOL_GPUS, sizes=setting.sizes, model=setting.model)
        reports.append(simulate(work.jobs, work.failures, rules, setting.gpus).rules)
    table = []
    for rows in zip(*reports, strict=True):
        sums = [sum(getattr(row, name) for row in rows) for name in ("useful", "lost", "pre_run", "saved")]
        means = [sum(getattr(row, name) or 0 for row in rows) / seeds for name in ("mean_common", "mean_notice")]
        assert all(row.used == row.useful + row.lost + row.pre_run for row in rows)
        table.append(
            [
                setting.name,
                rows[0].name,
                f"{sum(row.passed for row in rows):,}",
                *(f"{value / HOUR:,.0f}" for value in sums),
                f"{(sums[1] + sums[2]) / sums[0]:.1%}",
                *(f"{float(value / HOUR):.2f}" for value in means),
            ]
        )
    return table


def sample(model: FailureModel) -> list[int]:
    """Return the first times to failure of jobs that are in no workload."""
    times: list[int] = first_failures(draw_failures(SAMPLE, seed=SAMPLE_SEED, model=model)).tolist()
    return times


if __name__ == "__main__":
    main()
