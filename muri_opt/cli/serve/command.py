"""``muri-opt serve``: answer messages of other programs."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from muri_opt.cli.command import Command
from muri_opt.cli.output import Reply
from muri_opt.errors import InputError

_EXAMPLES = """  echo '{"id": 1, "do": "session/state"}' | muri-opt serve --stdio
  muri-opt serve --stdio --journals state/"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--stdio", action="store_true", required=True, help="JSON lines in, JSON lines out")
    parser.add_argument("--journals", metavar="DIR", help="the folder of sessions' journals (default: none is written)")


def run(arguments: argparse.Namespace) -> Reply:
    """Serve until the input ends."""
    from muri_opt.cli.serve.service import Service
    from muri_opt.cli.serve.stdio import serve_lines
    from muri_opt.solve.loading import warm_up

    service = Service(journals=_folder(arguments.journals))
    warm_up()
    try:
        serve_lines(service, sys.stdin.buffer, sys.stdout.buffer)
    except BrokenPipeError:  # whoever asked has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    finally:
        service.close_all()
    return Reply()


def _folder(name: str | None) -> Path | None:
    if name is None:
        return None
    path = Path(name)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError("--journals", error.strerror or str(error), "a folder that can be written") from None
    return path


COMMAND = Command(
    name="serve",
    summary="answer messages of other programs: solve, verify, why, what-if, and sessions",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
