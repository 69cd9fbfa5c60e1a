"""``muri-opt slurm``: snapshot, why, what-if, plan, apply and loop on the queue of a Slurm."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from typing import TYPE_CHECKING

from muri_opt.cli.command import Command
from muri_opt.cli.files import check_picture, check_writable, write_text
from muri_opt.cli.output import Reply, exit_code
from muri_opt.cli.what_if import add_asking, add_scenario, limits_asked, scenario_reply
from muri_opt.cli.why import add_why, why_reply
from muri_opt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from muri_opt.cli.slurm.apply import Applying
    from muri_opt.cli.slurm.cluster import Source
    from muri_opt.cli.slurm.plan import SlurmPlan
    from muri_opt.cli.slurm.reader import Reading
    from muri_opt.rounds import Round

MOST_INTERVAL = 86_400.0
MOST_ROUNDS = 1_000_000_000
_EXAMPLES = """  muri-opt slurm snapshot --output round.json
  muri-opt slurm snapshot --jobs squeue.json --nodes sinfo.json
  muri-opt slurm why 1234 --when
  muri-opt slurm what-if --add-nodes 2xa100:8
  muri-opt slurm plan --partition train --policy srtf
  muri-opt slurm loop --partition train --policy srtf --interval 10"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the commands of the command."""
    steps = parser.add_subparsers(title="steps", metavar="STEP", required=True)
    snapshot = _step(steps, "snapshot", "the queue as a round of format 2, and what it could not say", _snapshot)
    snapshot.add_argument("--output", metavar="FILE", help="write the round to a file")
    snapshot.add_argument("--json", action="store_true", help="print what could not be said as JSON")
    add_why(_step(steps, "why", "why a job waits, and what would let it start", _why))
    what_if = _step(steps, "what-if", "the queue with other nodes, quotas or jobs", _what_if)
    add_asking(what_if)
    add_scenario(what_if)
    what_if.add_argument("--picture", metavar="FILE", help="draw the decision of the changed round, as SVG or PNG")
    what_if.add_argument("--all", action="store_true", help="list every job of a large queue")
    plan = _step(steps, "plan", "the commands that would start held jobs; none is given", _plan)
    apply = _step(steps, "apply", "give these commands, once", _apply)
    loop = _step(steps, "loop", "give such commands again and again", _loop)
    for step in (plan, apply, loop):
        step.add_argument(
            "--partition",
            metavar="P",
            action="append",
            default=[],
            help="whose held jobs may be started; several between commas",
        )
        add_asking(step)
    loop.add_argument(
        "--interval", metavar="S", type=float, default=10.0, help="seconds between (default: %(default)s)"
    )
    loop.add_argument("--rounds", metavar="N", type=int, help="end after so many (default: when nothing is held)")


def _step(
    steps: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    words: str,
    run: Callable[[argparse.Namespace], Reply],
) -> argparse.ArgumentParser:
    child = steps.add_parser(name, help=words, description=words, allow_abbrev=False)
    child.add_argument("--jobs", metavar="FILE", help="what squeue --json has printed, instead of asking Slurm")
    child.add_argument("--nodes", metavar="FILE", help="what sinfo or scontrol show nodes --json has printed")
    child.set_defaults(step=run)
    return child


def run(arguments: argparse.Namespace) -> Reply:
    """Take one step."""
    reply: Reply = arguments.step(arguments)
    return reply


def _snapshot(arguments: argparse.Namespace) -> Reply:
    check_writable(arguments.output)
    from muri_opt.rounds.files import in_format
    from muri_opt.rounds.round import ROUND_FORMATS

    reading = _source(arguments).read()
    if arguments.output is not None:
        write_text(arguments.output, in_format(reading.round_, ROUND_FORMATS[1]).decode())
    ledger = reading.ledger
    return Reply(json.dumps(ledger.content(), indent=1) + "\n" if arguments.json else ledger.text())


def _why(arguments: argparse.Namespace) -> Reply:
    return why_reply(_with_remedies(_reading(arguments).round_, arguments.policy), arguments)


def _with_remedies(round_: Round, policy: str) -> Round:
    """Return the round in which what runs may be stopped, where the policy stops nobody by itself.

    An operator may end what no policy may, so that a remedy may name it.
    """
    from msgspec import structs

    from muri_opt.systems import policy_from

    if policy_from(policy).rules.get("preempt") != "no":
        return round_
    return structs.replace(round_, jobs=tuple(structs.replace(job, preemptible=None) for job in round_.jobs))


def _what_if(arguments: argparse.Namespace) -> Reply:
    check_picture(arguments.picture)
    return scenario_reply(_reading(arguments).round_, arguments)


def _plan(arguments: argparse.Namespace) -> Reply:
    plan = _planned(_reading(arguments), arguments)
    lines = [shlex.join(words) for words in plan.commands()]
    if arguments.json:
        content = {"commands": plan.commands(), "candidates": plan.candidates, "fingerprint": plan.round_.fingerprint}
        return Reply(json.dumps(content, indent=1) + "\n", exit_code(plan.result))
    told = f"# {len(plan.starts):,} of {len(plan.candidates):,} held jobs start, by {plan.result.policy}"
    return Reply("\n".join([told, *lines]) + "\n", exit_code(plan.result))


def _apply(arguments: argparse.Namespace) -> Reply:
    applying, source = _applying(arguments)
    plan = _planned(without_deadlines(source.read(), arguments.policy), arguments)
    applying.apply(plan)
    return Reply(code=exit_code(plan.result))


def _loop(arguments: argparse.Namespace) -> Reply:
    from muri_opt.cli.slurm.apply import LogLost
    from muri_opt.rounds.quantities import finite, whole

    finite("--interval", arguments.interval, MOST_INTERVAL)  # before any command is given
    if arguments.rounds is not None:
        whole("--rounds", arguments.rounds, MOST_ROUNDS, least=1)
    applying, source = _applying(arguments)
    rounds = 0
    while arguments.rounds is None or rounds < arguments.rounds:
        try:
            plan = _planned(without_deadlines(source.read(), arguments.policy), arguments)
            if not plan.candidates and arguments.rounds is None:
                break
            released = applying.apply(plan)
            applying.note("round", candidates=len(plan.candidates), released=len(released), gap=plan.result.gap)
        except InputError as error:  # a controller that is started anew answers again in a later round
            if not rounds or isinstance(error, LogLost):
                raise
            applying.note("wait", complaint=str(error))
        applying.check_log()
        rounds += 1
        if rounds != arguments.rounds:
            time.sleep(arguments.interval)
    return Reply()


def _reading(arguments: argparse.Namespace) -> Reading:
    return without_deadlines(_source(arguments).read(), arguments.policy)


def _planned(reading: Reading, arguments: argparse.Namespace) -> SlurmPlan:
    from muri_opt.cli.slurm.plan import plan_of

    return plan_of(reading, _partitions(arguments), arguments.policy, arguments.method, limits_asked(arguments))


def without_deadlines(reading: Reading, policy: str) -> Reading:
    """Return what was read without deadlines, where the policy does not know them: a queue with one is no bad input."""
    from dataclasses import replace

    from msgspec import structs

    from muri_opt.systems import policy_from

    late = [job.id for job in reading.round_.jobs if job.deadline is not None]
    if not late or "job.deadline" in policy_from(policy).honours:
        return reading
    for job in late:
        reading.ledger.job(job, f"a deadline, which the policy {policy} does not know")
    jobs = tuple(structs.replace(job, deadline=None) for job in reading.round_.jobs)
    return replace(reading, round_=structs.replace(reading.round_, jobs=jobs))


def _applying(arguments: argparse.Namespace) -> tuple[Applying, Source]:
    from muri_opt.cli.slurm.apply import Applying
    from muri_opt.cli.slurm.cluster import Commands, run as give

    if arguments.jobs is not None or arguments.nodes is not None:
        raise InputError("--jobs", "files", "nothing: commands are given to the Slurm that they are made for")
    if not arguments.partition:
        raise InputError("--partition", "none", "the partitions whose held jobs may be started")
    source = Commands()
    return Applying(source, _partitions(arguments), give, sys.stdout), source


def _partitions(arguments: argparse.Namespace) -> set[str]:
    """Return the partitions that are named, one by one or between commas as Slurm has them."""
    return {name for text in arguments.partition for name in text.split(",")}


def _source(arguments: argparse.Namespace) -> Source:
    from muri_opt.cli.slurm.cluster import Commands, Files

    if (arguments.jobs is None) != (arguments.nodes is None):
        raise InputError("--jobs", "one of --jobs and --nodes", "both, or none to ask Slurm")
    return Commands() if arguments.jobs is None else Files(arguments.jobs, arguments.nodes)


COMMAND = Command(
    name="slurm",
    summary="read the queue of a Slurm: why jobs wait, what if, and which held jobs to start where",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
