"""``muri-opt show``: a round, and what was decided, for people."""

from __future__ import annotations

import argparse
from difflib import get_close_matches
from typing import TYPE_CHECKING

from muri_opt.cli.command import Command
from muri_opt.cli.files import add_round, check_picture, result_from, round_from, write_picture
from muri_opt.cli.output import ExitCode, Reply
from muri_opt.errors import InputError

if TYPE_CHECKING:
    from muri_opt.rounds import Job, Round

_EXAMPLES = """  muri-opt show round.json
  muri-opt show round.json result.json --picture round.svg
  muri-opt show round.json result.json --groups groups.svg
  muri-opt show round.json result.json --job job-7
  muri-opt show round.json result.json --json"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_round(parser)
    parser.add_argument("result", metavar="RESULT.json", nargs="?", help="its result, checked before it is shown")
    parser.add_argument(
        "--picture",
        metavar="FILE",
        help="draw the decision, what runs now, or how the job shares, as SVG or PNG",
    )
    parser.add_argument("--groups", metavar="FILE", help="draw all groups of jobs that share GPUs, as SVG or PNG")
    parser.add_argument("--job", metavar="ID", help="explain one job, and show how it shares its GPUs")
    parser.add_argument("--all", action="store_true", help="list every node and job of a large round")
    parser.add_argument("--json", action="store_true", help="print who is where, and who waits and why, as JSON")


def run(arguments: argparse.Namespace) -> Reply:
    """Return the round as text, with the decision if there is a result."""
    check_picture(arguments.picture)
    check_picture(arguments.groups)
    from msgspec.structs import replace

    from muri_opt.report.gantt.group import groups_picture, shared_chart
    from muri_opt.report.round.round_svg import round_picture
    from muri_opt.report.text.check import check_text
    from muri_opt.report.text.round import decided_text, job_text, round_text
    from muri_opt.report.text.shown import shown_faults, shown_json
    from muri_opt.verify import verify

    round_ = round_from(arguments.round)
    job = None if arguments.job is None else job_named(round_, arguments.job)
    if arguments.result is None and arguments.groups is not None:
        raise InputError("--groups", "no result", "RESULT.json, too: who shares is decided there")
    if arguments.result is None:
        return _undecided(arguments, round_, job)
    result = result_from(arguments.result)
    certificate = verify(round_, result)
    if certificate.violations:
        faults = shown_faults(certificate) if arguments.json else check_text(round_, result, certificate)
        return Reply(faults, ExitCode.VIOLATION)
    known = replace(result, certificate=certificate)
    if arguments.groups is not None:
        write_picture(arguments.groups, groups_picture(round_, known))
    chart = None if job is None else shared_chart(round_, known, job.id)
    if arguments.picture is not None:
        svg = round_picture(round_, known.decision, known) if chart is None else chart.as_svg()
        write_picture(arguments.picture, svg)
    if arguments.json:
        return Reply(shown_json(round_, known.decision, job))
    if job is not None:
        shared = "" if chart is None else "\n" + chart.as_text()
        return Reply(job_text(job, known.decision) + shared)
    return Reply(round_text(round_, whole=arguments.all) + "\n" + decided_text(round_, known, whole=arguments.all))


def _undecided(arguments: argparse.Namespace, round_: Round, job: Job | None) -> Reply:
    from muri_opt.report.round.round_svg import round_picture
    from muri_opt.report.text.round import job_text, present_text, round_text
    from muri_opt.report.text.shown import shown_json

    if arguments.picture is not None:
        write_picture(arguments.picture, round_picture(round_))
    if arguments.json:
        return Reply(shown_json(round_, None, job))
    if job is not None:
        return Reply(job_text(job, None))
    return Reply(round_text(round_, whole=arguments.all) + "\n" + present_text(round_, whole=arguments.all))


def job_named(round_: Round, name: str) -> Job:
    """Return the job of an id, or refuse it with the nearest one."""
    from muri_opt.rounds.error_text import listed, shown

    place = round_.job_index.get(name)
    if place is None:
        near = get_close_matches(name, round_.job_index, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise InputError("job", shown(name) + hint, f"a job of the round: {listed(round_.job_index)}")
    return round_.jobs[place]


COMMAND = Command(
    name="show",
    summary="show a round and, with a result, the decision on every node and why each waiting job waits",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
