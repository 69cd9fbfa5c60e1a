"""``muri-opt worst-case``: a round on which an algorithm is far from the optimum, small and with a proof."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from muri_opt.cli.command import Command
from muri_opt.cli.files import check_writable, write_text
from muri_opt.cli.limits import add_limits, limits_from
from muri_opt.cli.output import ExitCode, Reply
from muri_opt.cli.progress import Bar
from muri_opt.errors import InputError

if TYPE_CHECKING:
    from muri_opt.studies.worst_case import Distance, Measure, Shrunk, WorstCase

_SECONDS = 10.0
_EXAMPLES = """  muri-opt worst-case muri-s --family interleaving --jobs 8 --nodes 1 --gpus 2 --at-least 0.1
  muri-opt worst-case afs-l --family elastic --jobs 4 --nodes 1 --measure completion --at-least 0.2
  muri-opt worst-case srtf --family gangs --budget 2000 --seed 7 --output worst.json
  muri-opt worst-case rubick --family plans --at-least 0.2 --save worst/mine --folder my-library

From random rounds the search climbs to neighbours with a larger gap, until the budget is spent or the gap is reached.
The worst round is then made as small as it can be with that gap. Every optimum is proved: a round without a proof in
--seconds does not count. The code is 4 if no round has the gap of --at-least, or any gap at all."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("policy", metavar="POLICY", help="the algorithm, with parameters, or module:attribute")
    parser.add_argument("--family", metavar="F", required=True, help="the kind of random round to begin with")
    parser.add_argument("--jobs", metavar="N", type=int, default=8, help="most jobs (default: %(default)s)")
    parser.add_argument("--nodes", metavar="N", type=int, default=2, help="most nodes (default: %(default)s)")
    parser.add_argument("--gpus", metavar="N", type=int, help="keep the cluster: all nodes, of so many GPUs each")
    parser.add_argument("--budget", metavar="N", type=int, default=500, help="rounds to look at (default: %(default)s)")
    parser.add_argument("--seed", metavar="S", type=int, default=1, help="same seed, same round (default: %(default)s)")
    parser.add_argument(
        "--measure",
        metavar="M",
        default="value",
        help="value of the policy's program, or completion time of elastic jobs on average (default: %(default)s)",
    )
    parser.add_argument(
        "--at-least", metavar="G", type=float, help="a gap that is enough, such as 0.1; it is also kept in shrinking"
    )
    add_limits(parser, what="to prove one optimum", seconds=_SECONDS)
    parser.add_argument("--output", metavar="FILE", help="write the shrunken round to a file")
    parser.add_argument("--save", metavar="NAME", help="store it, as worst/mine, with the gap and its proof")
    parser.add_argument("--folder", metavar="DIR", help="the library to store it in")
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")


def run(arguments: argparse.Namespace) -> Reply:
    """Search, shrink, and store or write what was found."""
    from muri_opt.report.text.worst_case import worst_text
    from muri_opt.studies.worst_case import measure_of, search_worst, shrink
    from muri_opt.studies.worst_case.search import exactly

    _check(arguments)
    measure = measure_of(arguments.measure, arguments.policy, limits_from(arguments, seconds=_SECONDS))
    with Bar("rounds") as bar:
        worst = search_worst(
            measure,
            family=arguments.family,
            jobs=arguments.jobs,
            nodes=arguments.nodes,
            gpus=arguments.gpus,
            budget=arguments.budget,
            seed=arguments.seed,
            at_least=arguments.at_least,
            progress=bar,
        )
    gap = worst.distance.gap
    goal = gap if arguments.at_least is None else exactly(arguments.at_least)
    small = None
    if 0 < goal <= gap:
        with Bar("rounds, made smaller") as bar:
            small = shrink(
                worst.round,
                measure,
                goal,
                same_cluster=arguments.gpus is not None,
                progress=lambda looked_at: bar(looked_at, looked_at),
            )
        _keep(arguments, measure, small)
    code = ExitCode.NOTHING_FOUND if small is None else ExitCode.ANSWER
    return Reply(_json(measure, worst, small) if arguments.json else worst_text(measure, worst, small), code)


def _check(arguments: argparse.Namespace) -> None:
    """Refuse what can be refused before the search."""
    from muri_opt.studies.library.adding import instance_name

    if (arguments.save is None) != (arguments.folder is None):
        found = "--save without --folder" if arguments.folder is None else "--folder without --save"
        raise InputError("--save, --folder", found, "both or neither")
    if arguments.save is not None and instance_name(arguments.save)[0] != "worst":
        raise InputError("--save", repr(arguments.save), "a name of the family worst, such as worst/mine")
    if arguments.folder is not None and Path(arguments.folder).exists() and not Path(arguments.folder).is_dir():
        raise InputError("--folder", repr(arguments.folder), "a folder, or the name of a new one")
    if arguments.at_least is not None and not 0 < arguments.at_least < float("inf"):
        raise InputError("--at-least", str(arguments.at_least), "a part of the optimum above 0, such as 0.1")
    check_writable(arguments.output)


def _keep(arguments: argparse.Namespace, measure: Measure, small: Shrunk) -> None:
    """Write the round, store it, or both."""
    from datetime import UTC, datetime

    import msgspec

    from muri_opt.rounds import canonical_json
    from muri_opt.studies.worst_case import save

    if arguments.output is not None:
        write_text(arguments.output, msgspec.json.format(canonical_json(small.round), indent=1).decode() + "\n")
    if arguments.save is not None:
        source = f"muri-opt worst-case {measure.policy.spec}" + "".join(
            f" --{name.replace('_', '-')} {getattr(arguments, name)}"
            for name in ("family", "jobs", "nodes", "gpus", "budget", "seed", "measure", "at_least")
            if getattr(arguments, name) is not None
        )
        today = datetime.now(UTC).date()
        try:
            save(arguments.folder, arguments.save, small.round, measure, source=source, today=today)
        except OSError as error:
            raise InputError(arguments.folder, error.strerror or str(error), "a folder that can be written") from None


def _json(measure: Measure, worst: WorstCase, small: Shrunk | None) -> str:
    import msgspec

    answer = {
        "policy": measure.policy.spec,
        "measure": measure.name,
        "evaluations": worst.evaluations,
        "unproved": worst.unproved,
        "raised": measure.raised,
        "trail": [{"evaluations": step.evaluations, "gap": float(step.gap)} for step in worst.trail],
        "found": _figures(worst.distance),
        "shrunken": None if small is None else _figures(small.distance),
        "round": worst.round if small is None else small.round,
    }
    return msgspec.json.format(msgspec.json.encode(answer), indent=1).decode() + "\n"


def _figures(distance: Distance) -> dict[str, Any]:
    return {
        "reached": str(distance.reached),
        "optimum": str(distance.optimum),
        "gap": float(distance.gap),
        "proof": distance.proof,
    }


COMMAND = Command(
    name="worst-case",
    summary="search a small round on which an algorithm is far from the proved optimum",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
