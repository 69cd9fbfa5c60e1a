"""Jobs with deadlines are changed only where it pays, and a round that is decided again stays as it is."""

from __future__ import annotations

import pytest
from by_policy import broken_rules, decision_value
from deadline_rounds import GROUPS, deadline_round
from msgspec.structs import replace

from muri_opt import Cluster, Job, Limits, Node, Round, policy_from, solve_round
from muri_opt.rounds import Assignment, Budget, Decision, after, unlimited
from muri_opt.systems.deadline.admission import elastic_flow
from muri_opt.systems.deadline.choices import Choices
from muri_opt.systems.deadline.decision import deadline_decision

SPECS = ("deadline", "deadline:interval=5")
SEEDS = 12


def places(decision: Decision) -> dict[str, dict[str, int]]:
    return {one.jobs[0]: dict(one.gpus) for one in decision.assignments}


def running(round_: Round) -> dict[str, dict[str, int]]:
    return {job.id: dict(job.placement or {}) for job in round_.jobs if job.state == "running"}


@pytest.mark.parametrize("group", GROUPS)
def test_deciding_again_changes_nothing(group: str) -> None:
    for seed in range(SEEDS):
        round_, policy = deadline_round(seed, group, 6), policy_from(SPECS[seed % 2])
        first = policy.decide(round_, 0)
        assert places(policy.decide(after(round_, first), 0)) == places(first), seed


@pytest.mark.parametrize("seed", range(4))
def test_deciding_again_by_the_program_changes_nothing(seed: int) -> None:
    round_ = deadline_round(seed, "plain", 5)
    first = solve_round(round_, "deadline", "exact", Limits(seconds=None)).answer
    again = solve_round(after(round_, first), "deadline", "exact", Limits(seconds=None)).answer
    assert places(again) == places(first)


@pytest.mark.parametrize("group", GROUPS)
def test_where_nothing_runs_the_rule_decides(group: str) -> None:
    for seed in range(SEEDS):
        round_ = deadline_round(seed, group, 6)
        idle = tuple(replace(job, state="waiting", placement=None) for job in round_.jobs)
        round_ = replace(round_, jobs=idle)
        choices = Choices.of(round_, 300.0)
        by_rule = deadline_decision(round_, choices, elastic_flow(round_, choices, {}))
        assert policy_from("deadline").decide(round_, 0) == by_rule


@pytest.mark.parametrize("group", ["plain", "tenants", "all"])
def test_no_change_can_be_taken_back_alone_for_nothing(group: str) -> None:
    changes = 0
    for seed in range(3 * SEEDS):
        round_ = deadline_round(seed, group, 6)
        decision = policy_from("deadline").decide(round_, 0)
        value, given = decision_value(round_, "deadline", decision), places(decision)
        for job, held in running(round_).items():
            if given.get(job) != held:
                changes += 1
                as_before = _with(round_, decision, job, held)
                broken = broken_rules(round_, as_before, "deadline")
                assert broken or decision_value(round_, "deadline", as_before) < value, (seed, job)
    assert changes


def _with(round_: Round, decision: Decision, name: str, held: dict[str, int]) -> Decision:
    """Return the decision with one job as it was before the round."""
    others = tuple(one for one in decision.assignments if one.jobs != (name,))
    one = replace(round_, jobs=(round_.jobs[round_.job_index[name]],))
    alone = policy_from("deadline").unchanged(one)
    mine = () if alone is None else tuple(each for each in alone.assignments if dict(each.gpus) == held)
    waiting = tuple(wait for wait in decision.waiting if wait.job != name)
    return Decision(assignments=(*others, *(mine or (Assignment(jobs=(name,), gpus=held),))), waiting=waiting)


def test_a_job_that_is_stopped_does_not_come_back_at_once() -> None:
    jobs = (
        Job(
            id="a",
            gpus=1,
            submitted=0.0,
            state="running",
            placement={"n0": 1},
            remaining_iterations=2,
            iteration_seconds=1.0,
            scaling={1: 4.0, 2: 8.0},
            restart_seconds=1.0,
            deadline=4001.0,
        ),
        Job(
            id="b",
            gpus=1,
            submitted=0.0,
            remaining_iterations=5,
            iteration_seconds=1.0,
            scaling={1: 1.0, 5: 5.0},
            deadline=4001.0,
        ),
    )
    round_ = Round(now=4000.0, cluster=Cluster(nodes=(Node(id="n0", gpus=2), Node(id="n1", gpus=3))), jobs=jobs)
    policy = policy_from("deadline")
    first = policy.decide(round_, 0)
    assert places(policy.decide(after(round_, first), 0)) == places(first)


def test_within_a_budget_what_runs_goes_on() -> None:
    policy, spent = policy_from("deadline"), Budget(limits=Limits(seconds=None, work=1e-6))
    for seed in range(SEEDS):
        round_ = deadline_round(seed, "plain", 6)
        assert policy.decide_within(round_, 0, unlimited()) == policy.decide(round_, 0)
        stays = policy.unchanged(round_)
        if stays is not None:
            found = policy.decide_within(round_, 0, spent)
            assert found == stays
            assert broken_rules(round_, found, "deadline") == []


def test_a_job_that_is_stopped_and_may_not_be_moved_is_not_started_elsewhere_at_once() -> None:
    put = Job(
        id="put",
        gpus=1,
        scaling={1: 1.0, 2: 2.0, 4: 4.0},
        iteration_seconds=1.0,
        remaining_iterations=60,
        state="running",
        placement={"n0": 4},
        movable=False,
    )
    first = Job(id="first", gpus=1, priority=1)
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=4),)), jobs=(put, first))
    result = solve_round(round_, "deadline", "heuristic")
    assert result.certificate.violations == ()
    assert places(result.answer) == {"first": {"n0": 1}}


def test_a_job_that_may_not_be_moved_is_not_stopped_for_less_than_it_is_worth() -> None:
    """The rule takes the GPUs of a, which it would have elsewhere; a, which may not be moved, would wait for b."""
    nodes = tuple(Node(id=f"n{s}", gpus=gpus) for s, gpus in enumerate((3, 3)))
    curve = {1: 4.0, 2: 4.0}
    a = Job(id="a", gpus=2, scaling=curve, remaining_iterations=1, movable=False)
    b = Job(id="b", gpus=1, scaling={1: 4.0, 2: 8.0, 3: 10.0, 4: 14.0, 5: 18.0}, remaining_iterations=1)
    jobs = (
        replace(a, state="running", placement={"n1": 2}),
        replace(b, state="running", placement={"n1": 1}, restart_seconds=30.0),
    )
    round_ = Round(format="muri-opt/round/2", now=4000.0, cluster=Cluster(nodes=nodes), jobs=jobs)
    policy = policy_from("deadline")
    decision = policy.decide(round_, 0)
    assert places(decision) == {"a": {"n1": 2}, "b": {"n0": 3, "n1": 1}}
    assert broken_rules(round_, decision, "deadline") == []
    assert places(policy.decide(after(round_, decision), 0)) == places(decision)
