"""``muri-opt elastic``: how far rules for elastic shares are from the optimum of a round."""

from __future__ import annotations

import argparse

from muri_opt.cli.command import Command
from muri_opt.cli.files import add_round, round_from
from muri_opt.cli.limits import add_limits, limits_from
from muri_opt.cli.output import Reply

_SECONDS = 60.0
_EXAMPLES = """  muri-opt elastic round.json
  muri-opt elastic round.json --arrivals --json"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_round(parser)
    parser.add_argument("--arrivals", action="store_true", help="jobs submitted after the round's now arrive then")
    add_limits(parser, what="for the optimum", seconds=_SECONDS)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON and nothing else")


def run(arguments: argparse.Namespace) -> Reply:
    """Find the optimum and run every rule."""
    from dataclasses import asdict

    import msgspec

    from muri_opt.report.text.elastic_gap import elastic_text
    from muri_opt.studies.explain import elastic_gap

    limits = limits_from(arguments, seconds=_SECONDS)
    round_ = round_from(arguments.round)
    gap = elastic_gap(round_, arrivals=arguments.arrivals, seconds=limits.seconds, work=limits.work)
    if arguments.json:
        return Reply(msgspec.json.format(msgspec.json.encode(asdict(gap)), indent=1).decode() + "\n")
    return Reply(elastic_text(round_, gap))


COMMAND = Command(
    name="elastic",
    summary="hold rules for elastic shares against the proved optimum of total completion time",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
