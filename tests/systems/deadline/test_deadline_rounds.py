"""Deadlines: brute force over all decisions, the exact program and the verifier agree, and decisions keep rules."""

from __future__ import annotations

import pytest
from by_policy import broken_rules, decision_value, enumerated_optimum, formulation_of, proved_bound, wrong_reasons
from deadline_brute_force import INTERVAL, deadline_decisions
from deadline_rounds import GROUPS, deadline_round
from seeds import some_then_all

from muri_opt import Limits, Round, policy_from, solve_round, verify
from muri_opt.modelling import evaluate
from muri_opt.solve.solvers import backend_named, solve_stages

SPEC = f"deadline:interval={INTERVAL}"


def solved(round_: Round) -> int:
    """Return the optimum of the program."""
    program = formulation_of(SPEC)
    model = program.build(round_)
    outcome = solve_stages(backend_named("highs"), model, program.stages(round_, model), Limits(seconds=None))
    assert outcome.termination.reason == "OPTIMAL"
    assert outcome.value == outcome.bound
    return outcome.value


def checked(seed: int, group: str) -> bool:
    """Check one round; return whether the heuristic is at the optimum."""
    round_ = deadline_round(seed, group)
    policy, program = policy_from(SPEC), formulation_of(SPEC)
    best = max(value for value, _ in deadline_decisions(round_))
    # The verifier's own enumeration, and the program.
    assert enumerated_optimum(round_, SPEC, steps=2_000_000) == best
    assert solved(round_) == best
    model = program.build(round_)
    # The heuristic is feasible, true in what it says, and never better; so is the decision that changes nothing.
    for found in filter(None, (policy.decide(round_, 0), policy.unchanged(round_))):
        assert broken_rules(round_, found, SPEC) == []
        assert wrong_reasons(round_, found, SPEC) == []
        assert decision_value(round_, SPEC, found) <= best
        point = program.encode(round_, found)
        assert evaluate(model, point).broken == ()
        assert program.decode(round_, point).running == found.running
        bound = proved_bound(round_, SPEC, found, ())
        assert bound is None or bound[0] >= best
    # Where the dynamic program places its answer, that is a feasible point worth the optimum.
    direct = program.direct(round_)
    if direct is not None:
        assert evaluate(model, direct).broken == ()
        assert decision_value(round_, SPEC, program.decode(round_, direct)) <= best
    # Solved and verified.
    result = solve_round(round_, SPEC, "exact")
    assert result.value == best
    assert verify(round_, result).violations == ()
    return decision_value(round_, SPEC, policy.decide(round_, 0)) == best


@pytest.mark.parametrize("group", GROUPS)
@some_then_all(6, 24)
def test_brute_force_equals_program_and_verifier(seeds: range, group: str) -> None:
    optimal = sum(checked(seed, group) for seed in seeds)
    assert optimal > len(seeds) // 3
