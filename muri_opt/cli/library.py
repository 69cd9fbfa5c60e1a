"""``muri-opt library``: the rounds that come with the package, and the best that is known of each."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from muri_opt.cli.command import Command
from muri_opt.cli.files import check_writable
from muri_opt.cli.output import ExitCode, Reply
from muri_opt.cli.progress import Bar
from muri_opt.errors import InputError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muri_opt.studies.library import Change, Finding, GapFinding, Instance, Optimum

ACTIONS = ("list", "verify", "refresh", "table", "challenge")
_REFRESH_SECONDS = 10.0

_EXAMPLES = """  muri-opt library
  muri-opt library list --family small --policy muri-s --jobs 8
  muri-opt library verify
  muri-opt library verify --policy muri-l --seconds 10
  muri-opt library refresh --family stress --seconds 60
  muri-opt library table
  muri-opt library challenge answer.json
  muri-opt library challenge mine/ theirs/ --json

'verify' checks every stored value and bound without a solver; with --seconds the solvers that agreed on an optimum are
asked again. It ends with code 1 if one does not hold. 'refresh' solves again what is open or only agreed upon; a better
value or bound replaces the old one after verification. 'challenge' verifies answers as 'muri-opt solve --output'
writes them, and ranks the files or folders that are named; it ends with code 1 if an answer is refused."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "action", metavar="ACTION", nargs="?", default="list", help="list, verify, refresh, table or challenge"
    )
    parser.add_argument("answers", metavar="ANSWERS", nargs="*", help="of 'challenge': files or folders with results")
    parser.add_argument(
        "--family", metavar="F", help="only this family: toy, small, paper, stress, worst, peers or traces"
    )
    parser.add_argument("--policy", metavar="P", help="only this policy, with any parameters unless some are given")
    parser.add_argument("--jobs", metavar="N", type=int, help="only rounds of at most so many jobs")
    parser.add_argument(
        "--seconds",
        metavar="S",
        type=float,
        help=f"time for each solve: of 'verify' (default: none) or 'refresh' (default: {_REFRESH_SECONDS})",
    )
    parser.add_argument("--folder", metavar="DIR", help="a library elsewhere (default: the one of the package)")
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")


def run(arguments: argparse.Namespace) -> Reply:
    """Do what is asked with the instances that are asked for."""
    from muri_opt.studies.library import instances

    action = arguments.action
    if action not in ACTIONS:
        raise unknown_name("action", action, ACTIONS)
    if arguments.seconds is not None and action not in ("verify", "refresh"):
        raise InputError("--seconds", str(arguments.seconds), "only with verify and refresh")
    if arguments.json and action == "table":
        raise InputError("--json", "given", "not with table: 'list --json' has the same figures")
    if arguments.answers and action != "challenge":
        raise InputError("answers", arguments.answers[0], "only with challenge")
    found = instances(arguments.folder, family=arguments.family, policy=arguments.policy, most_jobs=arguments.jobs)
    if action == "table":
        from muri_opt.studies.library import readme_text

        return Reply(readme_text(found))
    if action == "challenge":
        from muri_opt.cli.library_challenge import challenge

        return challenge(found, arguments.answers, json=arguments.json)
    if action == "list":
        return Reply(_list_json(found, arguments.policy) if arguments.json else _list_text(found, arguments.policy))
    return _verify(found, arguments) if action == "verify" else _refresh(found, arguments)


def _list_text(found: Sequence[Instance], policy: str | None) -> str:
    from muri_opt.report.format import count
    from muri_opt.report.tables import table
    from muri_opt.studies.library.table import gap_text

    rows = [
        (
            instance.name,
            f"{instance.jobs:,}",
            f"{instance.nodes:,}",
            one.policy,
            f"{one.value:,}",
            "none" if one.bound is None else f"{one.bound:,}",
            gap_text(one),
            "nobody" if one.proof is None else one.proof.words,
        )
        for instance in found
        for one in instance.optima(policy)
    ]
    head = ("round", "jobs", "nodes", "policy", "value", "bound", "gap", "proved by")
    closing = f"{count(len(found), 'round')}, of which {len(rows):,} optima or best values are known"
    return "\n".join([*table(head, rows, right=(1, 2, 4, 5, 6)), "", closing]) + "\n"


def _list_json(found: Sequence[Instance], policy: str | None) -> str:
    from muri_opt.studies.library import measure_name

    answer = [
        {
            "name": instance.name,
            "jobs": instance.jobs,
            "nodes": instance.nodes,
            "fingerprint": instance.best.fingerprint,
            "source": instance.best.source,
            "optima": [
                {
                    "policy": one.policy,
                    "value": one.value,
                    "bound": one.bound,
                    "gap": one.gap,
                    "proof": one.proof,
                    "method": one.method,
                    "how": one.how,
                    "date": one.date,
                    "version": one.version,
                }
                for one in instance.optima(policy)
            ],
            "gaps": [
                {
                    "policy": gap.policy,
                    "measure": measure_name(gap),
                    "reached": gap.reached,
                    "optimum": gap.optimum,
                    "gap": float(gap.relative),
                }
                for gap in instance.gaps(policy)
            ],
        }
        for instance in found
    ]
    return _json(answer)


def _verify(found: Sequence[Instance], arguments: argparse.Namespace) -> Reply:
    from muri_opt.studies.library import check_gaps, check_instance

    findings: list[Finding] = []
    gaps: list[GapFinding] = []
    with Bar("rounds") as bar:
        for over, instance in enumerate(found):
            bar(over, len(found))
            findings += check_instance(instance, arguments.policy, arguments.seconds)
            gaps += check_gaps(instance, arguments.policy)
    everything: list[Finding | GapFinding] = [*findings, *gaps]
    code = ExitCode.VIOLATION if any(one.violations for one in everything) else ExitCode.ANSWER
    if arguments.json:
        from dataclasses import asdict

        return Reply(_json([asdict(one) for one in everything]), code)
    text = _findings_text(found, findings, asked=arguments.seconds is not None)
    return Reply(text + _gaps_text(gaps), code)


def _findings_text(found: Sequence[Instance], findings: Sequence[Finding], *, asked: bool) -> str:
    from muri_opt.report.format import count
    from muri_opt.rounds import Proof

    right = [one for one in findings if not one.violations]
    agreed = sum(one.proof is Proof.AGREEMENT for one in right)
    claimed = sum(one.proof is Proof.CLAIM_ONLY for one in right)
    hint = "their solvers ran out of time" if asked else "--seconds S asks them again"
    lines = [f"{count(len(findings), 'stored answer')} of {count(len(found), 'round')}"]
    lines.append(f"{len(right) - agreed - claimed:,} hold, checked in whole numbers")
    lines += [f"{agreed:,} hold, two solvers agreed again"] if agreed else []
    lines += [f"{claimed:,} stand on two solvers that agreed before ({hint})"] if claimed else []
    wrong = [line for one in findings for line in one.lines()]
    lines += [f"{len(findings) - len(right):,} do not hold:", *(f"  {line}" for line in wrong)] if wrong else []
    return "\n".join(lines) + "\n"


def _gaps_text(gaps: Sequence[GapFinding]) -> str:
    """Return what was found of stored gaps between an algorithm and the optimum; nothing where there are none."""
    from muri_opt.report.format import count

    wrong = [one for one in gaps if one.violations]
    holding = len(gaps) - len(wrong)
    lines = [f"{count(holding, 'gap')} of algorithms {'holds' if holding == 1 else 'hold'}, run again"] if gaps else []
    lines += [f"{count(len(wrong), 'gap')} of algorithms wrong:"] if wrong else []
    lines += [f"  {line}" for one in wrong for line in one.lines()]
    return "".join(f"{line}\n" for line in lines)


def _refresh(found: Sequence[Instance], arguments: argparse.Namespace) -> Reply:
    from datetime import UTC, datetime

    from muri_opt.rounds import Limits
    from muri_opt.studies.library import refresh
    from muri_opt.studies.library.best import best_path

    for instance in found:
        check_writable(str(best_path(instance.path)))
    limits = Limits(seconds=_REFRESH_SECONDS if arguments.seconds is None else arguments.seconds)
    changes: list[Change] = []
    with Bar("rounds") as bar:
        for over, instance in enumerate(found):
            bar(over, len(found))
            changes += refresh(instance, arguments.policy, limits, datetime.now(UTC).date())
    code = ExitCode.VIOLATION if any(one.violations for one in changes) else ExitCode.ANSWER
    if arguments.json:
        return Reply(_json([_change_row(one) for one in changes]), code)
    lines = [line for one in changes for line in one.lines()]
    lines += [_change_text(one) for one in changes if one.better]
    better = sum(one.better for one in changes)
    lines.append(f"{len(changes):,} solved again, {better:,} better; the others were proved before")
    return Reply("\n".join(lines) + "\n", code)


def _change_row(change: Change) -> dict[str, Any]:
    row: dict[str, Any] = {"instance": change.instance, "policy": change.before.policy, "better": change.better}
    for when, one in (("before", change.before), ("after", change.after)):
        row[when] = {"value": one.value, "bound": one.bound, "proof": one.proof}
    return row | {"violations": change.violations}


def _change_text(change: Change) -> str:
    before, after = (_known(one) for one in (change.before, change.after))
    return f"{change.instance}, {change.before.policy}: {before}, is now {after}"


def _known(one: Optimum) -> str:
    bound = "none" if one.bound is None or one.proof is None else f"{one.bound:,} (by {one.proof.words})"
    return f"{one.value:,}, bound {bound}"


def _json(answer: Any) -> str:
    import msgspec

    return msgspec.json.format(msgspec.json.encode(answer), indent=1).decode() + "\n"


COMMAND = Command(
    name="library",
    summary="list, verify and refresh the rounds of the library and the best that is known of each",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
