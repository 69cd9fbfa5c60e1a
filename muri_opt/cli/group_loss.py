"""``muri-opt loss``: where Muri's published grouping of a round loses, or single systems against the joint round."""

from __future__ import annotations

import argparse

from muri_opt.cli.command import Command
from muri_opt.cli.files import add_round, check_picture, round_from, write_picture
from muri_opt.cli.limits import add_limits, limits_from
from muri_opt.cli.output import Reply
from muri_opt.errors import InputError

_SECONDS = 60.0
_EXAMPLES = """  muri-opt loss round.json
  muri-opt loss round.json --picture loss.svg
  muri-opt loss round.json --policy joint-s
  muri-opt loss round.json --policy muri-l:objective=gpu-time --seconds 60
  muri-opt generate interleaving --jobs 12 | muri-opt loss - --json"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_round(parser)
    parser.add_argument(
        "--policy",
        metavar="P",
        default="muri-s",
        help="muri-s or muri-l, joint-s or joint-l, with parameters (default: %(default)s)",
    )
    add_limits(parser, what="for all programs", seconds=_SECONDS)
    parser.add_argument("--picture", metavar="FILE", help="draw the way from algorithm to optimum, as SVG or PNG")
    parser.add_argument("--json", action="store_true", help="print the steps as JSON and nothing else")


def run(arguments: argparse.Namespace) -> Reply:
    """Split the loss of the round by cause."""
    from muri_opt.systems import policy_from

    return (_joint if policy_from(arguments.policy).chapter == "joint" else _grouping)(arguments)


def _joint(arguments: argparse.Namespace) -> Reply:
    """Split what the joint round gains over the best single system."""
    from dataclasses import asdict

    import msgspec

    from muri_opt.report.text.joint_gain import gain_text
    from muri_opt.studies.explain import joint_gain

    if arguments.picture is not None:
        raise InputError("--picture", repr(arguments.picture), "nothing: only the loss of a grouping is drawn")
    round_ = round_from(arguments.round)
    gain = joint_gain(round_, arguments.policy, limits_from(arguments, seconds=_SECONDS))
    if arguments.json:
        told = {name: value for name, value in asdict(gain).items() if name != "decisions"}
        answer = {**told, "single": gain.single, "optimum": gain.optimum}
        return Reply(msgspec.json.format(msgspec.json.encode(answer), indent=1).decode() + "\n")
    return Reply(gain_text(round_, gain))


def _grouping(arguments: argparse.Namespace) -> Reply:
    """Split what the published grouping loses."""
    check_picture(arguments.picture)
    from dataclasses import asdict

    import msgspec

    from muri_opt.report.text.group_loss import loss_text
    from muri_opt.studies.explain import grouping_loss

    round_ = round_from(arguments.round)
    loss = grouping_loss(round_, arguments.policy, limits_from(arguments, seconds=_SECONDS))
    if arguments.picture is not None:
        from muri_opt.report.round.loss_svg import loss_picture

        write_picture(arguments.picture, loss_picture(loss))
    if arguments.json:
        answer = {**asdict(loss), "optimum": loss.optimum, "loss": loss.loss}
        return Reply(msgspec.json.format(msgspec.json.encode(answer), indent=1).decode() + "\n")
    return Reply(loss_text(round_, loss))


COMMAND = Command(
    name="loss",
    summary="say where the published grouping loses against the optimum, rule by rule, or what a joint round gains",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
