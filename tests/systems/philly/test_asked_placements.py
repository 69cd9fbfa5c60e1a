"""Fields of format 2 under ``philly``: brute force, program and verifier agree, and decisions keep the rules."""

from __future__ import annotations

import pytest
from asked_placements import GROUPS, AskedPlacement, asked_placement_round
from by_policy import broken_rules, decision_value, enumerated_optimum, formulation_of, proved_bound, wrong_reasons
from test_gang_program import best_value

from muri_opt import policy_from, solve_round, verify
from muri_opt.modelling import evaluate
from muri_opt.rounds import changed

SEEDS = 20
STEPS = 500_000


def checked(seed: int, group: str) -> None:
    round_, spec = asked_placement_round(seed, group)
    best = AskedPlacement(round_, spec).best()
    policy, program = policy_from(spec), formulation_of(spec)
    # The verifier's own enumeration, and the program.
    assert enumerated_optimum(round_, spec, steps=STEPS) == best
    assert best_value(program, round_) == best
    # The heuristic is feasible, true in what it says, and never better.
    found = policy.decide(round_, 0)
    assert broken_rules(round_, found, spec) == []
    assert wrong_reasons(round_, found, spec) == []
    value = decision_value(round_, spec, found)
    assert value <= best
    point = program.encode(round_, found)
    assert evaluate(program.build(round_), point).broken == ()
    assert decision_value(round_, spec, program.decode(round_, point)) >= value
    bound = proved_bound(round_, spec, found, ())
    assert bound is None or bound[0] >= best
    # Solved and verified.
    result = solve_round(round_, spec, "exact")
    assert result.value == best
    assert verify(round_, result).violations == ()


@pytest.mark.parametrize("group", GROUPS)
def test_brute_force_equals_program_and_verifier(group: str) -> None:
    for seed in range(SEEDS):
        checked(seed, group)


@pytest.mark.parametrize("group", GROUPS)
def test_every_change_starts_the_job(group: str) -> None:
    for seed in range(SEEDS):
        round_, spec = asked_placement_round(seed, group)
        policy = policy_from(spec)
        decision = policy.decide(round_, 0)
        for wait in decision.waiting:
            for change in wait.changes:
                then = changed(round_, decision, wait.job, change)
                assert wait.job in policy.decide(then, 0).running, (seed, wait)
