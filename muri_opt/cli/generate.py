"""``muri-opt generate``: a seeded random round."""

from __future__ import annotations

import argparse
import json

from muri_opt.cli.command import Command
from muri_opt.cli.files import check_writable, write_text
from muri_opt.cli.output import Reply
from muri_opt.errors import InputError

_EXAMPLES = """  muri-opt generate --list
  muri-opt generate gangs --jobs 200 --nodes 16 --seed 7 --output round.json
  muri-opt generate tenants | muri-opt solve - --policy max-min"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("family", metavar="FAMILY", nargs="?", help="the kind of round; --list names them")
    parser.add_argument("--jobs", metavar="N", type=int, default=20, help="number of jobs (default: %(default)s)")
    parser.add_argument("--nodes", metavar="N", type=int, default=4, help="number of nodes (default: %(default)s)")
    parser.add_argument("--seed", metavar="S", type=int, default=0, help="same seed, same round (default: %(default)s)")
    parser.add_argument(
        "--demands", action="store_true", help="with all fields of format 2: types, labels, priorities, ..."
    )
    parser.add_argument("--output", metavar="FILE", help="write the round to a file instead of the standard output")
    parser.add_argument("--list", action="store_true", help="list the families")
    parser.add_argument("--json", action="store_true", help="print the list as JSON; a round always is")


def run(arguments: argparse.Namespace) -> Reply:
    """Return the round, or the families."""
    import msgspec

    from muri_opt.report.tables import table
    from muri_opt.rounds import canonical_json
    from muri_opt.rounds.generate.any_family import DESCRIPTIONS, draw_round

    if arguments.list:
        if arguments.json:
            return Reply(json.dumps(dict(DESCRIPTIONS), indent=1) + "\n")
        return Reply("\n".join(table(("family", "what it is"), list(DESCRIPTIONS.items()))) + "\n")
    if arguments.family is None:
        raise InputError("family", "nothing", "one of " + ", ".join(sorted(DESCRIPTIONS)))
    check_writable(arguments.output)
    round_ = draw_round(
        arguments.family, jobs=arguments.jobs, nodes=arguments.nodes, seed=arguments.seed, demands=arguments.demands
    )
    text = msgspec.json.format(canonical_json(round_), indent=1).decode() + "\n"
    if arguments.output is None:
        return Reply(text)
    write_text(arguments.output, text)
    return Reply()


COMMAND = Command(
    name="generate",
    summary="generate a random round of a family",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
