"""``muri-opt check-allocator``: search small rounds on which an allocator, in any language, does something wrong."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

from muri_opt.cli.command import Command
from muri_opt.cli.files import write_text
from muri_opt.cli.output import ExitCode, Reply
from muri_opt.errors import InputError, unknown_name

if TYPE_CHECKING:
    from muri_opt.systems import Policy
    from muri_opt.testing import Allocator, Invariant, Report

_SECONDS: Final = 60.0
"""The start of a program counts into its first answer, and a machine may be loaded."""
_EXAMPLES = """  muri-opt check-allocator --command 'python3 mine.py'
  muri-opt check-allocator --command './mine --stdio' --without cpus,memory,quotas --invariants safety,alone
  muri-opt check-allocator --function mine:decide --invariants safety,settles --examples 1000
  muri-opt check-allocator --dicts mine:decide --output found/

A program reads lines {"id": 1, "do": "solve", "round": {...}} and writes lines {"id": 1, "answer": {"j0": {"n0": 2}}}:
the GPUs per node of each job that runs. A program that ends, hangs or writes something else has a fault, too. Code 1:
an invariant is broken; the smallest round is told. Code 4: none is, but one, or some aspect of one, was not tested."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add = parser.add_argument
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--command", metavar="WORDS", help="a program that answers rounds line by line; no shell runs")
    which.add_argument(
        "--function", metavar="M:A", help="module:attribute of a function from Round to Decision, or a policy"
    )
    which.add_argument("--dicts", metavar="M:A", help="module:attribute of a function from dict to dict")
    add("--each-round", action="store_true", help="start the program anew for every round; its input ends after it")
    add(
        "--invariants",
        metavar="A,B",
        default="safety",
        help="names of invariants, or safety, rationality, fairness (default: %(default)s)",
    )
    add("--rules", metavar="POLICY", help="judge by the rules and the value of a policy (default: plain gangs)")
    add("--without", metavar="A,B", default="", help="what rounds do not say: cpus, memory, quotas (default: nothing)")
    add("--fields", metavar="A,B", help="fields of round format 2 that rounds use too, such as job.gpu_types")
    add("--examples", metavar="N", type=int, help="rounds to draw (default: 100, or 300 with fields)")
    add("--seed", metavar="S", type=int, default=0, help="same seed, same rounds (default: %(default)s)")
    add("--seconds", metavar="S", type=float, default=_SECONDS, help="most for one answer (default: %(default)g)")
    add("--output", metavar="DIR", help="write the smallest round of each breach to a file in a folder")
    add("--json", action="store_true", help="print JSON and nothing else")


def run(arguments: argparse.Namespace) -> Reply:
    """Search, write what was found, and tell it."""
    try:
        from muri_opt.testing import find_breaches
    except ImportError:
        raise InputError("check-allocator", "no package 'hypothesis'", "pip install 'muri-opt[testing]'") from None
    _check(arguments)
    invariants = _invariants(arguments.invariants)
    with ExitStack() as opened:
        report = find_breaches(
            _allocator(arguments, opened),
            invariants,
            policy=arguments.rules,
            without=_names(arguments.without),
            fields=None if arguments.fields is None else _fields(arguments.fields),
            max_examples=arguments.examples,
            seed=arguments.seed,
            seconds=arguments.seconds,
        )
    if arguments.output is not None:
        for one in report.broken:
            write_text(str(Path(arguments.output) / f"{one.breach.invariant}.json"), one.json + "\n")
    return Reply(_json(report) if arguments.json else f"{report}\n", _code(report))


def _code(report: Report) -> ExitCode:
    if report.broken:
        return ExitCode.VIOLATION
    return ExitCode.ANSWER if report.ok else ExitCode.NOTHING_FOUND


def _check(arguments: argparse.Namespace) -> None:
    """Refuse what can be refused before anything runs."""
    if arguments.each_round and arguments.command is None:
        raise InputError("--each-round", "no --command", "a program that can be started anew")
    if arguments.examples is not None and arguments.examples < 1:
        raise InputError("--examples", str(arguments.examples), "a number from 1")
    if not 0 < arguments.seconds <= 1e6:
        raise InputError("--seconds", str(arguments.seconds), "a number above 0, to 1,000,000")
    if arguments.output is not None:
        try:
            Path(arguments.output).mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            raise InputError("--output", f"{arguments.output!r} ({error})", "a folder that can be written") from None


def _allocator(arguments: argparse.Namespace, opened: ExitStack) -> Allocator | Policy:
    from muri_opt.systems import policy_from
    from muri_opt.systems.naming import attribute_at
    from muri_opt.testing import from_command, from_dicts

    if arguments.command is not None:
        return opened.enter_context(from_command(arguments.command, each_round=arguments.each_round))
    if arguments.function is not None:
        return policy_from(arguments.function)
    function = attribute_at("--dicts", arguments.dicts, "module:attribute of a function from dict to dict")
    if not callable(function):
        found = f"{arguments.dicts!r}, a {type(function).__name__}"
        raise InputError("--dicts", found, "module:attribute of a function from dict to dict")
    return from_dicts(function)


def _invariants(text: str) -> list[Invariant]:
    """Return the invariants of names and tiers, each once."""
    from muri_opt.testing import INVARIANTS, Tier

    tiers = {tier.value: [one for one in INVARIANTS.values() if one.tier is tier] for tier in Tier}
    chosen: dict[str, Invariant] = {}
    for name in _names(text):
        if name not in tiers and name not in INVARIANTS:
            raise unknown_name("--invariants", name, [*tiers, *INVARIANTS])
        chosen |= {one.name: one for one in tiers.get(name) or [INVARIANTS[name]]}
    if not chosen:
        raise InputError("--invariants", "no name", "names of invariants, or safety, rationality, fairness")
    return list(chosen.values())


def _fields(text: str) -> list[str]:
    from muri_opt.rounds.used_fields import FIELDS

    names = _names(text)
    for name in names:
        if name not in FIELDS:
            raise unknown_name("--fields", name, FIELDS)
    return names


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _json(report: Report) -> str:
    import msgspec

    broken = [
        {
            "invariant": one.breach.invariant,
            "amount": one.breach.amount,
            "detail": one.breach.detail,
            "after_examples": one.after_examples,
            "round": one.round_,
        }
        for one in report.broken
    ]
    answer = {
        "ok": report.ok,
        "examples": report.examples,
        "broken": broken,
        "kept": report.kept,
        "untested": report.untested,
        "worst": report.worst,
        "exercised": report.exercised,
        "not_exercised": report.not_exercised,
        "refused": report.refused,
        "refusal": report.refusal,
    }
    return msgspec.json.format(msgspec.json.encode(answer), indent=1).decode() + "\n"


COMMAND = Command(
    name="check-allocator",
    summary="search small rounds on which an allocator, in any language, breaks an invariant",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
