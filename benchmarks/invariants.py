"""Which invariants the published policies keep on random small rounds, and a smallest round for each they break.

Amounts of fairness are the worst that were seen. The rounds are those of ``muri_opt.testing.family_rounds``: up to 5
jobs on up to 3 nodes, where GPUs and quotas are the only limits. An invariant that no round of the sample breaks is
said to hold, which is no proof.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from math import inf

import msgspec

from muri_opt.instance import Round
from muri_opt.testing import FAIRNESS, RATIONALITY, SAFETY, Report, Tier, find_breaches, published

POLICIES = (
    "fifo",
    "srtf",
    "srsf",
    "las",
    "max-min",
    "tiresias",
    "muri-s",
    "muri-l",
    "afs-l",
    "rubick",
    "philly",
)
_CHECKED = (*SAFETY, *RATIONALITY, *FAIRNESS)


def main(arguments: list[str] | None = None) -> None:
    """Print the table of policies and invariants, then the smallest rounds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=1000, help="rounds per policy")
    parser.add_argument("--seeds", default="0,1", help="seeds separated by commas; a breach under any of them counts")
    parser.add_argument("--policies", default=",".join(POLICIES), help="names separated by commas")
    given = parser.parse_args(arguments)
    reports: dict[str, list[Report]] = {}
    for policy in given.policies.split(","):
        reports[policy] = [surveyed(policy, given.examples, int(seed)) for seed in given.seeds.split(",")]
        print("\n".join(examples_of(policy, reports[policy])), flush=True)
    print()
    print("\n".join(table(reports)))


def surveyed(policy: str, examples: int, seed: int) -> Report:
    """Return what a policy's own algorithm keeps by its own rules and value; amounts of fairness are only measured."""
    checked = [one.allowing(inf) if one.tier is Tier.FAIRNESS else one for one in _CHECKED]
    return find_breaches(published(policy), checked, policy=policy, max_examples=examples, seed=seed)


def table(reports: dict[str, list[Report]]) -> Iterable[str]:
    """Yield the lines of the table: ``yes``, ``no``, or how far a policy is from a fairness invariant at worst."""
    yield f"| invariant | {' | '.join(reports)} |"
    yield "| --- |" + " --- |" * len(reports)
    every = [report for seeds in reports.values() for report in seeds]
    safe = all(not report.untested and report.of(one.name) is None for report in every for one in SAFETY)
    if safe:
        yield "| all of safety |" + " yes |" * len(reports)
    for one in _CHECKED:
        if not (safe and one.tier is Tier.SAFETY):
            cells = (_cell(seeds, one.name, one.tier) for seeds in reports.values())
            yield f"| `{one.name}` | {' | '.join(cells)} |"


def _cell(seeds: list[Report], name: str, tier: Tier) -> str:
    if tier is Tier.FAIRNESS:
        return f"{max(report.worst.get(name, inf) for report in seeds):.2f}"
    return "yes" if all(name in report.kept for report in seeds) else "no"


def examples_of(policy: str, seeds: list[Report]) -> Iterable[str]:
    """Yield a line for each broken invariant: what happens, and on the smaller of the rounds that were found."""
    broken = [one for report in seeds for one in report.broken]
    for name in dict.fromkeys(one.breach.invariant for one in broken):
        one = min((one for one in broken if one.breach.invariant == name), key=lambda one: len(one.json))
        yield f"* {policy}, `{name}`: {one.breach.detail}. {described(one.round_)}"


def described(round_: Round) -> str:
    """Return a round in one line: GPUs of the nodes, quotas, and each job with what it says besides the defaults."""
    nodes = "+".join(str(node.gpus) for node in round_.cluster.nodes)
    quotas = ", ".join(f"{one.id} {one.quota_gpus}" for one in round_.cluster.tenants if one.quota_gpus is not None)
    return f"GPUs {nodes}{'; quotas ' * bool(quotas)}{quotas}; " + "; ".join(
        msgspec.json.encode(job).decode() for job in round_.jobs
    )


if __name__ == "__main__":
    main()
