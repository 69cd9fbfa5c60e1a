"""Running jobs are changed only where that pays, and deciding again changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace as with_settings
from time import monotonic

import msgspec
import pytest

from muri_opt import Cluster, Decision, Job, Limits, Node, Plan, Round, solve_round, verify
from muri_opt.rounds import Assignment, after
from muri_opt.rounds.budget import Budget
from muri_opt.rounds.generate.families import generate
from muri_opt.rounds.job_changes import changes
from muri_opt.systems import policy_from
from muri_opt.verify import broken_rules, decision_value

FAMILY = {
    "rubick": "plans",
    "sia": "plans",
    "synergy": "plans",
    "antman": "plans",
    "equal-share": "plans",
    "srs": "plans",
    "aiturbo": "configurations",
    "optimus-ps": "configurations",
}
FULL = {"gpus": 1, "restart_seconds": 60.0, "executed_seconds": 10_000.0}


def drawn(policy: str, seeds: int = 4) -> Iterator[Round]:
    """Yield rounds in which some jobs run, each of them with a plan."""
    for seed in range(seeds):
        round_ = generate(FAMILY[policy], jobs=14, nodes=3, seed=seed)
        jobs = [msgspec.structs.replace(job, plan=job.plan or (job.plans or ())[0].name) for job in round_.jobs]
        yield msgspec.structs.replace(round_, jobs=tuple(jobs))


def places(decision: Decision) -> dict[str, tuple[str | None, dict[str, int]]]:
    return {one.jobs[0]: (one.plan, dict(one.gpus)) for one in decision.assignments}


def put_back(round_: Round, decision: Decision, job: Job) -> Iterator[Decision]:
    """Yield the decision with one running job as it was, by each plan that it may have there, all else the same."""
    others = tuple(one for one in decision.assignments if job.id not in one.jobs)
    waiting = tuple(wait for wait in decision.waiting if wait.job != job.id)
    held = dict(job.placement or {})
    for plan in job.plans or ():
        if plan.name == job.plan and plan.nodes == len(held) and plan.gpus == sum(held.values()):
            cpus = dict.fromkeys(held, (plan.cpus or 0.0) / plan.nodes) if plan.cpus else {}
            own = Assignment(jobs=(job.id,), plan=plan.name, gpus=held, cpus=cpus)
            yield Decision(assignments=(*others, own), waiting=waiting)


@pytest.mark.parametrize("policy", FAMILY)
def test_deciding_again_changes_nothing(policy: str) -> None:
    rule = policy_from(policy)
    for round_ in drawn(policy):
        first = rule.decide(round_, 0)
        assert broken_rules(round_, rule.rules, first) == []
        assert places(rule.decide(after(round_, first), 0)) == places(first)


@pytest.mark.parametrize("policy", FAMILY)
def test_no_change_can_be_undone_alone_at_no_loss(policy: str) -> None:
    rule, tried = policy_from(policy), 0
    for round_ in drawn(policy):
        decision = rule.decide(round_, 0)
        value, made = decision_value(round_, rule.rules, decision), changes(round_, decision)
        for change in (*made.stop, *made.move, *made.resize):
            job = round_.jobs[round_.job_index[change.job]]
            for back in put_back(round_, decision, job):
                tried += 1
                legal = not broken_rules(round_, rule.rules, back)
                assert not legal or decision_value(round_, rule.rules, back) < value, (round_.name, change.job)
    assert tried or policy in ("synergy", "antman")


@pytest.mark.parametrize("policy", FAMILY)
def test_what_pays_is_worth_no_less_than_what_is_published_or_kept(policy: str) -> None:
    rule = policy_from(policy)
    for round_ in drawn(policy):
        still = decision_value(round_, rule.rules, rule.decide(round_, 0))
        kept = rule.unchanged(round_)
        if kept is not None and policy not in ("synergy", "antman", "rubick"):
            assert still >= decision_value(round_, rule.rules, kept)
            assert not {"stop", "move", "resize"} & changes(round_, kept).counts.keys() or policy == "aiturbo"


@pytest.mark.parametrize("policy", [policy for policy in FAMILY if policy != "aiturbo"])
def test_where_nothing_runs_restarts_decide_nothing(policy: str) -> None:
    rule = policy_from(policy)
    for round_ in drawn(policy, 2):
        jobs = [msgspec.structs.replace(job, state="waiting", placement=None) for job in round_.jobs]
        empty = msgspec.structs.replace(round_, jobs=tuple(jobs))
        ignoring = with_settings(rule, restarts="ignore")
        assert rule.decide(empty, 0) == ignoring.decide(empty, 0)
        assert rule.unchanged(empty) is None


@pytest.mark.parametrize("policy", FAMILY)
def test_a_deadline_that_has_passed_leaves_a_decision_that_keeps_all_rules(policy: str) -> None:
    rule = policy_from(policy)
    for round_ in drawn(policy, 2):
        late = rule.decide_within(round_, 0, Budget(limits=Limits(seconds=0.0), began=monotonic() - 1.0))
        assert broken_rules(round_, rule.rules, late) == []
        assert late.assignments
        assert rule.decide_within(round_, 0, Budget(limits=Limits())) == rule.decide(round_, 0)


def moving(restarts: int) -> Round:
    """Return a round in which a job of one node of two would have to move for one of both GPUs to start."""
    small = Plan(name="small", gpus=1, throughput=1.0)
    wide = Plan(name="wide", gpus=2, throughput=1.0)
    jobs = (
        Job(id="a", state="running", placement={"n0": 1}, plan="small", plans=(small,), restarts=restarts, **FULL),
        Job(id="b", gpus=2, plan="wide", plans=(wide,)),
    )
    return Round(cluster=Cluster(nodes=(Node(id="n0", gpus=2), Node(id="n1", gpus=1))), jobs=jobs)


def test_the_exact_program_moves_a_job_only_if_the_gate_lets_it() -> None:
    moved = solve_round(moving(1), "rubick:restarts=gate", "exact")
    assert places(moved.decision) == {"a": ("small", {"n1": 1}), "b": ("wide", {"n0": 2})}
    assert moved.value == 1_900_000
    shut = solve_round(moving(5), "rubick:restarts=gate", "exact")
    assert shut.value == shut.bound == 1_000_000 + 2_000_001  # that it stays outweighs all that both could be worth
    assert places(shut.decision) == {"a": ("small", {"n0": 1})}
    assert solve_round(moving(5), "rubick", "exact").value == 1_900_000


def test_a_job_that_the_gate_holds_is_not_stopped_for_one_that_is_worth_more() -> None:
    round_ = moving(5)
    slow = Plan(name="small", gpus=1, throughput=0.2), Plan(name="fast", gpus=2, throughput=1.0)
    jobs = (msgspec.structs.replace(round_.jobs[0], plans=slow), round_.jobs[1])
    cluster = Cluster(nodes=(Node(id="n0", gpus=2),))
    narrow = msgspec.structs.replace(round_, cluster=cluster, jobs=jobs)
    stopped = solve_round(narrow, "rubick", "exact")
    assert places(stopped.decision) == {"b": ("wide", {"n0": 2})}
    held = solve_round(narrow, "rubick:restarts=gate", "exact")
    assert places(held.decision) == {"a": ("small", {"n0": 1})}
    assert held.value == held.bound == 200_000 + 1_200_001
    assert verify(narrow, held).feasible


def test_of_equal_values_the_exact_program_changes_nobody() -> None:
    plan = Plan(name="p", gpus=1, throughput=1.0)
    running = [
        Job(id=f"r{j}", gpus=1, state="running", placement={f"n{2 - j}": 1}, plan="p", plans=(plan,)) for j in range(2)
    ]
    waiting = [Job(id=f"w{j}", gpus=1, plan="p", plans=(plan,)) for j in range(3)]
    round_ = Round(cluster=Cluster(nodes=tuple(Node(id=f"n{s}", gpus=1) for s in range(3))), jobs=(*waiting, *running))
    for policy in ("rubick", "sia", "equal-share"):
        found = solve_round(round_, policy, "exact")
        assert changes(round_, found.decision).counts == {"start": 1, "keep": 2}
