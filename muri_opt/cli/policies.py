"""``muri-opt policies``: what there is; of one, what it needs, counts and promises, and its parameters."""

from __future__ import annotations

import argparse
import json

from muri_opt.cli.command import Command
from muri_opt.cli.output import Reply

_EXAMPLES = """  muri-opt policies
  muri-opt policies muri-s
  muri-opt policies philly:objective=weighted --json

A round that uses another field than a policy honours is refused by it; the field's name says where it is."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("policy", metavar="POLICY", nargs="?", help="explain this one (default: list all)")
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def run(arguments: argparse.Namespace) -> Reply:
    """Return the policies, or one of them."""
    from muri_opt.report.text.policies import described, detailed, detailed_text, policies_text

    if arguments.policy is not None:
        one = detailed(arguments.policy, _example(arguments.policy))
        return Reply(json.dumps(one, indent=1) + "\n" if arguments.json else detailed_text(one))
    found = described()
    return Reply(json.dumps(found, indent=1) + "\n" if arguments.json else policies_text(found))


def _example(name: str) -> str:
    """Return a command that decides a shipped round by the policy, where there is one for it."""
    from muri_opt.studies.library import instances
    from muri_opt.systems import POLICIES, policy_from

    policy = policy_from(name)
    known = instances(family="small", policy=policy.name) if policy.name in POLICIES else ()
    return f"muri-opt solve {known[0].name if known else 'round.json'} --policy {policy.spec}"


COMMAND = Command(
    name="policies",
    summary="list every policy, or explain one: what it needs, counts and promises, and its parameters",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
