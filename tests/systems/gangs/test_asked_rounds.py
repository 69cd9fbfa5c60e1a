"""Fields of format 2 under the gang policies: brute force, program and verifier agree, and decisions keep rules."""

from __future__ import annotations

from random import Random

import pytest
from asked_brute_force import asked_decisions
from asked_rounds import GROUPS, asked_round
from by_policy import broken_rules, decision_value, enumerated_optimum, formulation_of, proved_bound, wrong_reasons
from seeds import some_then_all
from test_gang_program import best_value

from muri_opt import Round, policy_from, solve_round, verify
from muri_opt.modelling import evaluate
from muri_opt.rounds import after, changed

ORDERS = ("fifo", "srtf", "srsf", "las", "max-min")
SEEDS, ALL_SEEDS = 12, 120


def setting(seed: int, order: str | None = None) -> tuple[str, dict[str, bool]]:
    """Return a policy, of an order if it is told, and its settings as the brute force knows them."""
    draw = Random(seed)
    drawn = draw.choice(ORDERS)
    order = drawn if order is None else order
    chosen = {name: draw.random() < 0.5 for name in ("lexicographic", "fewest", "preempt")}
    objective = "lexicographic" if chosen["lexicographic"] else "weighted"
    nodes, preempt = "fewest" if chosen["fewest"] else "any", "yes" if chosen["preempt"] else "no"
    return f"{order}:objective={objective},nodes={nodes},preempt={preempt}", chosen


def checked(round_: Round, seed: int, order: str | None = None) -> None:
    """Compare all methods on a round, under a policy and settings that the seed chooses."""
    spec, chosen = setting(seed, order)
    policy = policy_from(spec)
    decisions = list(asked_decisions(round_, policy.name, **chosen))
    best = max(value for value, _ in decisions)
    program = formulation_of(spec)
    model = program.build(round_)
    # The verifier's own enumeration, and the program.
    assert enumerated_optimum(round_, spec, steps=200_000) == best
    assert best_value(program, round_) == best
    # The heuristic is feasible, true in what it says, and never better.
    found = policy.decide(round_, 0)
    assert broken_rules(round_, found, spec) == []
    assert wrong_reasons(round_, found, spec) == []
    value = decision_value(round_, spec, found)
    assert value <= best
    point = program.encode(round_, found)
    assert evaluate(model, point).broken == ()
    assert program.decode(round_, point).running == found.running
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
        checked(asked_round(seed, group), seed)


@pytest.mark.parametrize("group", GROUPS)
@some_then_all(SEEDS, ALL_SEEDS)
def test_every_change_starts_the_job_and_deciding_again_changes_nothing(seeds: range, group: str) -> None:
    assert sum(tried_changes(asked_round(seed, group), seed) for seed in seeds)


def tried_changes(round_: Round, seed: int) -> int:
    """Try every change that jobs are told, and decide again; return how many changes there were."""
    policy, tried = policy_from(setting(seed)[0]), 0
    decision = policy.decide(round_, 0)
    for wait in decision.waiting:
        for change in wait.changes:
            tried += 1
            then = changed(round_, decision, wait.job, change)
            assert wait.job in policy.decide(then, 0).running, (seed, wait)
    # Once it is stopped, a job that may not be moved may start anywhere.
    stopped = {job.id for job in round_.jobs if job.stays_put} - decision.running
    assert policy.decide(after(round_, decision), 0).running - stopped == decision.running
    return tried


@pytest.mark.parametrize("group", GROUPS)
def test_the_program_of_tiresias_equals_the_enumeration_of_the_verifier(group: str) -> None:
    for seed in range(12):
        round_, spec = asked_round(seed, group), "tiresias:queues=0.001/0.002"
        best = best_value(formulation_of(spec), round_)
        assert enumerated_optimum(round_, spec, steps=200_000) == best
        found = policy_from(spec).decide(round_, 0)
        assert broken_rules(round_, found, spec) == []
        assert decision_value(round_, spec, found) <= best
