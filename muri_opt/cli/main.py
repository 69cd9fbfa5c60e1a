"""The entry point: one parser over all commands, one place that prints, one place that turns errors into codes."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NoReturn

from muri_opt import __version__
from muri_opt.cli.command import Command
from muri_opt.cli.groups import COMMANDS, grouped_commands
from muri_opt.cli.output import ExitCode, Reply, drop_output
from muri_opt.errors import InputError, unknown_name
from muri_opt.report.format import printable
from muri_opt.rounds.long_numbers import long_numbers

_SUMMARY = "Decide one scheduling round of a GPU cluster, with a proof of how good the decision is."
_EPILOG = """examples:
  muri-opt generate gangs --jobs 20 --nodes 4 --output round.json
  muri-opt solve round.json --policy srtf --output result.json
  muri-opt verify round.json result.json
  muri-opt show round.json result.json --picture round.svg

exit codes:
  0  an answer                          3  proved infeasible
  1  a check found a violation          4  stopped with nothing
  2  bad arguments or input             5  a solver failed

'muri-opt COMMAND --help' explains a command."""


class UsageError(Exception):
    """Arguments that cannot be parsed."""


class _Parser(argparse.ArgumentParser):
    """A parser that raises instead of printing its usage and leaving."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see '{self.prog} --help')")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code; every fault of the input is one line on the standard error."""
    try:
        reply = _reply(sys.argv[1:] if argv is None else list(argv))
        return _printed(reply)
    except (InputError, UsageError) as error:
        return _complain(str(error))
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED


def entry_point() -> NoReturn:
    """Run as a program of its own: set what belongs to the process, and leave with the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a closed stream is None
            stream.reconfigure(errors="backslashreplace")
    if "" not in sys.path:
        sys.path.append("")  # a policy given as module:attribute may be in this folder; what is installed goes first
    with long_numbers():
        sys.exit(main())


def build_parser(asked: Iterable[Command] = COMMANDS.values()) -> argparse.ArgumentParser:
    """Return the parser of all commands, or of those asked for: options of all take 15 ms, of one about 1 ms."""
    parser = _parser("muri-opt", f"{_SUMMARY}\n\n{grouped_commands()}", _EPILOG)
    parser.add_argument("--version", action="version", version=f"muri-opt {__version__}")
    parser.usage = "muri-opt [-h] [--version] COMMAND ..."
    commands = parser.add_subparsers(prog="muri-opt", metavar="COMMAND", required=True, help=argparse.SUPPRESS)
    for command in asked:
        child = commands.add_parser(
            command.name,
            description=command.summary,
            epilog=f"examples:\n{command.examples}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        command.add_options(child)
        child.set_defaults(run=command.run)
    return parser


def _parser(name: str, summary: str, epilog: str) -> _Parser:
    style = argparse.RawDescriptionHelpFormatter
    return _Parser(prog=name, description=summary, epilog=epilog, formatter_class=style, allow_abbrev=False)


def _reply(argv: list[str]) -> Reply:
    if not argv:
        return Reply(build_parser().format_help())
    if not argv[0].startswith("-") and argv[0] not in COMMANDS:
        raise unknown_name("command", argv[0], COMMANDS)
    asked = [COMMANDS[name] for name in argv[:1] if name in COMMANDS]
    try:
        arguments = build_parser(asked or COMMANDS.values()).parse_args(argv)
    except SystemExit:  # help or the version was asked for, and written
        return Reply()
    except BrokenPipeError:  # whoever asked for it has read enough
        drop_output()
        return Reply()
    reply: Reply = arguments.run(arguments)
    return reply


def _printed(reply: Reply) -> int:
    """Print the reply and return its code; whoever closed the pipe has read enough."""
    if sys.stdout is None:
        return reply.code
    try:
        sys.stdout.write(reply.text)
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output()
    except OSError as error:
        drop_output()
        return _complain(f"standard output: {error.strerror or error}")
    return reply.code


def _complain(message: str) -> int:
    if sys.stderr is not None:
        with suppress(OSError):
            print(f"muri-opt: {printable(message)}", file=sys.stderr)
    return ExitCode.BAD_INPUT
