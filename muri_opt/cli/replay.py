"""``muri-opt replay``: workloads under policies, beside each other; what is done is kept, and skipped next time."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from muri_opt.cli.command import Command
from muri_opt.cli.output import ExitCode, Reply
from muri_opt.cli.progress import Bar
from muri_opt.cli.studies import add_study_options, check_pictures, policies_in

if TYPE_CHECKING:
    from muri_opt.replay.bounds import LowerBound
    from muri_opt.replay.studies.runs import RunRow, StudyRun
    from muri_opt.replay.studies.study import StudyError

_EXAMPLES = """  muri-opt replay 'generate:tiresias?jobs=40' --policy fifo,srtf,tiresias --cluster 4x8
  muri-opt replay trace.csv --policy srtf,muri-s:preset=authors --cluster 8x8 --clock muri
  muri-opt replay a.csv b.csv --policy fifo,philly:migrate=8,objective=weighted --jobs 4 --folder study --json"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add = parser.add_argument
    add(
        "traces",
        metavar="TRACE",
        nargs="+",
        help="a workload file, or generate:FAMILY; options as in trace.csv?KEY=V; generate:FAMILY?count=N&seed=S means "
        "N of them",
    )
    add(
        "--policy",
        metavar="A,B,C",
        action="append",
        help="policies, the first being what the others are compared with; KEY=VALUE after a comma belongs to the "
        "policy before; may be repeated (default: fifo)",
    )
    add("--cluster", metavar="NxG", required=True, help="N nodes of G GPUs, or a file of a round or of a cluster")
    add("--clock", metavar="C", default="own", help="own, muri or afs (default: %(default)s)")
    add(
        "--method",
        metavar="M,N",
        default="heuristic",
        help="how rounds are decided: heuristic, auto, exact or exact@BACKEND (default: %(default)s)",
    )
    add("--interval", metavar="S", type=float, help="seconds between rounds (default: a round at every event)")
    add(
        "--round-seconds",
        metavar="S",
        type=float,
        default=10.0,
        help="time for each round that is solved (default: %(default)s)",
    )
    add(
        "--round-work",
        metavar="W",
        type=float,
        help="units of work for each of them instead, as of 'solve': the same replay on slow and fast machines",
    )
    add(
        "--round-gap",
        metavar="G",
        type=float,
        default=0.0,
        help="how near to the optimum of a round is near enough (default: %(default)s)",
    )
    add(
        "--launch-seconds",
        metavar="S",
        type=float,
        default=0.0,
        help="time that a job needs to begin, also the first time (default: %(default)s)",
    )
    for option, where in (
        ("--rack-speed", "on more nodes of one rack than it needs"),
        ("--any-speed", "over racks, where one had been enough"),
    ):
        add(
            option,
            metavar="V",
            type=float,
            default=1.0,
            help=f"speed of a job {where}, as part of its speed close together (default: %(default)s)",
        )
    add("--seeds", metavar="K", type=int, default=1, help="run everything with the seeds 0 to K - 1 (default: 1)")
    add("--fast", action="store_true", help="decide on arrays: fifo, srtf, srsf, las and tiresias on GPUs alone")
    add("--no-verify", action="store_true", help="do not check decisions")
    add(
        "--on-bad",
        metavar="W",
        default="stop",
        help="stop at a decision that breaks rules, or count it and go on (default: %(default)s)",
    )
    add_study_options(parser, "replay-results")
    add("--keep-jobs", action="store_true", help="keep what became of every job, a file for each run")


def run(arguments: argparse.Namespace) -> Reply:
    """Run the study and return the comparison; runs that failed are named and decide the code."""
    check_pictures(arguments)
    from muri_opt.replay.studies.study import StudyError, run_study

    failed: StudyError | None = None
    rows: Sequence[RunRow]
    pictures = arguments.report is not None or arguments.figures is not None
    with Bar("runs") as bar:
        try:
            rows = run_study(
                _runs(arguments),
                folder=arguments.folder,
                engine=arguments.engine,
                jobs=arguments.jobs,
                keep_outcomes=arguments.keep_jobs or pictures,
                parquet=arguments.parquet,
                progress=bar,
            )
        except StudyError as error:
            failed, rows = error, error.rows
    if pictures and rows:
        _draw(rows, arguments.folder, arguments.report, arguments.figures)
    limits = _limits(rows)
    text = _json(rows, failed, limits) if arguments.json else _text(rows, failed, arguments.folder, limits)
    return Reply(text, ExitCode.ANSWER if failed is None else _code(failed))


def _runs(arguments: argparse.Namespace) -> list[StudyRun]:
    from muri_opt.replay.studies.runs import MOST_SEED, StudyRun
    from muri_opt.replay.workloads.files import workload_texts
    from muri_opt.rounds.quantities import whole

    return [
        StudyRun(
            workload=trace,
            cluster=arguments.cluster,
            policy=policy,
            method=method,
            clock=arguments.clock,
            interval=arguments.interval,
            seed=seed,
            round_seconds=arguments.round_seconds,
            round_work=arguments.round_work,
            round_gap=arguments.round_gap,
            launch_seconds=arguments.launch_seconds,
            rack_speed=arguments.rack_speed,
            any_speed=arguments.any_speed,
            fast=arguments.fast,
            verify=not arguments.no_verify,
            on_bad=arguments.on_bad,
        )
        for text in arguments.traces
        for trace in workload_texts(text)
        for seed in range(whole("--seeds", arguments.seeds, MOST_SEED, 1))
        for policy in policies_in(arguments.policy or ["fifo"])
        for method in arguments.method.split(",")
    ]


def _code(failed: StudyError) -> ExitCode:
    """Return the code of a violation where policies decided badly, and that of a solver where anything else broke."""
    policies = all(found.cause == "policy" for _, found in failed.failures)
    return ExitCode.VIOLATION if policies else ExitCode.SOLVER_FAILED


def _draw(rows: Sequence[RunRow], folder: str, report: str | None, figures: str | None) -> None:
    """Write the report, the figures or both; where methods differ, replays are called by policy and method."""
    from dataclasses import replace

    from muri_opt.replay.studies.repeats import repeats_of
    from muri_opt.replay.studies.study import outcomes_of

    outcomes = outcomes_of(rows, folder)
    if len({row.run.method for row in rows}) > 1:
        named = zip(rows, outcomes, strict=True)
        outcomes = [replace(outcome, policy=f"{outcome.policy}, {row.run.method}") for row, outcome in named]
    if report is not None:
        from muri_opt.report.charts.replay_html import write_report

        write_report(outcomes, report, repeats_of(rows))
    if figures is not None:
        from muri_opt.report.charts.replay_figures import write_figures

        write_figures(outcomes, figures)


def _limits(rows: Sequence[RunRow]) -> dict[str, tuple[LowerBound, ...]]:
    """Return the lower bounds of each workload, all of them on the one cluster."""
    from muri_opt.replay.studies.limits import limits_of

    return {workload: bounds for (workload, _), bounds in limits_of(row.run for row in rows).items()}


def _limit(workload: str, bounds: Sequence[LowerBound]) -> str:
    """Return what no schedule is below, in words."""
    from muri_opt.rounds.readable_time import duration

    ways = {"own": "own speed", "busy": "mean busy time", "prices": "prices over time"}
    said = f"{workload}: no schedule has a mean JCT below {duration(bounds[0].seconds, 1)} ({ways[bounds[0].by]})"
    for alone in bounds[1:]:
        said += f"; none without sharing below {duration(alone.seconds, 1)} ({ways[alone.by]})"
    return said


def _text(
    rows: Sequence[RunRow], failed: StudyError | None, folder: str, limits: Mapping[str, Sequence[LowerBound]]
) -> str:
    from muri_opt.replay.studies.limits import outside_bounds
    from muri_opt.replay.studies.repeats import HEAD, WORDS, repeats_of
    from muri_opt.replay.studies.tables import comparison
    from muri_opt.replay.workloads.skipped_rows import NOTES
    from muri_opt.report.format import count, printable
    from muri_opt.report.tables import LONG, table
    from muri_opt.studies.runner.intervals import STATISTICS

    lines = []
    if 0 < len(rows) <= LONG:
        head, cells = comparison(rows)
        shown = [[printable(cell) for cell in line] for line in cells]
        lines += [*table(head, shown, right=range(head.index("jobs"), len(head))), ""]
    repeated = [one for one in repeats_of(rows) if one.figure == "mean"]
    if repeated:
        shown = [[printable(cell) for cell in one.cells()] for one in repeated]
        lines += [*table(HEAD, shown, right=range(WORDS, len(HEAD))), STATISTICS, ""]
    lines += [printable(_limit(workload, bounds)) for workload, bounds in limits.items()]
    outside = outside_bounds(row.run for row in rows) if limits else ()
    if outside:
        lines.append(f"not for {', '.join(outside)}: there several jobs use a resource of GPUs at the same time")
    for workload, notes in {row.run.workload: row.notes for row in rows}.items():
        lines += [f"{printable(workload)}: {count(number, 'job')} {NOTES[reason]}" for reason, number in notes.items()]
    counted = sum(int(row.figures["counted"]) for row in rows)
    if counted:
        lines.append(f"{count(counted, 'decision')} counted that broke rules or could not be made")
    for run_, found in failed.failures if failed is not None else ():
        where = f"{run_.workload} under {run_.policy}, {run_.method}, seed {run_.seed}"
        lines.append(printable(f"failed: {where}: {found.message}"))
    lines.append(printable(f"{count(len(rows), 'run')} in {folder}: results.csv, comparison.md"))
    return "\n".join(lines) + "\n"


def _json(rows: Sequence[RunRow], failed: StudyError | None, limits: Mapping[str, Sequence[LowerBound]]) -> str:
    from dataclasses import asdict

    import msgspec

    from muri_opt.replay.studies.limits import outside_bounds
    from muri_opt.replay.studies.repeats import repeats_of

    answer: dict[str, Any] = {
        "runs": [row.as_dict() for row in rows],
        "notes": {row.run.workload: row.notes for row in rows},
        "repeats": [one.as_dict() for one in repeats_of(rows)],
        "bounds": {workload: [bound.as_dict() for bound in bounds] for workload, bounds in limits.items()},
        "outside_bounds": outside_bounds(row.run for row in rows),
        "failed": [
            {**asdict(run_), "cause": found.cause, "message": found.message}
            for run_, found in (failed.failures if failed is not None else ())
        ],
    }
    return msgspec.json.format(msgspec.json.encode(answer), indent=1).decode() + "\n"


COMMAND = Command(
    name="replay",
    summary="replay workloads under policies, and compare completion times",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
