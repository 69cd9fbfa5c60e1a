"""A list schedule whose time is over is one all the same, and is not made again from what it led to."""

from __future__ import annotations

from math import inf

import pytest

from muri_opt import Limits, policy_from, verify
from muri_opt.rounds import Budget
from muri_opt.rounds.generate.families import generate
from muri_opt.solve.round import solve_round
from muri_opt.verify import broken_rules

POLICIES = ("las", "srtf", "srtf:nodes=fewest", "tiresias")


@pytest.mark.parametrize("spec", POLICIES)
@pytest.mark.parametrize("seed", range(3))
def test_one_whose_time_is_over_keeps_the_rules(spec: str, seed: int) -> None:
    round_, policy = generate("gangs", seed=seed, jobs=40, nodes=6), policy_from(spec)
    late = policy.decide_within(round_, 0, Budget(limits=Limits(seconds=0.0)))
    assert not broken_rules(round_, policy.rules, late)


@pytest.mark.parametrize("spec", POLICIES)
def test_without_a_limit_of_seconds_it_runs_to_its_end(spec: str) -> None:
    round_, policy = generate("gangs", seed=4, jobs=40, nodes=6), policy_from(spec)
    budget = Budget(limits=Limits(work=0.001))
    assert budget.deadline == inf
    assert policy.decide_within(round_, 0, budget) == policy.decide(round_, 0)


def test_a_round_under_a_limit_of_seconds_is_verified() -> None:
    round_ = generate("gangs", seed=1, jobs=60, nodes=8)
    result = solve_round(round_, "las", "auto", Limits(seconds=0.001))
    assert verify(round_, result).feasible
