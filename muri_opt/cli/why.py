"""``muri-opt why``: why a job waits, what would let it start, and when it would start by itself."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from muri_opt.cli.command import Command
from muri_opt.cli.files import add_round, check_writable, round_from, write_text
from muri_opt.cli.output import Reply, exit_code
from muri_opt.cli.progress import solve_line
from muri_opt.cli.show import job_named
from muri_opt.cli.what_if import add_asking, limits_asked

if TYPE_CHECKING:
    from muri_opt.rounds import Round

_EXAMPLES = """  muri-opt why round.json job-7 --policy philly
  muri-opt why round.json job-7 --when --html ticket.html
  muri-opt why toy/two-gangs job-1"""

# Long lines go on below their words, not below the label in the first 13 columns.
_STYLE = "pre{white-space:pre-wrap;overflow-wrap:anywhere}pre span{display:block;padding-left:13ch;text-indent:-13ch}"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_round(parser)
    add_why(parser)


def add_why(parser: argparse.ArgumentParser) -> None:
    """Add the job and how it is explained, for :func:`why_reply`."""
    parser.add_argument("job", metavar="JOB", help="the id of a job of the round")
    add_asking(parser)
    parser.add_argument("--html", metavar="FILE.html", help="write the answer as a page for a ticket too")


def run(arguments: argparse.Namespace) -> Reply:
    """Decide the round and explain the job."""
    return why_reply(round_from(arguments.round), arguments)


def why_reply(round_: Round, arguments: argparse.Namespace) -> Reply:
    """Return why a job of a round runs or waits, as the options of :func:`add_why` ask for it."""
    check_writable(arguments.html)
    from muri_opt.replay.what_if.start_times import start_times
    from muri_opt.report.charts.frame import escaped
    from muri_opt.report.charts.html_page import page_html
    from muri_opt.report.text.what_if import why_json, why_text
    from muri_opt.solve.round import solve_round

    job = job_named(round_, arguments.job)
    with solve_line():
        result = solve_round(round_, arguments.policy, arguments.method, limits_asked(arguments))
    starts = start_times(round_, arguments.policy) if arguments.when else None
    text = why_text(job, result, starts)
    if arguments.html is not None:
        about = f"Decided by the policy {result.policy} in the round {round_.name or 'without a name'}."
        lines = "".join(f"<span>{escaped(line)}\n</span>" for line in text.splitlines())
        write_text(arguments.html, page_html(f"Job {job.id}", about, f"<pre>{lines}</pre>", style=_STYLE))
    return Reply(why_json(job, result, starts) if arguments.json else text, exit_code(result))


COMMAND = Command(
    name="why",
    summary="say why a job waits, by name of what binds, what would let it start, and when it would start by itself",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
