"""Jobs that start and may not be stopped or moved: what would be decided beside them at once is decided already."""

from __future__ import annotations

import pytest

from muri_opt import Cluster, Decision, Job, Node, Round, policy_from
from muri_opt.rounds import after
from muri_opt.testing import family_of
from muri_opt.testing.drawing import rounds_of_family
from muri_opt.verify import chapter_of, completed

CURVE = {1: 10.0, 2: 20.0, 3: 30.0, 4: 40.0}
ELASTIC = ("max-min-elastic", "srtf-elastic", "optimus", "afs-l", "afs-p")
TWO_CPUS = Cluster(nodes=(Node(id="n0", gpus=4, cpus=2.0),))
"""One GPU of a job that needs two CPUs with each."""


def job(name: str, **said: object) -> Job:
    return Job(id=name, gpus=1, scaling=CURVE, remaining_iterations=100, **said)


def given(decision: Decision) -> dict[str, dict[str, int]]:
    return {name: dict(one.gpus) for one in decision.assignments for name in one.jobs}


def shared(decision: Decision) -> list[tuple[list[str], str | None, dict[str, int]]]:
    return sorted((sorted(one.jobs), one.plan, dict(one.gpus)) for one in decision.assignments)


@pytest.mark.parametrize("policy", ELASTIC)
@pytest.mark.parametrize("fixed", [{"preemptible": False}, {"movable": False}])
def test_what_a_job_that_is_set_apart_cannot_use_goes_to_another_at_once(policy, fixed):
    """Job a is to have two GPUs or more and has CPUs for one; once it runs, the rest is divided without it."""
    round_ = Round(format="muri-opt/round/2", cluster=TWO_CPUS, jobs=(job("a", cpus=2.0, **fixed), job("b")))
    decision = policy_from(policy).decide(round_, 0)
    assert given(decision) == {"a": {"n0": 1}, "b": {"n0": 3}}
    assert given(policy_from(policy).decide(after(round_, decision), 0)) == given(decision)


@pytest.mark.parametrize("policy", ELASTIC)
def test_a_share_does_not_shrink_for_one_that_cannot_grow(policy):
    """Job a is to have more than one GPU, and has CPUs for no more: nobody would gain what b loses."""
    a = job("a", cpus=2.0, state="running", placement={"n0": 1})
    b = job("b", restart_seconds=30.0, state="running", placement={"n0": 3})
    assert given(policy_from(policy).decide(Round(cluster=TWO_CPUS, jobs=(a, b)), 0)) == {
        "a": {"n0": 1},
        "b": {"n0": 3},
    }


@pytest.mark.parametrize("policy", ["max-min-elastic:restarts=ignore", "srtf-elastic:restarts=ignore"])
def test_where_restarts_count_nothing_a_rule_decides_as_it_is_written(policy):
    round_ = Round(format="muri-opt/round/2", cluster=TWO_CPUS, jobs=(job("a", cpus=2.0, preemptible=False), job("b")))
    chosen = policy_from(policy)
    apart = chosen.set_apart(round_)
    assert given(chosen.decide(round_, 0)) == given(chosen.decide(apart.rest, 0))


DRAWN = {
    "max-min-elastic": (120, 1, "job.preemptible"),
    "srtf-elastic": (120, 0, "job.preemptible"),
    "optimus": (120, 1, "job.movable"),
    "afs-l": (120, 1, "job.preemptible"),
    "afs-p": (120, 1, "job.preemptible"),
    "optimus-ps": (120, 0, "job.movable"),
    "equal-share": (150, 1, "job.preemptible"),
}
"""How many rounds of which seed, and the field that sets jobs apart: under each some changed when asked again."""


@pytest.mark.parametrize("policy", DRAWN)
def test_deciding_again_changes_nothing_and_what_is_decided_is_worth_no_less(policy):
    chosen, (rounds, seed, field) = policy_from(policy), DRAWN[policy]
    better = 0
    for round_ in rounds_of_family(family_of(policy), rounds, seed, frozenset({field})):
        decision, apart = chosen.decide(round_, 0), chosen.set_apart(round_)
        assert shared(chosen.decide(after(round_, decision), 0)) == shared(decision)
        if apart is None:
            continue
        chapter = chapter_of(round_, chosen.rules)
        assert chapter.breaches(decision) == []
        once = chapter.value(completed(round_, chosen.rules, chosen.joined(apart, chosen.decide(apart.rest, 0))))
        assert chapter.value(completed(round_, chosen.rules, decision)) >= once
        better += chapter.value(completed(round_, chosen.rules, decision)) > once
    assert better


def test_joint_decisions_are_worth_no_less_and_change_less_often():
    """What work is worth counts the jobs that are to be decided: without those set apart it may be another decision."""
    chosen, again, once_again = policy_from("joint-s"), 0, 0
    for round_ in rounds_of_family(family_of("joint-s"), 150, 1, frozenset({"job.preemptible"})):
        decision, apart = chosen.decide(round_, 0), chosen.set_apart(round_)
        if apart is None:
            continue
        first = chosen.joined(apart, chosen.decide(apart.rest, 0))
        chapter = chapter_of(round_, chosen.rules)
        assert chapter.breaches(decision) == []
        assert chapter.value(decision) >= chapter.value(first)
        again += shared(chosen.decide(after(round_, decision), 0)) != shared(decision)
        once_again += shared(chosen.decide(after(round_, first), 0)) != shared(first)
    assert again < once_again
