"""Rounds in which jobs run by plans, ask for certain nodes and have priorities: program, search and brute force."""

from __future__ import annotations

import pytest
from joint_agreement import UNHURRIED, assert_agreement, drawn
from joint_rounds import mixed_joint_round
from msgspec.structs import replace
from seeds import chunk_by_chunk

from muri_opt import Cluster, Job, Node, Plan, Round, Tenant, policy_from, solve_round
from muri_opt.rounds import after, changes
from muri_opt.verify import broken_rules

STEPS = 300_000


@chunk_by_chunk(30, 60, 15)
def test_program_and_brute_force_agree_and_nothing_beats_them(seeds):
    for one in drawn(mixed_joint_round, seeds):
        assert_agreement(*one)


def test_what_was_decided_stays_as_it_is():
    for seed, round_, policy in drawn(mixed_joint_round, range(100, 150)):
        then = after(round_, policy.decide(round_, 0))
        assert set(changes(then, policy.decide(then, 0)).counts) <= {"keep"}, seed


def plan(gpus, speed, **fields):
    return Plan(name=f"dp{gpus}", gpus=gpus, throughput=speed, **fields)


def round_of(*jobs, nodes=(4,), **fields):
    made = tuple(Node(id=f"n{at}", gpus=gpus, **fields) for at, gpus in enumerate(nodes))
    return Round(cluster=Cluster(nodes=made), jobs=jobs, resources=("storage", "gpu", "network"))


def job(name, **fields):
    return Job(**{"id": name, "gpus": 1, "iteration_seconds": 1.0, "remaining_iterations": 10, **fields})


def placed(round_, policy="joint-s", method="auto"):
    found = solve_round(round_, policy, method, UNHURRIED)
    assert found.certificate.feasible
    return {one.jobs: (one.plan, dict(one.gpus)) for one in found.decision.assignments}


@pytest.mark.parametrize("method", ["heuristic", "auto"])
def test_the_parts_of_a_plan_are_on_nodes_of_their_own(method):
    wide = job("wide", plans=(plan(4, 3.0, nodes=2), plan(1, 1.0)))
    found = placed(round_of(wide, nodes=(4, 4)), method=method)
    assert found == {("wide",): ("dp4", {"n0": 2, "n1": 2})}


def test_cpus_of_a_plan_count_and_not_those_of_its_job():
    hungry = job("hungry", plans=(plan(2, 9.0, cpus=10), plan(1, 1.0, cpus=2)), cpus=1)
    assert placed(round_of(hungry, nodes=(4,), cpus=8.0)) == {("hungry",): ("dp1", {"n0": 1})}


def test_a_larger_priority_comes_first_whatever_the_others_lose():
    dear = job("dear", remaining_iterations=10**6, priority=1, scaling={1: 1.0, 2: 1.01})
    cheap = (job(f"j{at}", remaining_iterations=1) for at in range(3))
    found = placed(round_of(dear, *cheap, nodes=(2,)))
    assert found == {("dear",): (None, {"n0": 2})}


def test_of_one_priority_others_may_join_if_that_costs_nothing():
    stages = {"stage_seconds": (0.5, 0.0, 0.5)}
    first, second = job("first", priority=1, **stages), job("second", stage_seconds=(0.5, 0.5, 0.0))
    assert len(placed(round_of(first, second, nodes=(1,)))) == 1


@pytest.mark.parametrize("method", ["heuristic", "auto"])
def test_jobs_share_only_where_both_may_start(method):
    nodes = (Node(id="old", gpus=1, gpu_type="v100"), Node(id="new", gpus=1, gpu_type="a100", labels=("fast",)))
    stages = {"stage_seconds": (0.4, 0.3, 0.3)}
    jobs = (job("x", requires=("fast",), **stages), job("y", gpu_types=("v100",), **stages), job("z", **stages))
    round_ = Round(cluster=Cluster(nodes=nodes), jobs=jobs, resources=("storage", "gpu", "network"))
    for group, (_, where) in placed(round_, method=method).items():
        assert "x" not in group or where == {"new": 1}
        assert "y" not in group or where == {"old": 1}


def test_a_running_job_may_go_on_where_it_could_not_start():
    node = Node(id="n0", gpus=2, labels=("closed",))
    runs = job("runs", excludes=("closed",), state="running", placement={"n0": 1})
    waits = job("waits", excludes=("closed",))
    result = solve_round(Round(cluster=Cluster(nodes=(node,)), jobs=(runs, waits)), "joint-s", "auto", UNHURRIED)
    assert result.decision.running == {"runs"}
    assert result.certificate.feasible


def test_why_a_job_with_plans_waits():
    node, tenants = (Node(id="n0", gpus=2), Node(id="n1", gpus=2)), (Tenant(id="t", quota_gpus=1),)
    holds = (job(f"h{at}", state="running", placement={f"n{at}": 1}, preemptible=False) for at in range(2))
    jobs = (
        *holds,
        job("parts", plans=(plan(2, 1.0),)),
        job("large", plans=(plan(4, 1.0, nodes=2),)),
        job("never", plans=(plan(8, 1.0),)),
        job("owes", plans=(plan(2, 1.0, nodes=2),), tenant="t"),
    )
    result = solve_round(Round(cluster=Cluster(nodes=node, tenants=tenants), jobs=jobs), "joint-s", "auto", UNHURRIED)
    reasons = {wait.job: str(wait.reason) for wait in result.decision.waiting}
    assert result.certificate.feasible
    assert reasons == {"parts": "capacity", "large": "capacity", "never": "capacity", "owes": "quota"}


def mutants(decision):
    """Yield decisions that break one rule each."""
    one = next(each for each in decision.assignments if each.plan is not None)
    others = tuple(each for each in decision.assignments if each is not one)
    for fields in (
        {"plan": "unknown"},
        {"plan": None},
        {"gpus": {"n0": 2}},
        {"cpus": {"n0": 7.0}},
        {"period_seconds": 1.0},
        {"gpus": {"n1": 4}},
    ):
        yield fields, replace(decision, assignments=(replace(one, **fields), *others))


def test_the_verifier_refuses_what_no_plan_says():
    nodes = (Node(id="n0", gpus=4, gpu_type="a"), Node(id="n1", gpus=4, gpu_type="b"))
    jobs = (job("p", plans=(plan(4, 3.0, cpus=4, gpu_type="a"),)), job("q"))
    round_, policy = Round(cluster=Cluster(nodes=nodes), jobs=jobs), policy_from("joint-s")
    decision = policy.decide(round_, 0)
    assert not broken_rules(round_, policy.rules, decision)
    for fields, wrong in mutants(decision):
        assert broken_rules(round_, policy.rules, wrong), fields
