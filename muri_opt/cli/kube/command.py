"""``muri-opt kube``: a snapshot of a Kubernetes cluster as a round."""

from __future__ import annotations

import argparse
import json

from muri_opt.cli.command import Command
from muri_opt.cli.files import check_writable, write_text
from muri_opt.cli.output import Reply
from muri_opt.errors import unknown_name

_EXAMPLES = """  muri-opt kube example kueue --output cluster.json
  muri-opt kube snapshot cluster.json --output round.json
  muri-opt kube snapshot nodes-and-pods.json kueue.json --output round.json
  muri-opt kube snapshot snapshot.zip --json
  muri-opt why round.json default/train --policy fifo"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the steps of the command."""
    steps = parser.add_subparsers(title="steps", metavar="STEP", required=True)
    words = "objects of Kubernetes, Kueue, KAI or Volcano as a round of format 2, and what it could not hold"
    snapshot = steps.add_parser("snapshot", help=words, description=words, allow_abbrev=False)
    snapshot.add_argument("files", metavar="FILE", nargs="+", help="JSON of kubectl, a dump of Volcano, a ZIP of KAI")
    snapshot.add_argument("--output", metavar="FILE", help="write the round to a file")
    snapshot.add_argument("--json", action="store_true", help="print what could not be held as JSON")
    snapshot.set_defaults(step=_snapshot)
    words = "write a small snapshot, to see what is read"
    example = steps.add_parser("example", help=words, description=words, allow_abbrev=False)
    example.add_argument("kind", metavar="KIND", help="kueue, kai or volcano")
    example.add_argument("--output", metavar="FILE", required=True, help="the file to write")
    example.set_defaults(step=_example)


def run(arguments: argparse.Namespace) -> Reply:
    """Take one step."""
    reply: Reply = arguments.step(arguments)
    return reply


def _example(arguments: argparse.Namespace) -> Reply:
    from muri_opt.cli.kube.example_objects import EXAMPLES

    if arguments.kind not in EXAMPLES:
        raise unknown_name("kind", arguments.kind, EXAMPLES)
    text = "\n".join(json.dumps(document, indent=1) for document in EXAMPLES[arguments.kind]())
    write_text(arguments.output, text + "\n")
    return Reply()


def _snapshot(arguments: argparse.Namespace) -> Reply:
    check_writable(arguments.output)
    from muri_opt.cli.kube.reader import read_kube
    from muri_opt.rounds.files import in_format
    from muri_opt.rounds.round import ROUND_FORMATS

    round_, ledger = read_kube(arguments.files)
    if arguments.output is not None:
        write_text(arguments.output, in_format(round_, ROUND_FORMATS[1]).decode())
    return Reply(json.dumps(ledger.content(), indent=1) + "\n" if arguments.json else ledger.text())


COMMAND = Command(
    name="kube",
    summary="read snapshots of Kubernetes, Kueue, KAI Scheduler and Volcano as rounds",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
