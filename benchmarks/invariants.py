"""Which invariants the published policies keep on random small rounds, and a smallest round for each they break.

Amounts of fairness are the worst that were seen. The rounds are those of ``muri_opt.testing.family_rounds``: up to 5
jobs on up to 3 nodes, where GPUs and quotas are the only limits, and CPUs where jobs have servers and workers. An
invariant that no round of the sample breaks is said to hold, which is no proof. One that broke under a seed is not
looked at under the next, as no further round makes it right. The optimum is proved by an exact solver, which takes
longer than all else together; so ``near-optimum`` has rounds of its own, and fewer. Shrinking takes as long as some
hundred rounds; so only what breaks a promise is shrunk, unless ``--smallest`` asks for all.

A policy is told of as soon as it is done. With ``--results`` it is kept as a line of JSON in a file, too; what the file
has already under the same options is not done again.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from math import inf
from pathlib import Path

import msgspec

from muri_opt.rounds import Round
from muri_opt.testing import (
    FAIRNESS,
    INVARIANTS,
    NOT_PROMISED,
    RATIONALITY,
    SAFETY,
    Invariant,
    Report,
    Tier,
    family_of,
    family_rounds,
    find_breaches,
    published,
)

TABLES = (
    ("fifo", "srtf", "srsf", "las", "max-min", "fair-share", "tiresias", "philly", "muri-s", "muri-l"),
    ("afs-l", "afs-p", "optimus", "max-min-elastic", "srtf-elastic", "deadline", "joint-s", "joint-l"),
    ("rubick", "sia", "synergy", "antman", "equal-share", "srs", "aiturbo", "optimus-ps"),
)
"""All policies, as they are told of together."""
_NEAR = INVARIANTS["near-optimum"]
_CHECKED = (*SAFETY, *RATIONALITY, *(one for one in FAIRNESS if one is not _NEAR))


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How many rounds are drawn, under each of which seeds, how many are solved exactly, and if all is shrunk."""

    examples: int
    optimum_examples: int
    seeds: tuple[int, ...]
    smallest: bool


class Broken(msgspec.Struct, frozen=True, kw_only=True):
    """What happens on a round that breaks an invariant, the first or the smallest that was found."""

    detail: str
    round_: Round


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """What one policy breaks, and how far it is from each fairness invariant at worst."""

    policy: str
    options: Options
    broken: dict[str, Broken]
    worst: dict[str, float]


def main(arguments: list[str] | None = None) -> None:
    """Print what each policy breaks, then the tables of policies and invariants."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=500, help="rounds per policy and seed")
    parser.add_argument("--optimum-examples", type=int, default=40, help="rounds solved exactly per policy and seed")
    parser.add_argument("--seeds", default="0,1,2,3", help="seeds separated by commas; a breach under any counts")
    parser.add_argument("--policies", default=",".join(sum(TABLES, ())), help="names separated by commas")
    parser.add_argument("--smallest", action="store_true", help="shrink every round, not only broken promises")
    parser.add_argument("--results", type=Path, help="file that keeps what is done, and is read at the start")
    given = parser.parse_args(arguments)
    seeds = tuple(int(seed) for seed in given.seeds.split(","))
    options = Options(
        examples=given.examples, optimum_examples=given.optimum_examples, seeds=seeds, smallest=given.smallest
    )
    known = kept(given.results, options)
    surveys: dict[str, Survey] = {}
    for policy in given.policies.split(","):
        surveys[policy] = known.get(policy) or surveyed(policy, options)
        if given.results is not None and policy not in known:
            with given.results.open("ab") as file:
                file.write(msgspec.json.encode(surveys[policy]) + b"\n")
        print("\n".join((f"{policy}: {len(surveys[policy].broken)} broken", *told(surveys[policy]))), flush=True)
    for policies in TABLES:
        told_of = [surveys[policy] for policy in policies if policy in surveys]
        if told_of:
            print("", *table(told_of), sep="\n")


def kept(path: Path | None, options: Options) -> dict[str, Survey]:
    """Return the surveys of a file that were made with the same options, by policy."""
    lines = path.read_bytes().splitlines() if path is not None and path.exists() else []
    surveys = [msgspec.json.decode(line, type=Survey) for line in lines]
    return {survey.policy: survey for survey in surveys if survey.options == options}


def surveyed(policy: str, options: Options) -> Survey:
    """Return what a policy's own algorithm keeps by its own rules and value; amounts of fairness are only measured."""
    broken: dict[str, Broken] = {}
    worst: dict[str, float] = {}
    for seed in options.seeds:
        first = _searched(policy, [one for one in _CHECKED if one.name not in broken], options.examples, seed)
        near = _searched(policy, [_NEAR], options.optimum_examples, seed)
        new = [one.breach.invariant for one in first.broken]
        unknown = [name for name in new if options.smallest or name not in NOT_PROMISED.get(policy, ())]
        if unknown:
            smaller = _searched(policy, [INVARIANTS[name] for name in unknown], options.examples, seed, shrink=True)
        for name in new:
            one = (smaller if name in unknown else first).of(name) or first.of(name)
            broken |= {} if one is None else {name: Broken(detail=one.breach.detail, round_=one.round_)}
        for fair in FAIRNESS:
            seen = (near if fair is _NEAR else first).worst.get(fair.name, inf)
            worst[fair.name] = max(worst.get(fair.name, 0.0), seen)
    return Survey(policy=policy, options=options, broken=broken, worst=worst)


def _searched(policy: str, asked: Sequence[Invariant], examples: int, seed: int, *, shrink: bool = False) -> Report:
    # No limit of time: each call would have a thread of its own, and these policies are known to return.
    return find_breaches(
        published(policy),
        [one.allowing(inf) if one.tier is Tier.FAIRNESS else one for one in asked],
        policy=policy,
        strategy=family_rounds(family_of(policy)),
        max_examples=examples,
        seed=seed,
        seconds=None,
        shrink=shrink,
        require_exercised=False,
    )


def table(surveys: Sequence[Survey]) -> Iterable[str]:
    """Yield the lines of a table: ``yes``, ``no``, or how far a policy is from a fairness invariant at worst."""
    yield f"| invariant | {' | '.join(survey.policy for survey in surveys)} |"
    yield "| --- |" + " --- |" * len(surveys)
    safe = not any(one.name in survey.broken for survey in surveys for one in SAFETY)
    if safe:
        yield "| all of safety |" + " yes |" * len(surveys)
    for one in INVARIANTS.values():
        if not (safe and one.tier is Tier.SAFETY):
            yield f"| `{one.name}` | {' | '.join(_cell(survey, one) for survey in surveys)} |"


def _cell(survey: Survey, one: Invariant) -> str:
    if one.name == "understating" and family_of(survey.policy) in ("plans", "configurations"):
        return "-"
    return (
        f"{survey.worst[one.name]:.2f}" if one.tier is Tier.FAIRNESS else "no" if one.name in survey.broken else "yes"
    )


def told(survey: Survey) -> Iterable[str]:
    """Yield a line for each broken invariant, what happens on which round, and what is promised otherwise."""
    for name, one in survey.broken.items():
        yield f"* {survey.policy}, `{name}`: {one.detail}. {described(one.round_)}"
    known = NOT_PROMISED.get(survey.policy, frozenset())
    for name in sorted(set(survey.broken) - known):
        yield f"* {survey.policy} promises `{name}`, and breaks it"
    for name in sorted(known - set(survey.broken)):
        yield f"* {survey.policy} does not promise `{name}`; no round of these breaks it"


def described(round_: Round) -> str:
    """Return a round in one line: GPUs and CPUs of the nodes, quotas, and what each job says besides the defaults."""
    nodes = "+".join(f"{node.gpus}{f' ({node.cpus:g} CPUs)' if node.cpus else ''}" for node in round_.cluster.nodes)
    quotas = ", ".join(f"{one.id} {one.quota_gpus}" for one in round_.cluster.tenants if one.quota_gpus is not None)
    return f"GPUs {nodes}{'; quotas ' * bool(quotas)}{quotas}; " + "; ".join(
        msgspec.json.encode(job).decode() for job in round_.jobs
    )


if __name__ == "__main__":
    main()
