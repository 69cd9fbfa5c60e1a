"""Fields of format 2 under ``philly``: brute force, program and verifier agree, and decisions keep the rules."""

from __future__ import annotations

import pytest
from asked_placements import GROUPS, AskedPlacement, asked_placement_round
from by_policy import broken_rules, decision_value, enumerated_optimum, formulation_of, proved_bound, wrong_reasons
from seeds import some_then_all

from muri_opt import Limits, policy_from, solve_round, verify
from muri_opt.modelling import combined_value, evaluate
from muri_opt.rounds import after, changed
from muri_opt.solve.solvers import backend_named, solve_stages

SEEDS, ALL_SEEDS = 8, 150
STEPS = 500_000


def checked(seed: int, group: str) -> None:
    round_, spec = asked_placement_round(seed, group)
    best = AskedPlacement(round_, spec).best()
    policy, program = policy_from(spec), formulation_of(spec)
    # The verifier's own enumeration, and the program.
    assert enumerated_optimum(round_, spec, steps=STEPS) == best
    model = program.build(round_)
    stages = program.stages(round_, model)
    assert solve_stages(backend_named("highs"), model, stages, Limits(seconds=None)).value == best
    # The heuristic is feasible, true in what it says, and never better.
    found = policy.decide(round_, 0)
    assert broken_rules(round_, found, spec) == []
    assert wrong_reasons(round_, found, spec) == []
    value = decision_value(round_, spec, found)
    assert value <= best
    point = program.encode(round_, found)
    assert evaluate(model, point).broken == ()
    assert combined_value(stages, [int(stage.objective @ point) for stage in stages]) == value
    assert decision_value(round_, spec, program.decode(round_, point)) >= value
    bound = proved_bound(round_, spec, found, ())
    assert bound is None or bound[0] >= best
    # Solved and verified.
    result = solve_round(round_, spec, "exact")
    assert result.value == best
    assert verify(round_, result).violations == ()


@pytest.mark.parametrize("group", GROUPS)
@some_then_all(SEEDS, ALL_SEEDS)
def test_brute_force_equals_program_and_verifier(seeds: range, group: str) -> None:
    for seed in seeds:
        checked(seed, group)


@pytest.mark.parametrize("group", GROUPS)
def test_every_change_starts_the_job_and_deciding_again_changes_nothing(group: str) -> None:
    for seed in range(2 * SEEDS):
        round_, spec = asked_placement_round(seed, group)
        policy = policy_from(spec)
        decision = policy.decide(round_, 0)
        if policy.migrate == "0":
            # Once it is stopped, a job that may not be moved may start anywhere.
            stopped = {job.id for job in round_.jobs if job.stays_put} - decision.running
            assert policy.decide(after(round_, decision), 0).running - stopped == decision.running
        for wait in decision.waiting:
            for change in wait.changes:
                then = changed(round_, decision, wait.job, change)
                assert wait.job in policy.decide(then, 0).running, (seed, wait)
