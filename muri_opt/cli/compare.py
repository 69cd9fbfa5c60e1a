"""``muri-opt compare``: rounds under policies by several methods; what is done is kept, and skipped next time."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from muri_opt.cli.command import Command
from muri_opt.cli.limits import add_limits, limits_from
from muri_opt.cli.output import ExitCode, Reply
from muri_opt.cli.progress import Bar
from muri_opt.cli.studies import add_study_options, check_pictures, policies_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muri_opt.studies.compare import CompareRow, StoredOptimumError, Summary

_LISTED = 10
_SECONDS = 10.0
_EXAMPLES = """  muri-opt compare small
  muri-opt compare small/gangs-01 round.json --policies fifo,srtf:nodes=fewest --seconds 20
  muri-opt compare 'generate:muri?jobs=12&count=200&seed=1' --policies muri-s,muri-l --report gaps.html
  muri-opt compare rounds/ --policies all --methods heuristic,exact@highs --engine ray --json

Code 1: values and bounds contradict each other, an answer breaks rules, or a stored optimum does not verify. Code 5: a
solver failed."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add = parser.add_argument
    add(
        "instances",
        metavar="INSTANCES",
        nargs="+",
        help="a family or an instance of the library, a file or a folder of rounds, or generate:FAMILY?jobs=N&nodes=N"
        "&count=N&seed=S",
    )
    add(
        "--policies",
        metavar="A,B,C",
        action="append",
        help="policies, 'all', or 'stored': those that the library has stored; KEY=VALUE after a comma belongs to the "
        "policy before; may be repeated (default: stored)",
    )
    add(
        "--methods",
        metavar="M,N",
        default="heuristic,exact@cp-sat,exact@highs",
        help="heuristic, auto, exact or exact@BACKEND (default: %(default)s)",
    )
    add_limits(parser, what="for each solve", seconds=_SECONDS)
    add("--gap", metavar="G", type=float, default=0.0, help="relative gap that is near enough (default: %(default)s)")
    add_study_options(parser, "compare-results")
    add("--library", metavar="DIR", help="a library elsewhere (default: the one of the package)")


def run(arguments: argparse.Namespace) -> Reply:
    """Run the study and return its summary; what cannot be true decides the code."""
    check_pictures(arguments)
    from muri_opt.studies.compare import StoredOptimumError, compare, summary_of

    limits = limits_from(arguments, seconds=_SECONDS, gap=arguments.gap)
    with Bar("runs") as bar:
        try:
            rows = compare(
                arguments.instances,
                folder=arguments.folder,
                policies=policies_in(arguments.policies or ["stored"]),
                methods=arguments.methods.split(","),
                seconds=limits.seconds,
                work=limits.work,
                gap=limits.gap,
                engine=arguments.engine,
                jobs=arguments.jobs,
                parquet=arguments.parquet,
                library=arguments.library,
                progress=bar,
            )
        except StoredOptimumError as error:
            return Reply(_wrong(error, json=arguments.json), ExitCode.VIOLATION)
    _draw(rows, arguments.report, arguments.figures)
    summary = summary_of(rows)
    text = _json(rows, summary) if arguments.json else _text(rows, summary, arguments.folder)
    return Reply(text, _code(summary))


def _code(summary: Summary) -> ExitCode:
    if summary.contradictions or summary.violated:
        return ExitCode.VIOLATION
    return ExitCode.SOLVER_FAILED if summary.failed else ExitCode.ANSWER


def _draw(rows: Sequence[CompareRow], report: str | None, figures: str | None) -> None:
    if report is not None:
        from muri_opt.report.charts.comparison_html import write_comparison_report

        write_comparison_report(rows, report)
    if figures is not None:
        from muri_opt.report.charts.comparison_figures import write_figures

        write_figures(rows, figures)


def _text(rows: Sequence[CompareRow], summary: Summary, folder: str) -> str:
    from muri_opt.report.format import count, printable
    from muri_opt.report.tables import table
    from muri_opt.studies.compare import repeats
    from muri_opt.studies.compare.summary import HEAD, WORDS
    from muri_opt.studies.runner.intervals import STATISTICS

    cells = [one.cells() for one in summary.methods]
    lines = [*table(HEAD, cells, right=range(WORDS, len(HEAD))), ""]
    missing = [one.cells() for one in summary.repeats if one.loss.mean > 0 or one is summary.repeats[0]]
    if len(missing) > 1:
        lines += [*table(repeats.HEAD, missing, right=range(repeats.WORDS, len(repeats.HEAD))), STATISTICS, ""]
    lines += summary.lines()
    for what, entries in summary.lists().items():
        if entries:
            lines += ["", f"{what}:", *(f"  {printable(entry)}" for entry in entries[:_LISTED])]
            lines += [f"  ... and {len(entries) - _LISTED:,} more in comparison.md"] if len(entries) > _LISTED else []
    lines += ["", printable(f"{count(len(rows), 'run')} in {folder}: results.csv, comparison.md")]
    return "\n".join(lines) + "\n"


def _json(rows: Sequence[CompareRow], summary: Summary) -> str:
    import msgspec

    answer = {"runs": [row.as_dict() for row in rows], "summary": summary.as_dict()}
    return msgspec.json.format(msgspec.json.encode(answer), indent=1).decode() + "\n"


def _wrong(error: StoredOptimumError, *, json: bool) -> str:
    from muri_opt.report.format import printable

    if json:
        from dataclasses import asdict

        import msgspec

        answer = {"stored": [asdict(finding) for finding in error.findings]}
        return msgspec.json.format(msgspec.json.encode(answer), indent=1).decode() + "\n"
    lines = [f"  {printable(line)}" for finding in error.findings for line in finding.lines()]
    return "\n".join([f"stored in the library and not true: {len(error.findings):,}", *lines]) + "\n"


COMMAND = Command(
    name="compare",
    summary="compare methods on rounds: values, bounds, gaps, times and proofs",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
