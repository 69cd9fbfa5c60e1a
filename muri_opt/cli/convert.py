"""``muri-opt convert``: a round in another format, or in the form in which files are written."""

from __future__ import annotations

import argparse

from muri_opt.cli.command import Command
from muri_opt.cli.files import check_writable, round_from, write_text
from muri_opt.cli.output import Reply

_EXAMPLES = """  muri-opt convert old.json new.json --format 2
  muri-opt convert toy/two-gangs round.json

Without --format the file is of format 1 where that can say all that the round says, else of format 2. Format 2 says a
rack as a level, and that no gang mixes GPU types: the command says so where nodes have several."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("round", metavar="IN", help="the round: a file, - for the standard input, or a shipped one")
    parser.add_argument("output", metavar="OUT", help="the file to write")
    parser.add_argument("--format", type=int, choices=(1, 2), help="the format (default: 1 where it will do)")


def run(arguments: argparse.Namespace) -> Reply:
    """Write the round, and say what it is now."""
    from msgspec.structs import replace

    from muri_opt.rounds.files import in_format
    from muri_opt.rounds.round import ROUND_FORMATS

    check_writable(arguments.output)
    round_ = round_from(arguments.round)
    format_ = round_.format if arguments.format is None else ROUND_FORMATS[arguments.format - 1]
    write_text(arguments.output, in_format(round_, format_).decode())
    said = [f"{arguments.output}: {format_}, {len(round_.jobs):,} jobs, {len(round_.cluster.nodes):,} nodes"]
    if replace(round_, format=format_).used_fields != round_.used_fields:
        said.append("nodes have several GPU types: as a round of format 2, no gang mixes them")
    return Reply("\n".join(said) + "\n")


COMMAND = Command(
    name="convert",
    summary="write a round in format 1 or 2",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
