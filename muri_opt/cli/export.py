"""``muri-opt export``: the exact program of a round, as text any solver reads."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from muri_opt.cli.command import Command
from muri_opt.cli.files import add_round, check_writable, round_from, write_text
from muri_opt.cli.output import Reply
from muri_opt.cli.solve import POLICY_HELP
from muri_opt.errors import RefusalError

if TYPE_CHECKING:
    from muri_opt.modelling import Model
    from muri_opt.rounds import Round

_EXAMPLES = """  muri-opt export round.json --policy srtf > round.lp
  muri-opt export round.json --format mps --output round.mps"""

_LARGEST = 2**53
"""Beyond it the floating point numbers that solvers read a file into cannot tell one whole number from the next."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_round(parser)
    parser.add_argument("--policy", metavar="P", default="fifo", help=f"{POLICY_HELP} (default: %(default)s)")
    parser.add_argument("--format", choices=("lp", "mps"), default="lp", help="the format (default: %(default)s)")
    parser.add_argument("--output", metavar="FILE", help="write to a file instead of the standard output")


def run(arguments: argparse.Namespace) -> Reply:
    """Return the program as text."""
    from muri_opt.modelling import lp_text, mps_text

    check_writable(arguments.output)
    model = _program(round_from(arguments.round), arguments.policy)
    text = (lp_text if arguments.format == "lp" else mps_text)(model)
    if arguments.output is None:
        return Reply(text)
    write_text(arguments.output, text)
    return Reply()


def _program(round_: Round, policy: str) -> Model:
    """Return the model with one objective: that of the policy, its stages added up where it has several."""
    import numpy as np

    from muri_opt.systems import admit, policy_from, program_of

    chosen = policy_from(policy)
    admit(chosen, round_)
    round_ = chosen.decided_part(round_)
    formulation = program_of(chosen.rules)
    model = formulation.build(round_)
    stages = formulation.stages(round_, model)
    if sum(stage.weight * int(np.abs(stage.objective).sum()) for stage in stages) > _LARGEST:
        raise RefusalError(
            f"policy {policy!r}",
            f"{len(stages)} objectives one after another, too far apart in size for one text",
            "objective=weighted, or a round of at most 53 jobs",
        )
    return replace(model, objective=np.sum([stage.weight * stage.objective for stage in stages], axis=0))


COMMAND = Command(
    name="export",
    summary="write the exact program of a round as LP or MPS text",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
