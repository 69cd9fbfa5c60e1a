"""The exact program of plans: every method finds the optimum that trying all plans on all nodes finds."""

from __future__ import annotations

import random

import numpy as np
import pytest
from planning_rounds import EveryChoice, plan_round, planned, random_plan_round, rules_for
from seeds import some_then_all

from muri_opt import Limits, Node, Plan, Reason, Round, Tenant
from muri_opt.modelling import evaluate
from muri_opt.rounds import Guarantee, WaitingReason
from muri_opt.rounds.generate.families import generate
from muri_opt.solve.exact import build, optimise
from muri_opt.solve.solvers import BACKENDS
from muri_opt.systems.plans import PlanningFormulation, PlanOptions, PlanRules

FOREVER = Limits(seconds=None)
PLAIN = PlanningFormulation(rules=PlanRules())


def solved(round_: Round, program: PlanningFormulation, backends: tuple[str, ...]) -> int:
    """Return the optimum by these backends, all equal, feasible as columns, and read back as they were."""
    model, found = build(round_, program), set()
    most = BACKENDS["exhaustive"].capabilities.most_columns
    for name in backends:
        if name == "exhaustive" and model.column_count > most:
            continue
        answer = optimise(round_, program, name, FOREVER, None)
        assert answer.termination.reason is Reason.OPTIMAL
        again = evaluate(model, program.encode(round_, answer.decision))
        assert (again.broken, again.value) == ((), answer.bound)
        assert program.decode(round_, program.encode(round_, answer.decision)) == answer.decision
        assert len(answer.decision.assignments) + len(answer.decision.waiting) == len(round_.jobs)
        found.add(answer.bound)
    assert len(found) == 1
    return found.pop()


@some_then_all(20, 112)
def test_all_backends_agree_with_trying_everything(seeds: range) -> None:
    for seed in seeds:
        round_, rules = random_plan_round(seed), rules_for(seed)
        best = EveryChoice(round_, rules).best()
        assert solved(round_, PlanningFormulation(rules=rules), tuple(BACKENDS)) == best, seed


@pytest.mark.slow
def test_two_backends_agree_with_trying_everything_on_300_rounds() -> None:
    for seed in range(1000, 1300):
        round_, rules = random_plan_round(seed), rules_for(seed)
        best = EveryChoice(round_, rules).best()
        assert solved(round_, PlanningFormulation(rules=rules), ("highs", "cp-sat")) == best, seed


def test_the_random_rounds_have_everything_a_round_of_plans_can_have() -> None:
    rounds = [(random_plan_round(seed), rules_for(seed)) for seed in range(112)]
    tables = [PlanOptions.of(round_, rules) for round_, rules in rounds]
    assert sum(len(table.homes) > 0 for table in tables) > 10
    assert sum(bool((table.q > 1).any()) for table in tables) > 10
    assert sum(table.served > 0 for table in tables) > 10
    assert sum(bool((table.kind > 0).any()) for table in tables) > 3
    assert (
        sum(
            any(len(table.of_job(j)) == 0 for j in range(len(r.jobs)))
            for (r, _), table in zip(rounds, tables, strict=True)
        )
        > 3
    )


def test_a_second_stage_keeps_the_guarantees_of_the_first() -> None:
    round_ = generate("plans", jobs=12, nodes=2, seed=5)
    model = build(round_, PLAIN)
    options = PlanOptions.of(round_, PLAIN.rules)
    runs, rest = PLAIN.stages(round_, model)
    assert np.array_equal(options.served * runs.objective + rest.objective, model.objective)
    assert (runs.weight, rest.weight, rest.best) == (options.served, 1, options.served - 1)
    assert rest.objective.max() <= 10**6
    assert rest.objective.min() >= 0
    answer = optimise(round_, PLAIN, "highs", FOREVER, None)
    values = PLAIN.encode(round_, answer.decision)
    assert runs.objective @ values <= runs.best
    assert rest.objective @ values <= rest.best
    assert optimise(round_, PLAIN, "cp-sat", FOREVER, None).bound == answer.bound == model.objective @ values


def test_without_guarantees_there_is_one_stage() -> None:
    round_ = plan_round([2], [planned(0, Plan(name="a", gpus=2, throughput=1.0))])
    model = build(round_, PLAIN)
    (stage,) = PLAIN.stages(round_, model)
    assert (stage.weight, stage.objective.tolist()) == (1, [10**6])


def test_an_option_of_one_part_has_no_column_but_those_of_its_nodes() -> None:
    plans = Plan(name="a", gpus=2, throughput=1.0), Plan(name="b", gpus=4, nodes=2, throughput=1.5)
    model = build(plan_round([2, 2, 1], [planned(0, *plans)]), PLAIN)
    assert model.column_names == ("x_1", "y_0_0", "y_0_1", "y_1_0", "y_1_1")
    assert model.labels == ("once", "parts", "gpus", "cpus", "memory", "quota")


def test_cpus_and_memory_count_in_the_largest_common_unit() -> None:
    plans = [Plan(name="a", gpus=1, cpus=k, memory_gib=2 * k, throughput=1.0) for k in (4, 6)]
    nodes = [Node(id="n0", gpus=2, cpus=9.5, memory_gib=17), Node(id="n1", gpus=2)]
    model = build(plan_round(nodes, [planned(j, plan) for j, plan in enumerate(plans)]), PLAIN)
    rows = {family.label: family for family in model.rows}
    assert (rows["cpus"].coefficients.tolist(), rows["cpus"].rhs.tolist()) == ([2, 3], [4])
    assert (rows["memory"].coefficients.tolist(), rows["memory"].rhs.tolist()) == ([2, 3], [4])
    assert (
        len(
            optimise(
                plan_round(nodes[:1], [planned(j, p) for j, p in enumerate(plans)]), PLAIN, "highs", FOREVER, None
            ).decision.running
        )
        == 1
    )


def test_a_job_on_the_nodes_it_holds_is_at_home_whichever_column_says_so() -> None:
    plan = Plan(name="a", gpus=4, nodes=2, throughput=1.0)
    held = {"state": "running", "placement": {"n0": 2, "n1": 2}, "restart_seconds": 60.0}
    round_ = plan_round([2, 2, 2], [planned(0, plan, **held)])
    model = build(round_, PLAIN)
    assert model.column_names == ("x_0", "x_1", "y_0_0", "y_0_1", "y_1_0", "y_1_1", "y_1_2")
    assert model.objective.tolist()[:2] == [10**6, 900_000]
    restarted = np.array([0, 1, 0, 0, 1, 1, 0])
    assert evaluate(model, restarted).value == 900_000
    assert PLAIN.encode(round_, PLAIN.decode(round_, restarted)).tolist() == [1, 0, 1, 1, 0, 0, 0]
    moved = np.array([0, 1, 0, 0, 1, 0, 1])
    assert PLAIN.encode(round_, PLAIN.decode(round_, moved)).tolist() == moved.tolist()


def test_only_guaranteed_jobs_use_a_quota() -> None:
    plan, promise = Plan(name="a", gpus=2, throughput=1.0), Guarantee(throughput=1.0)
    jobs = [planned(j, plan, tenant="a", guarantee=promise if j < 2 else None) for j in range(4)]
    round_ = plan_round([8], jobs, [Tenant(id="b"), Tenant(id="a", quota_gpus=3)])
    answer = optimise(round_, PLAIN, "highs", FOREVER, None)
    assert len(answer.decision.running) == 3
    assert [waiting.reason for waiting in answer.decision.waiting] == [WaitingReason.QUOTA]


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_job_no_node_and_no_option_are_rounds_too(backend: str) -> None:
    plan = Plan(name="a", gpus=4, throughput=1.0)
    for round_ in (
        plan_round([4], []),
        plan_round([], []),
        plan_round([], [planned(0, plan)]),
        plan_round([2], [planned(0, plan)]),
    ):
        answer = optimise(round_, PLAIN, backend, FOREVER, None)
        assert (answer.termination.reason, answer.bound, answer.decision.assignments) == (Reason.OPTIMAL, 0, ())
        assert [waiting.reason for waiting in answer.decision.waiting] == [WaitingReason.CAPACITY] * len(round_.jobs)
        assert PLAIN.quick_duals(round_).multipliers == {"once": (0,) * len(round_.jobs), "quota": ()}


def test_a_start_is_kept_where_there_is_no_time() -> None:
    round_ = generate("plans", jobs=6, nodes=2, seed=1)
    start = optimise(round_, PLAIN, "highs", FOREVER, None).decision
    again = optimise(round_, PLAIN, "cp-sat", FOREVER, start)
    assert PLAIN.encode(round_, again.decision) @ build(round_, PLAIN).objective == again.bound


@pytest.mark.parametrize("seed", range(12))
def test_where_nodes_do_not_matter_the_program_is_a_knapsack(seed: int) -> None:
    """Equal nodes of 4 GPUs; parts of 1, 2 or 4 GPUs with their share of CPUs; several parts in whole nodes."""
    rng = random.Random(seed)
    shapes = [(1, 1), (2, 1), (4, 1), (8, 2), (12, 3)]
    jobs = []
    for position in range(6):
        plans = [
            Plan(
                name="p", gpus=gpus, nodes=parts, cpus=gpus * rng.choice((1, 2)), throughput=gpus ** rng.uniform(0.5, 1)
            )
            for gpus, parts in sorted(rng.sample(shapes, 3))
        ]
        jobs.append(planned(position, *plans))
    round_ = plan_round([Node(id=f"n{s}", gpus=4, cpus=8) for s in range(3)], jobs)
    options = PlanOptions.of(round_, PLAIN.rules)
    best = [0] * 13
    for j in range(6):
        best = [
            max(
                [
                    before,
                    *(
                        options.e[o] + best[gpus - size]
                        for o in options.of_job(j)
                        if (size := options.q[o] * options.g[o]) <= gpus
                    ),
                ]
            )
            for gpus, before in enumerate(best)
        ]
    assert solved(round_, PLAIN, ("highs",)) == best[12]
