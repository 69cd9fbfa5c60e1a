"""The exact program of configurations: what trying everything finds, and never less than the published algorithms."""

from __future__ import annotations

import random

import numpy as np
import pytest
from by_policy import decision_value, formulation_of, settings_of
from configuration_rounds import POLICIES, best_by_trying, job, random_round, round_of
from seeds import some_then_all

from muri_opt import Limits, Proof, Reason, Round, solve_round, verify
from muri_opt.modelling import evaluate
from muri_opt.rounds import Guarantee
from muri_opt.solve.exact import build, optimise, search_chapter
from muri_opt.systems import policy_from
from muri_opt.systems.plans import PlanningFormulation, PlanOptions, PlanRules
from muri_opt.verify.plans.dual_bound import planned_bound
from muri_opt.verify.plans.plan_choices import PlanChoices

FOREVER = Limits(seconds=None)
RULES = tuple(policy_from(policy).plan_rules for policy in POLICIES)


def optimum(round_: Round, rules: PlanRules, backend: str) -> int:
    """Return the optimum by a backend, feasible as columns, and read back as it was."""
    program = PlanningFormulation(rules=rules)
    answer = optimise(round_, program, backend, FOREVER, None)
    assert answer.termination.reason is Reason.OPTIMAL
    again = evaluate(build(round_, program), program.encode(round_, answer.decision))
    assert (again.broken, again.value) == ((), answer.bound)
    return answer.bound


@pytest.mark.parametrize("backend", ["highs", "cp-sat"])
@pytest.mark.parametrize("rules", RULES, ids=POLICIES)
@some_then_all(6, 24)
def test_the_program_finds_what_trying_everything_finds(rules: PlanRules, backend: str, seeds: range) -> None:
    for seed in seeds:
        round_ = random_round(random.Random(seed), jobs=3, nodes=2)
        assert optimum(round_, rules, backend) == best_by_trying(round_, rules), seed


@pytest.mark.parametrize("policy", POLICIES)
@some_then_all(6, 24)
def test_the_program_never_loses_to_the_algorithm(seeds: range, policy: str) -> None:
    better = 0
    for seed in seeds:
        round_ = random_round(random.Random(100 + seed), jobs=6, nodes=4)
        heuristic, exact = solve_round(round_, policy, "heuristic"), solve_round(round_, policy, "exact")
        for result in (heuristic, exact):
            assert verify(round_, result).violations == ()
        assert exact.value >= heuristic.value
        assert exact.bound == exact.value
        assert exact.certificate.proof in (Proof.LINEAR_DUALS, Proof.EXHAUSTIVE, Proof.COUNTING)
        better += exact.value > heuristic.value
    assert better > 0 or policy == "aiturbo:step=off"


def test_the_random_rounds_have_everything_a_round_of_configurations_can_have() -> None:
    rounds = [random_round(random.Random(seed), jobs=3, nodes=2) for seed in range(12)]
    tables = [PlanOptions.of(round_, RULES[0]) for round_ in rounds]
    assert sum(bool((table.home >= 0).any()) for table in tables) > 3
    assert sum(table.served > 0 for table in tables) > 2
    assert sum(bool((table.g == 0).any()) for table in tables) > 5
    assert sum(one.predictable is False for round_ in rounds for one in round_.jobs) > 2


def test_jobs_count_before_remaining_time_and_promises_before_jobs() -> None:
    one = job("a", {"gpu-p1-w1-s1": 1.0, "gpu-p1-w2-s1": 3.0}, guarantee=Guarantee(throughput=1.0))
    round_ = round_of([(2, 8.0)], one, job("b", {"gpu-p1-w1-s1": 1.0}))
    program = PlanningFormulation(rules=PlanRules(change="neighbours", objective="time"))
    model, options = build(round_, program), PlanOptions.of(round_, program.rules)
    promised, running, rest = program.stages(round_, model)
    assert np.array_equal(
        options.served * promised.objective + options.started * running.objective + rest.objective, model.objective
    )
    assert promised.objective.tolist() == [1, 1, 0]
    assert running.objective.tolist() == [1, 1, 1]
    assert rest.objective.tolist() == [-10_000, -3333, -10_000]
    assert [(stage.weight, stage.best) for stage in (promised, running, rest)] == [
        (options.served, 1),
        (options.started, 2),
        (1, 0),
    ]
    assert optimum(round_, program.rules, "highs") == options.served + 2 * options.started - 20_000


@pytest.mark.parametrize("policy", ["aiturbo", "aiturbo:objective=time,switch=off", "optimus-ps:switch=on"])
def test_the_search_by_patterns_knows_parts_without_gpus(policy: str) -> None:
    found = 0
    for seed in range(15):
        round_ = random_round(random.Random(seed), jobs=3, nodes=2)
        best = best_by_trying(round_, policy_from(policy).plan_rules)
        answer = search_chapter(round_, formulation_of(policy_from(policy)), FOREVER, None)
        if answer is None:
            assert best == 0
            continue
        value = decision_value(round_, policy, answer.decision)
        bound = planned_bound(round_, PlanChoices.of(round_, settings_of(policy)), answer.duals)
        assert value <= best <= bound
        found += value == best
    assert found > 10


def test_configurations_on_gpus_alone_are_searched_by_patterns_too() -> None:
    speeds = {"gpu-p1-w1-s1": 1.0, "gpu-p1-w2-s1": 1.75, "gpu-p2-w2-s1": 2.5}
    jobs = [job(f"j{j}", speeds, remaining_iterations=100 * (j + 1)) for j in range(6)]
    round_ = round_of([(4, 12.0), (4, 9.0)], *jobs)
    found = solve_round(round_, "aiturbo:objective=time", "auto")
    assert found.value == solve_round(round_, "aiturbo:objective=time", "exact@cp-sat").value
