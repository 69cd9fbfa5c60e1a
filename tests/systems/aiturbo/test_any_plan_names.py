"""Plans of any names under the policies that go step by step: a ladder by what plans take."""

from __future__ import annotations

import random

import pytest
from by_policy import broken_rules, decision_value, enumerated_optimum, wrong_reasons
from configuration_rounds import POLICIES, best_by_trying, random_round, renamed

from muri_opt import Cluster, Job, Node, Plan, Round, policy_from, solve_round, verify
from muri_opt.systems.plans.plan_ladder import steps_of

DP = tuple(Plan(name=f"dp{gpus}", gpus=gpus, cpus=gpus, throughput=float(gpus)) for gpus in (1, 2, 4))
CPU = Plan(name="on-cpus", gpus=0, cpus=2.0, throughput=0.5)


def one_job(*plans: Plan, **said: object) -> Round:
    given = {"gpus": 1, "plan": "dp1", "remaining_iterations": 1000, "executed_seconds": 0.0}
    cluster = Cluster(nodes=(Node(id="n0", gpus=4, cpus=8.0),))
    return Round(cluster=cluster, jobs=(Job(id="a", plans=plans, **given | said),))


@pytest.mark.parametrize("policy", POLICIES)
def test_trying_everything_equals_program_and_verifier(policy: str) -> None:
    rules = policy_from(policy).plan_rules
    for seed in range(3):
        round_ = renamed(random_round(random.Random(seed), jobs=3, nodes=2), random.Random(seed))
        best = best_by_trying(round_, rules)
        assert enumerated_optimum(round_, policy, steps=200_000) == best
        result = solve_round(round_, policy, "exact")
        assert result.value == best
        assert verify(round_, result).violations == ()
        found = policy_from(policy).decide(round_, 0)
        assert broken_rules(round_, found, policy) == []
        assert wrong_reasons(round_, found, policy) == []
        assert decision_value(round_, policy, found) <= best


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_trying_everything_equals_the_verifier_on_many_rounds(policy: str) -> None:
    rules = policy_from(policy).plan_rules
    for seed in range(3, 130):
        round_ = renamed(random_round(random.Random(seed), jobs=3, nodes=2), random.Random(seed))
        assert enumerated_optimum(round_, policy, steps=200_000) == best_by_trying(round_, rules)
        assert solve_round(round_, policy, "exact").value == best_by_trying(round_, rules)


def test_plans_are_rungs_in_the_order_of_what_they_take() -> None:
    wide = Plan(name="dp1", gpus=8, nodes=2, throughput=9.0)  # of one name the smallest plan tells the place
    steps = steps_of(one_job(*reversed(DP), CPU, wide).jobs[0])
    assert sorted(steps, key=lambda name: steps[name].size) == ["on-cpus", "dp1", "dp2", "dp4"]
    here = steps["dp1"]
    assert [at.name for at in here.additions(switch=True)] == ["dp2"]
    assert [at.name for at in here.removals(switch=True)] == ["on-cpus"]
    assert here.removals(switch=False) == ()
    assert [at.name for at in here.growths()] == ["dp2", "dp4"]
    assert (here.kind, here.service, here.units(wide)) == ("gpu", 15, 90)


def test_a_step_leads_to_the_next_plan_and_no_further() -> None:
    round_ = one_job(*DP)
    for method in ("heuristic", "exact"):
        decided = solve_round(round_, "aiturbo:objective=time", method).decision
        assert decided.assignments[0].plan == "dp2"
        assert solve_round(round_, "optimus-ps", method).decision.assignments[0].plan == "dp4"
        assert solve_round(round_, "aiturbo:step=off", method).decision.assignments[0].plan == "dp1"
    decided = solve_round(round_, "optimus-ps", "heuristic").decision
    (breach,) = broken_rules(round_, decided, "aiturbo:objective=time")
    assert breach.rule == "change"


def test_a_job_whose_names_all_tell_tasks_is_read_as_such_beside_one_whose_names_do_not() -> None:
    tasks = Plan(name="gpu-p1-w1-s1", gpus=1, cpus=2.0, throughput=1.0)
    more = Plan(name="gpu-p1-w2-s1", gpus=2, cpus=3.0, throughput=1.9)
    assert [
        at.name for at in steps_of(one_job(tasks, more, plan="gpu-p1-w1-s1").jobs[0])["gpu-p1-w1-s1"].growths()
    ] == [
        "gpu-p2-w1-s1",
        "gpu-p1-w2-s1",
    ]
    mixed = steps_of(one_job(tasks, more, *DP).jobs[0])
    assert [at.name for at in mixed["gpu-p1-w1-s1"].removals(switch=True)] == ["dp1"]
