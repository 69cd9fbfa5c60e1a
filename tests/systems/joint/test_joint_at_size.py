"""Rounds of many jobs: what runs stays when nothing has changed, and the program over classes proves its answer."""

from __future__ import annotations

import pytest
from by_policy import formulation_of
from joint_rounds import RESOURCES, SPECS, joint_round, large_joint_round
from msgspec.structs import replace

from muri_opt import Assignment, Cluster, Limits, Node, Round, policy_from
from muri_opt.rounds import Budget, after, changes
from muri_opt.studies.library import Recipe
from muri_opt.studies.library.recipe import Draw
from muri_opt.verify import broken_rules, chapter_of, decision_value

FREE = Budget(limits=Limits(seconds=None))


def searched(round_, policy):
    return formulation_of(policy).search(round_, None, FREE, None, None)


@pytest.mark.parametrize(
    ("jobs", "nodes", "policy"),
    [
        (60, 4, "joint-s"),
        (60, 4, "joint-s:restarts=stops"),
        (200, 8, "joint-l"),
        (200, 8, "joint-l:restarts=pay,weights=rank"),
        (1000, 128, "joint-s"),
        (1000, 64, "joint-l"),
    ],
)
def test_deciding_again_changes_nothing(jobs, nodes, policy):
    round_, one = large_joint_round(jobs, jobs=jobs, nodes=nodes), policy_from(policy)
    decision = one.decide(round_, 0)
    assert not broken_rules(round_, one.rules, decision)
    then = after(round_, decision)
    again = one.decide(then, 0)
    assert set(changes(then, again).counts) == {"keep"}
    assert decision_value(then, one.rules, again) >= decision_value(then, one.rules, decision)


@pytest.mark.parametrize("first", range(520, 560, 20))
def test_small_rounds_that_run_stay_as_they_are(first):
    for seed in range(first, first + 20):
        round_, policy = joint_round(seed, most_jobs=9), policy_from(SPECS[seed % len(SPECS)])
        then = after(round_, policy.decide(round_, 0))
        assert set(changes(then, policy.decide(then, 0)).counts) <= {"keep"}, seed


def test_other_partners_cost_a_restart_as_other_gpus_do():
    round_ = large_joint_round(3, jobs=30, nodes=1)
    policy = policy_from("joint-s")
    then = after(round_, policy.decide(round_, 0))
    chapter = chapter_of(then, policy.rules)
    shared = next(one for one in policy.decide(then, 0).assignments if len(one.jobs) > 1)
    alone = shared.jobs[0]
    place = then.job_index[alone]
    whole = chapter._workers.value([then.job_index[job] for job in shared.jobs], shared)
    without = chapter._workers.value([place], Assignment(jobs=(alone,), gpus=shared.gpus))
    worker = chapter._workers.jobs[place]
    period = chapter._workers.period([place], sum(shared.gpus.values()))
    assert whole > 0
    assert without == chapter._workers.share(worker.changed, period)


@pytest.mark.parametrize("policy", ["joint-s", "joint-l:slowdown=muri", "joint-s:group=2"])
def test_the_program_over_classes_proves_its_answer_within_a_few_percent(policy):
    round_ = large_joint_round(7, jobs=80, nodes=6)
    found, one = searched(round_, policy), policy_from(policy)
    chapter = chapter_of(round_, one.rules)
    assert not broken_rules(round_, one.rules, found.decision)
    value, (bound, _) = chapter.value(found.decision), chapter.bound(found.decision, [found.duals])
    assert chapter.value(one.decide(round_, 0)) <= value <= bound <= 1.03 * value


@pytest.mark.parametrize("policy", ["joint-s", "joint-l:restarts=pay", "joint-s:group=2"])
def test_where_jobs_run_the_program_over_classes_is_no_worse_than_the_search(policy):
    """Short jobs run, each on a GPU: a restart takes longer than what many of them have left."""
    round_, one = Recipe.of(Draw(family="joint-trace", jobs=100, nodes=10, seed=1)).round(), policy_from(policy)
    found, chapter = searched(round_, policy), chapter_of(round_, one.rules)
    assert not broken_rules(round_, one.rules, found.decision)
    value, (bound, _) = chapter.value(found.decision), chapter.bound(found.decision, [found.duals])
    assert chapter.value(one.decide(round_, 0)) <= value <= bound <= 1.04 * value


def test_jobs_none_of_which_finds_gpus_are_worth_nothing():
    jobs = [replace(job, gpus=4, scaling=None) for job in large_joint_round(1, jobs=40, nodes=1).jobs]
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=2),)), jobs=tuple(jobs), resources=RESOURCES)
    found = searched(round_, "joint-s")
    assert not found.decision.assignments
    assert chapter_of(round_, policy_from("joint-s").rules).bound(found.decision, [found.duals])[0] == 0


def test_few_jobs_are_left_to_the_program_over_all_groups():
    assert searched(large_joint_round(1, jobs=20, nodes=2), "joint-s") is None
