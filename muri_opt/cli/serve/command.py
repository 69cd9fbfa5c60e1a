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
    parser.add_argument("--host", metavar="H", default="127.0.0.1", help="the address of HTTP (default: %(default)s)")
    parser.add_argument(
        "--slots", metavar="N", type=int, default=2, help="rounds solved at a time (default: %(default)s)"
    )
    parser.add_argument("--token-file", metavar="FILE", help="a file with the token that clients of HTTP have to send")


def run(arguments: argparse.Namespace) -> Reply:
    """Serve until the input ends, or a signal comes."""
    folder = _folder(arguments.journals)
    return _lines(folder) if arguments.stdio else _http(arguments, folder)


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
    if not 1 <= arguments.slots <= MOST_SLOTS:
        raise InputError("--slots", str(arguments.slots), f"a number from 1 to {MOST_SLOTS}")
    if not 0 <= arguments.http <= MOST_PORT:
        raise InputError("--http", str(arguments.http), f"a port from 0 to {MOST_PORT}")
    journals = None if folder is None else str(folder)
    serve_http(
        arguments.host,
        arguments.http,
        Settings(slots=arguments.slots, token=_token(arguments.token_file), journals=journals),
    )
    return Reply()


def _token(name: str | None) -> str | None:
    if name is None:
        return None
    try:
        token = Path(name).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeError) as error:
        raise InputError("--token-file", str(error), "a readable file") from None
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
        raise InputError("--journals", error.strerror or str(error), "a folder that can be written") from None
    return path


COMMAND = Command(
    name="serve",
    summary="answer messages of other programs: solve, verify, why, what-if, and sessions",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
