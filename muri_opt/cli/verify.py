"""``muri-opt verify``: check a result against its round."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from muri_opt.cli.command import Command
from muri_opt.cli.files import add_round, check_writable, result_from, round_from, write_text
from muri_opt.cli.output import ExitCode, Reply

if TYPE_CHECKING:
    from muri_opt.rounds import Result, Round

_EXAMPLES = """  muri-opt verify round.json result.json
  muri-opt solve round.json --json | muri-opt verify round.json -
  muri-opt verify round.json result.json --program certificate.json

The check has rules and arithmetic of its own. It ends with code 1 if any rule is broken.
--program also writes the exact program of the round, the decision as a point of it and a proof by dual values, and has
them checked by the kernel, which reads nothing else: python -m muri_opt.verify.kernel certificate.json"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_round(parser)
    parser.add_argument("result", metavar="RESULT.json", help="its result; - reads it from the standard input")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON: the certificate")
    parser.add_argument("--program", metavar="FILE", help="write a certificate for the kernel, and check it")


def run(arguments: argparse.Namespace) -> Reply:
    """Check the result and return what was found."""
    import msgspec

    from muri_opt.report.text.check import check_text
    from muri_opt.verify import verify

    check_writable(arguments.program)
    round_ = round_from(arguments.round)
    result = result_from(arguments.result)
    certificate = verify(round_, result)
    shown = ""
    if arguments.program is not None and certificate.feasible:
        shown = _program(round_, result, arguments.program)
    code = ExitCode.VIOLATION if certificate.violations else ExitCode.ANSWER
    if arguments.json:
        return Reply(msgspec.json.format(msgspec.json.encode(certificate), indent=1).decode() + "\n", code)
    return Reply(check_text(round_, result, certificate) + shown, code)


def _program(round_: Round, result: Result, name: str) -> str:
    """Write the certificate of a decision's exact program; return what the kernel says of it."""
    import json

    from muri_opt.report.format import integer
    from muri_opt.report.text.result import labelled
    from muri_opt.solve.certify import certificate_of
    from muri_opt.verify import kernel

    if result.decision is None:
        return ""
    text = json.dumps(certificate_of(round_, result.rules, result.decision))
    value, bound = kernel.check(json.loads(text))
    write_text(name, text + "\n")
    said = f"feasible with value {integer(value)}; no point is better than {integer(bound)}"
    return "\n".join(labelled([("kernel", said)])) + "\n"


COMMAND = Command(
    name="verify",
    summary="check a result against its round: every rule, the value, the bound",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
