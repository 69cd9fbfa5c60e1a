"""``muri-opt defragment``: which jobs to move so that nodes become free, or a waiting job fits."""

from __future__ import annotations

import argparse

from muri_opt.cli.command import Command
from muri_opt.cli.files import add_round, round_from
from muri_opt.cli.limits import add_limits, limits_from
from muri_opt.cli.output import ExitCode, Reply

_SECONDS = 10.0
_EXAMPLES = """  muri-opt defragment round.json --nodes 2
  muri-opt defragment round.json --job job-7 --budget 8 --json"""

_CODES = {
    "INFEASIBLE": ExitCode.INFEASIBLE,
    "NO_SOLUTION": ExitCode.NOTHING_FOUND,
    "FAILED": ExitCode.SOLVER_FAILED,
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_round(parser)
    goal = parser.add_mutually_exclusive_group(required=True)
    goal.add_argument("--nodes", metavar="N", type=int, help="free so many nodes with GPUs")
    goal.add_argument("--job", metavar="ID", help="make room for a waiting job on as few nodes as it needs")
    parser.add_argument("--budget", metavar="GPUS", type=int, help="most GPUs of moved jobs (default: no limit)")
    add_limits(parser, what="for the whole search", seconds=_SECONDS)
    parser.add_argument("--json", action="store_true", help="print the answer as JSON and nothing else")
    parser.add_argument("--all", action="store_true", help="list every move of a long list")


def run(arguments: argparse.Namespace) -> Reply:
    """Find the moves and return them."""
    from muri_opt.report.text.defragmentation import defragmentation_json, defragmentation_text
    from muri_opt.solve.defragmentation import defragment

    limits = limits_from(arguments, seconds=_SECONDS)
    round_ = round_from(arguments.round)
    found = defragment(round_, nodes=arguments.nodes, job=arguments.job, budget=arguments.budget, limits=limits)
    if found.certificate is not None and found.certificate.violations:
        code = ExitCode.VIOLATION
    else:
        code = _CODES.get(found.termination.reason, ExitCode.ANSWER)
    if arguments.json:
        return Reply(defragmentation_json(round_, found), code)
    return Reply(defragmentation_text(round_, found, whole=arguments.all), code)


COMMAND = Command(
    name="defragment",
    summary="free nodes or make room for a waiting job with the fewest moved GPUs, and prove that fewer do not do",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
