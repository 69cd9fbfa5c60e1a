"""``muri-opt solve``: decide a round."""

from __future__ import annotations

import argparse

from muri_opt.cli.command import Command
from muri_opt.cli.files import add_round, check_picture, check_writable, round_from, write_picture, write_text
from muri_opt.cli.limits import add_limits, limits_from
from muri_opt.cli.output import Reply, exit_code
from muri_opt.cli.progress import solve_line

POLICY_HELP = (
    "fifo, srtf, srsf, las, max-min, fair-share, muri-s, muri-l, afs-l, afs-p, optimus, max-min-elastic, srtf-elastic, "
    "rubick, synergy, antman, sia, equal-share, srs, optimus-ps, aiturbo, tiresias, philly, deadline, "
    "joint-s or joint-l, with parameters as in fifo:objective=weighted,nodes=fewest"
)

_SECONDS = 10.0
_EXAMPLES = """  muri-opt solve round.json
  muri-opt solve toy/two-gangs --policy fifo
  muri-opt solve round.json --policy srtf:nodes=fewest --method exact@cp-sat --seconds 60
  muri-opt solve round.json --output result.json --picture round.svg
  muri-opt generate gangs | muri-opt solve - --json"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_round(parser)
    parser.add_argument("--policy", metavar="P", default="fifo", help=f"{POLICY_HELP} (default: %(default)s)")
    parser.add_argument(
        "--method",
        metavar="M",
        default="auto",
        help="heuristic, auto, exact, or exact@ and one of highs, cp-sat, cbc, scip, exhaustive (default: %(default)s)",
    )
    add_limits(parser, what="for the whole solve", seconds=_SECONDS)
    parser.add_argument(
        "--gap", metavar="G", type=float, default=0.0, help="stop at this relative gap (default: %(default)s)"
    )
    parser.add_argument("--threads", metavar="N", type=int, default=1, help="solver threads (default: %(default)s)")
    parser.add_argument(
        "--seed",
        metavar="N",
        type=int,
        default=0,
        help="same seed, same decision (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON and nothing else")
    parser.add_argument("--output", metavar="FILE", help="write the result as JSON to a file too")
    parser.add_argument("--picture", metavar="FILE", help="write a picture of the decision, as SVG or PNG")
    parser.add_argument("--all", action="store_true", help="list every job of a large round")


def run(arguments: argparse.Namespace) -> Reply:
    """Solve the round and return the answer."""
    check_writable(arguments.output)
    check_picture(arguments.picture)
    from muri_opt.report.text.result import result_text
    from muri_opt.rounds import result_json
    from muri_opt.solve.round import solve_round

    others = {"gap": arguments.gap, "threads": arguments.threads, "seed": arguments.seed}
    limits = limits_from(arguments, seconds=_SECONDS, **others)
    round_ = round_from(arguments.round)
    with solve_line():
        result = solve_round(round_, policy=arguments.policy, method=arguments.method, limits=limits)
    if arguments.output is not None:
        write_text(arguments.output, result_json(result) + "\n")
    if arguments.picture is not None:
        from muri_opt.report.round.round_svg import round_picture

        write_picture(arguments.picture, round_picture(round_, result.decision, result))
    text = result_json(result) + "\n" if arguments.json else result_text(round_, result, whole=arguments.all)
    return Reply(text, exit_code(result))


COMMAND = Command(
    name="solve",
    summary="decide a round: who runs where, who waits and why, and who proved how good that is",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
