"""The verifier rejects every mutant of a right answer among plans and names the rule that it breaks."""

from __future__ import annotations

import numpy as np
import pytest
from alterations import changed_first, decided, replace, rules_broken_by, with_assignments
from handmade import round_of
from hypothesis import event, given, strategies as st
from more_examples import more_examples
from mutants import Mutant
from plan_mutants import OF_ANY_POLICY, PLAN_MUTANTS
from plan_rounds import answers, result_of, rules_for

from muri_opt import Assignment, Decision, Guarantee, Job, Node, Plan, Result, Round, Tenant, WaitingReason, verify
from muri_opt.systems.plans import PlanOptions, plan_decision

NODES = (
    Node(id="n0", gpus=4, cpus=8, memory_gib=16, gpu_type="a"),
    Node(id="n1", gpus=4, cpus=8, memory_gib=8, gpu_type="a"),
    Node(id="n2", gpus=2, cpus=2, memory_gib=16, gpu_type="b"),
    Node(id="n3", gpus=2),
)
TENANTS = (Tenant(id="red", quota_gpus=3), Tenant(id="blue"))
SMALL = Plan(name="dp1", gpus=1, cpus=1, memory_gib=2, throughput=1.1)
LARGE = Plan(name="dp2", gpus=2, cpus=2, memory_gib=4, throughput=2.0)
GREEDY = Plan(name="zero-dp2", gpus=2, cpus=7, memory_gib=12, throughput=2.25)
SPREAD = Plan(name="pp2", gpus=4, nodes=2, cpus=2, memory_gib=4, throughput=3.0)
KINDS = tuple(Plan(name="tp2", gpus=2, gpu_type=kind, throughput=thr) for kind, thr in (("a", 2.5), ("b", 1.5)))
HUGE = Plan(name="dp16", gpus=16, throughput=20.0)
PROMISE = {"tenant": "red", "guarantee": Guarantee(throughput=2.0), "plan": "dp2"}
AT_HOME = {"state": "running", "placement": {"n0": 2}, "restart_seconds": 60.0}
JOBS = (
    Job(id="home", gpus=2, plans=(SMALL, LARGE, GREEDY), **AT_HOME, **PROMISE),
    Job(id="late", gpus=2, plans=(SMALL, LARGE, GREEDY), **PROMISE),
    Job(id="wide", gpus=4, plans=(SPREAD, SMALL), plan="pp2", tenant="red"),
    Job(id="typed", gpus=2, plans=KINDS, plan="tp2"),
    Job(id="huge", gpus=16, plans=(HUGE,), plan="dp16"),
    Job(id="small", gpus=1, plans=(SMALL,), plan="dp1"),
    Job(id="greedy", gpus=2, plans=(GREEDY,), plan="zero-dp2"),
)
TIGHT = round_of(NODES, JOBS, TENANTS)
RUNNING = {"home": ("dp2", ["n0"]), "wide": ("pp2", ["n0", "n1"]), "typed": ("tp2", ["n2"])}
POLICIES = ("rubick", "rubick:change=plans", "antman", "synergy", "sia:change=both", "sia", "equal-share")


def answer(round_: Round, policy: str, running: dict[str, tuple[str, list[str]]]) -> Result:
    """Return the answer in which jobs run by plans on nodes, and the others wait for the right reasons."""
    options, places = PlanOptions.of(round_, rules_for(policy)), round_.cluster.node_index
    chosen = {}
    for job, (name, nodes) in running.items():
        j = round_.job_index[job]
        at = np.array([places[node] for node in nodes])
        option = next(
            o
            for o in options.of_job(j)
            if round_.jobs[j].plans[options.plan[o]].name == name and options.nodes(o)[at].all()
        )
        chosen[option] = at
    return result_of(round_, policy, plan_decision(round_, options, chosen))


@pytest.fixture(scope="module", params=POLICIES)
def right(request: pytest.FixtureRequest) -> Result:
    return answer(TIGHT, request.param, RUNNING)


def test_the_right_answers_are_right(right: Result) -> None:
    assert rules_broken_by(TIGHT, right) == set()
    assert {wait.job: wait.reason for wait in decided(right).waiting} == {
        "late": WaitingReason.QUOTA,
        "huge": WaitingReason.CAPACITY,
        "small": WaitingReason.PRIORITY,
        "greedy": WaitingReason.PRIORITY,
    }


def test_every_mutant_has_a_name_of_its_own() -> None:
    names = [mutant.name for mutant in PLAN_MUTANTS]
    assert len(set(names)) == len(names) > 50
    assert set(OF_ANY_POLICY) <= set(names)
    assert {mutant.rule for mutant in PLAN_MUTANTS} == {
        "bound",
        "change",
        "cpu-capacity",
        "cpus-with-gpus",
        "evidence",
        "fingerprint",
        "gap",
        "gpu-capacity",
        "gpu-type",
        "group-size",
        "guarantee",
        "job-once",
        "known-job",
        "known-node",
        "memory-capacity",
        "order",
        "period",
        "plan",
        "quota",
        "termination",
        "value",
        "waiting-listed",
        "waiting-reason",
        "whole-gpus",
    }


@pytest.mark.parametrize("mutant", PLAN_MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_rejected_by_name(mutant: Mutant) -> None:
    applied = 0
    for policy in POLICIES:
        result = answer(TIGHT, policy, RUNNING)
        broken = mutant.broken(TIGHT, result)
        if broken is not None:
            applied += 1
            assert broken != result
            assert mutant.rule in rules_broken_by(TIGHT, broken), policy
    assert applied > 0


@given(st.data(), answers())
@more_examples(200)
def test_any_mutant_of_any_answer_is_rejected(data: st.DataObject, given_: tuple[Round, Result]) -> None:
    round_, result = given_
    assert rules_broken_by(round_, result) == set()
    mutants = [(mutant, broken) for mutant in PLAN_MUTANTS if (broken := mutant.broken(round_, result)) is not None]
    mutant, broken = data.draw(st.sampled_from(mutants))
    event(mutant.rule)
    assert mutant.rule in rules_broken_by(round_, broken), mutant.name


@pytest.mark.parametrize(
    ("job", "name", "nodes", "broken"),
    [
        ("home", "dp1", ["n0"], {"guarantee"}),
        ("home", "dp2", ["n2"], {"gpu-capacity"}),
        ("home", "dp2", ["n1"], set()),
        ("home", "zero-dp2", ["n0"], set()),
        ("home", "zero-dp2", ["n1"], {"memory-capacity"}),
        ("home", "zero-dp2", ["n2"], {"gpu-capacity", "cpu-capacity"}),
        ("typed", "tp2", ["n3"], {"gpu-type"}),
        ("typed", "tp2", ["n0"], {"gpu-capacity"}),
        ("typed", "tp2", ["n1"], set()),  # by the plan for such GPUs
        ("wide", "pp2", ["n0", "n3"], set()),
        ("wide", "pp2", ["n0"], {"plan"}),
        ("wide", "dp1", ["n3"], set()),
    ],
)
def test_one_job_elsewhere(job: str, name: str, nodes: list[str], broken: set[str]) -> None:
    result = answer(TIGHT, "rubick", RUNNING)
    plan = next(plan for plan in TIGHT.jobs[TIGHT.job_index[job]].plans if plan.name == name)
    cpus = (plan.cpus or 0.0) / plan.nodes
    other = Assignment(
        jobs=(job,),
        plan=name,
        gpus=dict.fromkeys(nodes, plan.gpus // plan.nodes),
        cpus=dict.fromkeys(nodes, cpus) if cpus else {},
    )
    changed = [other if assignment.jobs == (job,) else assignment for assignment in decided(result).assignments]
    found = rules_broken_by(TIGHT, with_assignments(result, *changed)) - {"value", "gap", "waiting-reason"}
    assert found == broken


def test_zero_cpus_may_be_said_or_not() -> None:
    result = answer(TIGHT, "rubick", {"typed": ("tp2", ["n2"])})
    assert rules_broken_by(TIGHT, changed_first(result, cpus={"n2": 0.0})) == set()


def test_best_effort_jobs_use_no_quota() -> None:
    """Six GPUs of a tenant with three: only the two that were promised count."""
    result = answer(TIGHT, "rubick", RUNNING)
    assert sum(sum(a.gpus.values()) for a in decided(result).assignments if a.jobs[0] in ("home", "wide")) == 6
    assert rules_broken_by(TIGHT, result) == set()


@pytest.mark.parametrize(
    ("running", "reason"),
    [
        ({"a": ("dp2", ["n0"]), "b": ("dp2", ["n1"])}, WaitingReason.FRAGMENTATION),  # one GPU on each node
        ({"a": ("dp2", ["n0"])}, WaitingReason.PRIORITY),
        ({"a": ("dp2", ["n0"]), "b": ("dp2", ["n1"]), "one": ("dp1", ["n1"])}, WaitingReason.CAPACITY),
    ],
)
def test_the_first_rule_that_keeps_a_job_waiting_is_told(
    running: dict[str, tuple[str, list[str]]], reason: WaitingReason
) -> None:
    plan = Plan(name="dp2", gpus=2, throughput=1.0)
    jobs = [Job(id=name, gpus=2, plans=(plan,)) for name in "abc"]
    one = Job(id="one", gpus=1, plans=(Plan(name="dp1", gpus=1, throughput=1.0),))
    round_ = round_of([3, 3], [*jobs, one])
    result = answer(round_, "rubick", running)
    waits = {wait.job: wait for wait in decided(result).waiting}
    assert waits["c"].reason is reason
    for wrong in set(WaitingReason) - {reason}:
        waiting = tuple(replace(wait, reason=wrong) if wait.job == "c" else wait for wait in waits.values())
        (violation,) = verify(
            round_, with_assignments(result, *decided(result).assignments, waiting=waiting)
        ).violations
        assert (violation.rule, violation.where) == ("waiting-reason", "c")
        assert violation.detail == f"said {wrong}; it is {reason}"


def test_a_plan_that_no_node_can_hold_breaks_what_the_node_has() -> None:
    result = answer(TIGHT, "rubick", {})
    run = Assignment(jobs=("huge",), plan="dp16", gpus={"n0": 16})
    waiting = tuple(wait for wait in decided(result).waiting if wait.job != "huge")
    (violation,) = verify(TIGHT, replace(result, decision=Decision(assignments=(run,), waiting=waiting))).violations
    assert (violation.rule, violation.where) == ("gpu-capacity", "n0")
