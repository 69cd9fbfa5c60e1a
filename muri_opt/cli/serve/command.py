"""``muri-opt serve``: answer messages of other programs."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from muri_opt.cli.command import Command
from muri_opt.cli.output import Reply
from muri_opt.errors import InputError

HOST = "127.0.0.1"
SLOTS = 2
MOST_SLOTS = 256
MOST_PORT = 65_535
LEAST_TOKEN = 16
_EXAMPLES = """  echo '{"id": 1, "do": "session/state"}' | muri-opt serve --stdio
  muri-opt serve --stdio --journals state/
  muri-opt serve --http 8080 --slots 4 --journals state/
  muri-opt serve --http 8080 --host 0.0.0.0 --token-file token.txt"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--stdio", action="store_true", help="JSON lines in, JSON lines out")
    way.add_argument("--http", metavar="PORT", type=int, help="serve HTTP on a port; 0 is any that is free")
    parser.add_argument("--journals", metavar="DIR", help="the folder of sessions' journals (default: none is written)")
    parser.add_argument("--host", metavar="H", help=f"the address of HTTP (default: {HOST})")
    parser.add_argument("--slots", metavar="N", type=int, help=f"rounds solved at a time (default: {SLOTS})")
    parser.add_argument("--token-file", metavar="FILE", help="a file with the token that clients of HTTP have to send")


def run(arguments: argparse.Namespace) -> Reply:
    """Serve until the input ends, or a signal comes."""
    if arguments.stdio:
        _check_of_http(arguments)
    folder = _folder(arguments.journals)
    return _lines(folder) if arguments.stdio else _http(arguments, folder)


def _check_of_http(arguments: argparse.Namespace) -> None:
    """Refuse what says how HTTP is served: over the standard streams there is nobody to keep out, and one slot."""
    for option, said in (
        ("--host", arguments.host),
        ("--slots", arguments.slots),
        ("--token-file", arguments.token_file),
    ):
        if said is not None:
            raise InputError(option, f"{said!r} with --stdio", "this option with --http")


def _lines(folder: Path | None) -> Reply:
    from muri_opt.cli.serve.service import Service
    from muri_opt.cli.serve.stdio import serve_lines
    from muri_opt.solve.loading import warm_up

    service = Service(journals=folder)
    warm_up()
    try:
        with _answers_alone() as target:
            serve_lines(service, sys.stdin.buffer, target)
    except BrokenPipeError:  # whoever asked has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    finally:
        service.close_all()
    return Reply()


@contextmanager
def _answers_alone() -> Iterator[BinaryIO]:
    """Lend the output for answers; what a policy prints meanwhile goes to the errors."""
    sys.stdout.flush()
    number = sys.stdout.fileno()
    answers = os.dup(number)
    os.dup2(sys.stderr.fileno(), number)
    try:
        with open(answers, "wb", closefd=False) as target:
            yield target
    finally:
        sys.stdout.flush()
        os.dup2(answers, number)
        os.close(answers)


def _http(arguments: argparse.Namespace, folder: Path | None) -> Reply:
    try:
        from muri_opt.cli.serve.http_app import Settings
        from muri_opt.cli.serve.http_server import serve_http
    except ImportError as error:
        allowed = "its packages: pip install 'muri-opt[serve]'"
        raise InputError("--http", f"no package {error.name!r}", allowed) from None
    slots = SLOTS if arguments.slots is None else arguments.slots
    if not 1 <= slots <= MOST_SLOTS:
        raise InputError("--slots", str(slots), f"a number from 1 to {MOST_SLOTS}")
    if not 0 <= arguments.http <= MOST_PORT:
        raise InputError("--http", str(arguments.http), f"a port from 0 to {MOST_PORT}")
    journals = None if folder is None else str(folder)
    serve_http(
        HOST if arguments.host is None else arguments.host,
        arguments.http,
        Settings(slots=slots, token=_token(arguments.token_file), journals=journals),
    )
    return Reply()


def _token(name: str | None) -> str | None:
    if name is None:
        return None
    try:
        token = Path(name).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeError) as error:
        found = getattr(error, "strerror", None) or str(error)
        raise InputError("--token-file", f"{name!r} ({found})", "a readable file") from None
    if len(token) < LEAST_TOKEN or not token.isascii() or not token.isprintable():
        raise InputError("--token-file", f"{len(token)} characters", f"at least {LEAST_TOKEN} printable ones of ASCII")
    return token


def _folder(name: str | None) -> Path | None:
    if name is None:
        return None
    path = Path(name)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        found = f"{name!r} ({error.strerror or error})"
        raise InputError("--journals", found, "a folder that can be written") from None
    return path


COMMAND = Command(
    name="serve",
    summary="answer messages of other programs: solve, verify, why, what-if, and sessions",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
