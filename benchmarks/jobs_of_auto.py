"""Does ``auto`` run as many jobs as the algorithm of its policy? Drawn rounds of all policies with an exact program.

Run with ``python -m benchmarks.jobs_of_auto [POLICY ...] [--rounds N]``; 500 rounds of all policies take half an hour.
The rounds are those of ``muri_opt.testing.family_rounds``, with up to 8 jobs on up to 3 nodes. Both answers are found
under a budget of work, so that they are the same on any machine. Told is in how many rounds ``auto`` runs fewer than
nine tenths of the jobs that the algorithm runs, and the smallest part of them that it runs in any.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import msgspec
from hypothesis import HealthCheck, Phase, given, seed as seeded, settings

from muri_opt import Limits, Round, solve_round
from muri_opt.systems import POLICIES, has_program, policy_from
from muri_opt.testing import family_of, family_rounds

ROUNDS, WORK = 500, 0.2
LEAST = 0.9
"""The part of the algorithm's jobs that ``auto`` has to run."""


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """How many rounds were drawn, in how many ``auto`` runs too few jobs, and the smallest part that it runs."""

    policy: str
    rounds: int
    fewer: int
    least: float


def rounds_of(policy: str, count: int, *, seed: int = 0) -> list[Round]:
    """Return drawn rounds that a policy can decide; jobs of the same seed are the same everywhere."""
    found = list[Round]()

    @seeded(seed)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[*HealthCheck],
    )
    @given(family_rounds(family_of(policy), max_jobs=8))
    def collect(round_: Round) -> None:
        found.append(round_)

    collect()
    return found


def jobs_run(round_: Round, policy: str, method: str) -> int:
    """Return how many jobs an answer runs."""
    decision = solve_round(round_, policy, method, Limits(seconds=None, work=WORK)).decision
    return 0 if decision is None else len(decision.running)


def survey(policy: str, count: int) -> Survey:
    """Return in how many of so many rounds ``auto`` runs too few jobs."""
    fewer, least, rounds = 0, 1.0, rounds_of(policy, count)
    for round_ in rounds:
        algorithm = jobs_run(round_, policy, "heuristic")
        part = jobs_run(round_, policy, "auto") / algorithm if algorithm else 1.0
        fewer += part < LEAST
        least = min(least, part)
    return Survey(policy=policy, rounds=len(rounds), fewer=fewer, least=least)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each policy as soon as it is done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policies", nargs="*", metavar="POLICY")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    said = parser.parse_args(arguments)
    able = [name for name in POLICIES if has_program(policy_from(name).rules)]
    print(f"{'policy':<24}  rounds  fewer than nine tenths  smallest part")
    for policy in said.policies or able:
        found = survey(policy, said.rounds)
        print(f"{found.policy:<24}  {found.rounds:>6}  {found.fewer:>22}  {found.least:>13.2f}", flush=True)


if __name__ == "__main__":
    main()
