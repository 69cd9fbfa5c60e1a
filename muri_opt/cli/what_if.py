"""``muri-opt what-if``: a round with other nodes, quotas or jobs, beside the round as it is."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from muri_opt.cli.command import Command
from muri_opt.cli.files import add_round, check_picture, round_from, write_picture
from muri_opt.cli.limits import add_limits, limits_from
from muri_opt.cli.output import Reply, exit_code
from muri_opt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muri_opt.rounds import Job, Limits, Round

_SECONDS = 10.0
_EXAMPLES = """  muri-opt what-if round.json --policy philly --add-nodes 2xa100:8
  muri-opt what-if round.json --drop-node n3 --quota nlp=16 --when
  muri-opt what-if round.json --release job-7 --json
  muri-opt what-if toy/two-gangs --add-nodes 1x8"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_round(parser)
    add_asking(parser)
    add_scenario(parser)
    parser.add_argument("--picture", metavar="FILE", help="draw the decision of the changed round, as SVG or PNG")
    parser.add_argument("--all", action="store_true", help="list every job of a large round")


def add_asking(parser: argparse.ArgumentParser) -> None:
    """Add how a policy is asked and how the answer is told, for :func:`asked`."""
    parser.add_argument("--policy", metavar="P", default="fifo", help="as for 'solve' (default: %(default)s)")
    parser.add_argument("--method", metavar="M", default="auto", help="as for 'solve' (default: %(default)s)")
    add_limits(parser, what="for each solve", seconds=_SECONDS)
    parser.add_argument("--when", action="store_true", help="say when waiting jobs would start, by replaying the queue")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON and nothing else")


def limits_asked(arguments: argparse.Namespace) -> Limits:
    """Return the limits of each solve."""
    return limits_from(arguments, seconds=_SECONDS)


def add_scenario(parser: argparse.ArgumentParser) -> None:
    """Add what is to be different, for :func:`scenario_reply`."""
    options = (
        ("--add-nodes", "NxTYPE:GPUS", "nodes more, as 2xa100:8 or 2x8"),
        ("--drop-node", "NODE", "a node that is not there"),
        ("--quota", "TENANT=GPUS", "another quota; 'none' is no limit"),
        ("--release", "JOB", "a held job that may start"),
        ("--submit", "FILE.json", "a job more, or instead of the one that has its id"),
    )
    for name, metavar, words in options:
        parser.add_argument(name, metavar=metavar, action="append", default=[], help=f"{words}; can be given again")


def run(arguments: argparse.Namespace) -> Reply:
    """Decide both rounds and return what differs."""
    check_picture(arguments.picture)
    return scenario_reply(round_from(arguments.round), arguments)


def scenario_reply(round_: Round, arguments: argparse.Namespace) -> Reply:
    """Return what differs in a round with what the options of :func:`add_scenario` ask for."""
    from muri_opt.replay.what_if.scenario import all_further_nodes
    from muri_opt.replay.what_if.what_if import what_if
    from muri_opt.report.round.round_svg import round_picture
    from muri_opt.report.text.what_if import what_if_json, what_if_text

    found = what_if(
        round_,
        arguments.policy,
        add_nodes=all_further_nodes(arguments.add_nodes, round_.cluster),
        remove_nodes=arguments.drop_node,
        quotas=_quotas(arguments.quota),
        jobs=[_job(name) for name in arguments.submit],
        release=arguments.release,
        method=arguments.method,
        limits=limits_asked(arguments),
        when=arguments.when,
    )
    if arguments.picture is not None:
        write_picture(arguments.picture, round_picture(found.round_after, found.after.decision, found.after))
    text = what_if_json(found) if arguments.json else what_if_text(found, whole=arguments.all)
    return Reply(text, max(exit_code(found.before), exit_code(found.after)))


def _quota(text: str) -> tuple[str, int | None]:
    tenant, _, gpus = text.rpartition("=")
    if tenant and gpus == "none":
        return tenant, None
    if tenant and gpus.isdecimal():
        return tenant, int(gpus)
    raise InputError("--quota", repr(text), "a tenant and its GPUs, as nlp=16, or nlp=none for no limit")


def _quotas(texts: Sequence[str]) -> dict[str, int | None]:
    found = dict(map(_quota, texts))
    if len(found) < len(texts):
        raise InputError("--quota", f"{len(texts)} quotas of {len(found)} tenants", "each tenant once")
    return found


def _job(name: str) -> Job:
    from pathlib import Path

    import msgspec

    from muri_opt.rounds import Job
    from muri_opt.rounds.decode_errors import wrong_text, wrong_value
    from muri_opt.rounds.error_text import shortened
    from muri_opt.rounds.repeated_keys import check_keys
    from muri_opt.rounds.text_files import in_file

    with in_file(name):
        try:
            text = Path(name).read_bytes()
            job = msgspec.json.decode(text, type=Job)
            check_keys(text, "job")
        except OSError as error:
            raise InputError("file", error.strerror or str(error), "a readable file with a job") from None
        except msgspec.ValidationError as error:
            raise wrong_value(error, text, Job, name="job") from None
        except msgspec.DecodeError as error:
            raise wrong_text(error, text, name="job") from None
        except (UnicodeError, RecursionError) as error:
            raise InputError("job", shortened(str(error)), "a job as in a round file") from None
    return job


COMMAND = Command(
    name="what-if",
    summary="decide a round with other nodes, quotas or jobs: who starts, who still waits and why, before and after",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
