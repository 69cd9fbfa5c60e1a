"""``muri-opt verify``: check a result against its round."""

from __future__ import annotations

import argparse

from muri_opt.cli.command import Command
from muri_opt.cli.files import add_round, result_from, round_from
from muri_opt.cli.reply import ExitCode, Reply

_EXAMPLES = """  muri-opt verify round.json result.json
  muri-opt solve round.json --json | muri-opt verify round.json -

The check has rules and arithmetic of its own. It ends with code 1 if any rule is broken."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_round(parser)
    parser.add_argument("result", metavar="RESULT.json", help="its result; - reads it from the standard input")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON: the certificate")


def run(arguments: argparse.Namespace) -> Reply:
    """Check the result and return what was found."""
    import msgspec

    from muri_opt.report.check_text import check_text
    from muri_opt.verification import verify

    round_ = round_from(arguments.round)
    result = result_from(arguments.result)
    certificate = verify(round_, result)
    code = ExitCode.VIOLATION if certificate.violations else ExitCode.ANSWER
    if arguments.json:
        return Reply(msgspec.json.format(msgspec.json.encode(certificate), indent=1).decode() + "\n", code)
    return Reply(check_text(round_, result, certificate), code)


COMMAND = Command(
    name="verify",
    summary="check a result against its round: every rule, the value, the bound",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
