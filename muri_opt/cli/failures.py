"""``muri-opt failures``: rules for failing jobs compared on a generated workload."""

from __future__ import annotations

import argparse
from fractions import Fraction
from typing import TYPE_CHECKING

from muri_opt.cli.command import Command
from muri_opt.cli.output import Reply

if TYPE_CHECKING:
    from muri_opt.replay.failures import FailureReport, RuleReport

_EXAMPLES = """  muri-opt failures
  muri-opt failures --jobs 500 --gpus 128 --seed 3 --json"""
_HEAD = (
    *("rules", "passed", "given up", "failed runs", "in the pool", "useful", "lost", "pre-run", "saved"),
    *("completion", "of common", "first failure", "makespan"),
)
_MILLISECONDS_PER_HOUR = 3_600_000


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--jobs", metavar="N", type=int, default=2000, help="jobs (default: %(default)s)")
    parser.add_argument("--seed", metavar="S", type=int, default=0, help="of the workload (default: %(default)s)")
    parser.add_argument("--gpus", metavar="G", type=int, default=64, help="GPUs, 2 or more (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON and nothing else")


def run(arguments: argparse.Namespace) -> Reply:
    """Draw a workload and run it under every set of rules."""
    import msgspec

    from muri_opt.replay.failures import POOL_GPUS, compared_rules, draw_workload, simulate
    from muri_opt.rounds.quantities import MAX_GPUS, whole

    gpus = whole("gpus", arguments.gpus, MAX_GPUS, POOL_GPUS + 1)
    workload = draw_workload(arguments.jobs, seed=arguments.seed, gpus=gpus - POOL_GPUS)
    report = simulate(workload.jobs, workload.failures, compared_rules(), gpus)
    if arguments.json:
        return Reply(msgspec.json.format(msgspec.json.encode(_answer(report)), indent=1).decode() + "\n")
    return Reply(_text(report, arguments.seed))


def _answer(report: FailureReport) -> dict[str, object]:
    """Return the report with times in seconds."""
    rules = [
        {
            "rules": row.name,
            "passed": row.passed,
            "given_up": row.given_up,
            "withdrawn": row.withdrawn,
            "failed_runs": row.failed_trials,
            "found_in_pool": row.caught,
            "used_gpu_seconds": row.used / 1000,
            "useful_gpu_seconds": row.useful / 1000,
            "lost_gpu_seconds": row.lost / 1000,
            "pre_run_gpu_seconds": row.pre_run / 1000,
            "saved_gpu_seconds": row.saved / 1000,
            "mean_completion_seconds": _seconds(row.mean_completion),
            "mean_common_completion_seconds": _seconds(row.mean_common),
            "mean_first_failure_seconds": _seconds(row.mean_notice),
            "makespan_seconds": row.makespan / 1000,
        }
        for row in report.rules
    ]
    return {"jobs": report.jobs, "gpus": report.gpus, "pool_gpus": report.pool_gpus, "rules": rules}


def _text(report: FailureReport, seed: int) -> str:
    from muri_opt.report.tables import table

    lines = [
        f"{report.jobs:,} jobs on {report.gpus:,} GPUs, {report.pool_gpus} of them the pool where there is a pre-run; "
        f"seed {seed}",
        "useful to saved in GPU hours; completion to makespan in hours",
        "",
        *table(_HEAD, [_row(row) for row in report.rules], right=range(1, len(_HEAD))),
    ]
    return "\n".join(lines) + "\n"


def _row(row: RuleReport) -> list[str]:
    counts = (row.passed, row.given_up, row.failed_trials, row.caught)
    times = (row.useful, row.lost, row.pre_run, row.saved)
    means = (row.mean_completion, row.mean_common, row.mean_notice, row.makespan)
    return [
        row.name,
        *(f"{count:,}" for count in counts),
        *(f"{time / _MILLISECONDS_PER_HOUR:,.1f}" for time in times),
        *("-" if time is None else f"{float(time / _MILLISECONDS_PER_HOUR):,.2f}" for time in means),
    ]


def _seconds(milliseconds: Fraction | None) -> float | None:
    return None if milliseconds is None else float(milliseconds / 1000)


COMMAND = Command(
    name="failures",
    summary="compare rules for failing jobs, retries and pre-runs, on a generated workload",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
