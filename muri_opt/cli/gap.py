"""``muri-opt gap``: why the heuristic, or the best single system, is below the optimum of a round."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from muri_opt.cli.command import Command
from muri_opt.cli.files import add_round, check_picture, result_from, round_from, write_picture
from muri_opt.cli.limits import add_limits, limits_from
from muri_opt.cli.output import Reply
from muri_opt.cli.solve import POLICY_HELP
from muri_opt.errors import InputError

if TYPE_CHECKING:
    from muri_opt.rounds import Round
    from muri_opt.studies.explain import RoundGap

_SECONDS = 10.0
_SECONDS_OF_SYSTEMS = 60.0
_EXAMPLES = """  muri-opt gap round.json --policy muri-s
  muri-opt gap round.json --policy rubick --picture gap.svg
  muri-opt gap round.json --policy joint-s --against systems
  muri-opt gap round.json --heuristic a.json --optimum b.json --json"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_round(parser)
    parser.add_argument("--policy", metavar="P", help=f"{POLICY_HELP} (default: fifo, or that of the results)")
    parser.add_argument(
        "--method", metavar="M", help="how the optimum is found: auto, exact, or exact@BACKEND (default: auto)"
    )
    parser.add_argument(
        "--against",
        choices=("heuristic", "systems"),
        default="heuristic",
        help="what the optimum is held against: the heuristic, or of a joint policy the best single system (in 60 s)",
    )
    add_limits(parser, what="for the optimum", seconds=_SECONDS)
    parser.add_argument("--heuristic", metavar="RESULT.json", help="a result to explain instead of solving the round")
    parser.add_argument("--optimum", metavar="RESULT.json", help="the result to hold it against")
    parser.add_argument("--picture", metavar="FILE", help="write both decisions side by side, as SVG or PNG")
    parser.add_argument("--json", action="store_true", help="print the changes as JSON and nothing else")


def run(arguments: argparse.Namespace) -> Reply:
    """Explain the gap of the round."""
    check_picture(arguments.picture)
    import msgspec

    from muri_opt.report.round.gap_record import gap_record
    from muri_opt.report.round.gap_svg import gap_picture
    from muri_opt.report.text.gap import gap_text

    _check_options(arguments)
    round_ = round_from(arguments.round)
    if arguments.against == "systems":
        return _against_systems(arguments, round_)
    gap = _gap(arguments, round_)
    if arguments.picture is not None:
        write_picture(arguments.picture, gap_picture(round_, gap))
    if arguments.json:
        return Reply(msgspec.json.format(msgspec.json.encode(gap_record(gap)), indent=1).decode() + "\n")
    return Reply(gap_text(round_, gap))


def _against_systems(arguments: argparse.Namespace, round_: Round) -> Reply:
    """Explain what the joint decision has that no single system has."""
    from dataclasses import asdict

    import msgspec

    from muri_opt.report.round.gap_record import gap_record
    from muri_opt.report.round.gap_svg import gap_picture
    from muri_opt.report.text.joint_gain import joint_gap_text
    from muri_opt.studies.explain import explain_joint_gap
    from muri_opt.systems import policy_from

    policy = policy_from(arguments.policy or "joint-s")
    gap = explain_joint_gap(round_, policy, limits_from(arguments, seconds=_SECONDS_OF_SYSTEMS))
    round_ = policy.decided_part(round_)
    if arguments.picture is not None:
        write_picture(arguments.picture, gap_picture(round_, gap))
    if arguments.json:
        steps = [asdict(step) for step in gap.gain.steps]
        told = gap_record(gap) | {"systems": gap.gain.singles, "best_system": gap.gain.best, "steps": steps}
        return Reply(msgspec.json.format(msgspec.json.encode(told), indent=1).decode() + "\n")
    return Reply(joint_gap_text(round_, gap))


def _check_options(arguments: argparse.Namespace) -> None:
    """Refuse one result without the other, and options of a solve beside results or of results beside systems."""
    given = {name: getattr(arguments, name) for name in ("heuristic", "optimum")}
    for name in (*given, "method") if arguments.against == "systems" else ():
        if getattr(arguments, name) is not None:
            raise InputError(f"--{name}", repr(getattr(arguments, name)), "nothing beside --against systems")
    missing = [name for name, value in given.items() if value is None]
    if len(missing) == 1:
        raise InputError(f"--{missing[0]}", "nothing", "both --heuristic and --optimum, or neither")
    if not missing:
        for name in ("method", "seconds", "work"):
            if getattr(arguments, name) is not None:
                raise InputError(f"--{name}", str(getattr(arguments, name)), "nothing: the results are solved already")


def _gap(arguments: argparse.Namespace, round_: Round) -> RoundGap:
    from muri_opt.studies.explain import compare_results, explain_gap
    from muri_opt.systems import DEFAULT_POLICY, policy_from

    if arguments.heuristic is None:
        limits = limits_from(arguments, seconds=_SECONDS)
        policy = DEFAULT_POLICY if arguments.policy is None else arguments.policy
        return explain_gap(round_, policy, method=arguments.method or "auto", limits=limits)
    first, second = result_from(arguments.heuristic), result_from(arguments.optimum)
    if arguments.policy is not None and policy_from(arguments.policy).spec != first.policy:
        raise InputError("--policy", repr(arguments.policy), f"{first.policy!r}, the policy of the results")
    return compare_results(round_, first, second)


COMMAND = Command(
    name="gap",
    summary="say why the heuristic is below the optimum of a round: what differs, and what each change gains",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
