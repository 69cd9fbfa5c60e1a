"""``muri-opt policies``: what there is, what each needs, and which fields of format 2 it honours."""

from __future__ import annotations

import argparse
import json

from muri_opt.cli.command import Command
from muri_opt.cli.output import Reply

_EXAMPLES = """  muri-opt policies
  muri-opt policies --json

A round that uses another field than a policy honours is refused by it; the field's name says where it is."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def run(arguments: argparse.Namespace) -> Reply:
    """Return the policies."""
    from muri_opt.report.text.policies import described, policies_text

    found = described()
    return Reply(json.dumps(found, indent=1) + "\n" if arguments.json else policies_text(found))


COMMAND = Command(
    name="policies",
    summary="list every policy with what it needs and which fields it honours",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
