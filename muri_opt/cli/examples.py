"""``muri-opt examples``: what people want to do, and the command that does it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Final

from muri_opt.cli.command import Command
from muri_opt.cli.output import Reply
from muri_opt.errors import unknown_name

_EXAMPLES = """  muri-opt examples
  muri-opt examples operate
  muri-opt examples --json"""

EXAMPLES: Final[Mapping[str, Mapping[str, str]]] = {
    "start": {
        "decide a round that comes with the package": "muri-opt solve toy/eight-gangs --policy srtf",
        "draw the decision": "muri-opt solve toy/eight-gangs --policy srtf --picture round.svg",
        "keep the answer": "muri-opt solve toy/eight-gangs --policy srtf --output result.json",
        "check a kept answer by rules of its own": "muri-opt verify toy/eight-gangs result.json",
        "make a round to try things on": "muri-opt generate gangs --jobs 20 --nodes 4 --output round.json",
        "see what a round holds": "muri-opt show round.json",
    },
    "operate": {
        "say why a job waits": "muri-opt why toy/eight-gangs llama --policy srtf",
        "see what two more nodes would start": "muri-opt what-if toy/eight-gangs --policy srtf --add-nodes 2x4",
        "make room for a job by moving others": "muri-opt defragment toy/three-fragments --job job-8",
        "read a Kubernetes queue": "muri-opt kube example kueue --output queue.json",
    },
    "measure": {
        "see why an algorithm is below the optimum": "muri-opt gap toy/eight-gangs --policy srtf",
        "see where the grouping of Muri loses": "muri-opt loss toy/eight-stages",
        "hold an answer against the best that is known": "muri-opt library challenge result.json",
        "list rounds with known optima": "muri-opt library --family toy",
        "write the exact program of a round": "muri-opt export toy/two-gangs --policy fifo --output round.lp",
    },
    "replay": {
        "run a generated workload under two policies": (
            "muri-opt replay 'generate:philly?jobs=30&most-gpus=8' --cluster 2x8 --policy fifo,srtf --folder study"
        ),
        "get a small trace to start from": "muri-opt trace --example philly --output jobs.json",
        "describe a trace": "muri-opt trace jobs.json",
    },
    "learn": {
        "list the policies": "muri-opt policies",
        "explain one policy": "muri-opt policies muri-s",
        "see whether all solvers work here": "muri-opt doctor",
    },
}
"""By topic: what is wanted, and the command; those of a topic can be given one after another in an empty folder."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("topic", metavar="TOPIC", nargs="?", help=f"{', '.join(EXAMPLES)} (default: all)")
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def run(arguments: argparse.Namespace) -> Reply:
    """Return the examples."""
    if arguments.topic is not None and arguments.topic not in EXAMPLES:
        raise unknown_name("topic", arguments.topic, EXAMPLES)
    chosen = [arguments.topic] if arguments.topic is not None else list(EXAMPLES)
    if arguments.json:
        return Reply(json.dumps({topic: EXAMPLES[topic] for topic in chosen}, indent=1) + "\n")
    lines = []
    for topic in chosen:
        lines += [f"{topic}:"]
        for wanted, command in EXAMPLES[topic].items():
            lines += [f"  {wanted}", f"    {command}"]
        lines.append("")
    return Reply("\n".join(lines).rstrip() + "\n")


COMMAND = Command(
    name="examples",
    summary="show by topic what to type for what",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
