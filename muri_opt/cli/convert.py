"""``muri-opt convert``: a round in another format, without some fields, or in the form in which files are written."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from muri_opt.cli.command import Command
from muri_opt.cli.files import check_writable, round_from, write_text
from muri_opt.cli.output import Reply

if TYPE_CHECKING:
    from collections.abc import Mapping

_EXAMPLES = """  muri-opt convert old.json new.json --format 2
  muri-opt convert toy/two-gangs round.json
  muri-opt convert queue.json plain.json --without job.deadline,tenant.weight

Without --format the file is of format 1 where that can say all that the round says, else of format 2. Format 2 says a
rack as a level, and that no gang mixes GPU types: the command says so where nodes have several. --without drops fields
of format 2 that a policy does not honour, and says how many nodes, tenants, jobs or plans had said them."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("round", metavar="IN", help="the round: a file, - for the standard input, or a shipped one")
    parser.add_argument("output", metavar="OUT", help="the file to write")
    parser.add_argument(
        "--without", metavar="FIELDS", help="fields of format 2 to drop, such as job.deadline,tenant.weight"
    )
    parser.add_argument("--format", type=int, choices=(1, 2), help="the format (default: 1 where it will do)")
    parser.add_argument("--json", action="store_true", help="print what was written as JSON")


def run(arguments: argparse.Namespace) -> Reply:
    """Write the round, and say what it is now."""
    from msgspec.structs import replace

    from muri_opt.rounds.dropped_fields import without_fields
    from muri_opt.rounds.files import in_format
    from muri_opt.rounds.round import ROUND_FORMATS

    check_writable(arguments.output)
    round_ = round_from(arguments.round)
    said = list[str]()
    lost: Mapping[str, int] = {}
    if arguments.without is not None:
        round_, lost = without_fields(round_, arguments.without.split(","))
        said.append("without " + ", ".join(f"{field} ({number:,} said it)" for field, number in lost.items()))
    format_ = round_.format if arguments.format is None else ROUND_FORMATS[arguments.format - 1]
    write_text(arguments.output, in_format(round_, format_).decode())
    mixes = replace(round_, format=format_).used_fields != round_.used_fields
    if arguments.json:
        sizes = {"jobs": len(round_.jobs), "nodes": len(round_.cluster.nodes)}
        content = {"file": arguments.output, "format": format_, **sizes, "dropped": dict(lost), "types_apart": mixes}
        return Reply(json.dumps(content, indent=1) + "\n")
    what = f"{format_}, {len(round_.jobs):,} jobs, {len(round_.cluster.nodes):,} nodes"
    said.insert(0, f"{arguments.output}: {what}")
    if mixes:
        said.append("nodes have several GPU types: as a round of format 2, no gang mixes them")
    return Reply("\n".join(said) + "\n")


COMMAND = Command(
    name="convert",
    summary="write a round in format 1 or 2, or without some of its fields",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
