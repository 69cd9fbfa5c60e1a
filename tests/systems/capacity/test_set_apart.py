"""What a policy does not decide is set apart: it goes on or waits, and the rest is decided as a round of its own."""

from __future__ import annotations

from typing import Any

import pytest
from by_policy import broken_rules, wrong_reasons
from hypothesis import given, settings, strategies as st
from more_examples import more_examples
from msgspec import convert
from msgspec.structs import replace

from muri_opt import Cluster, Decision, InputError, Job, Node, Round, Tenant, policy_from, solve_round, verify
from muri_opt.rounds import Waiting, WaitingReason
from muri_opt.rounds.field_groups import STATES
from muri_opt.testing import demanding_rounds, full_rounds
from muri_opt.verify import chapter_of
from muri_opt.verify.set_apart import RestChapter

FAMILIES = {
    "muri-s": "stages",
    "muri-l:group=2": "stages",
    "afs-l": "scaling",
    "afs-p": "scaling",
    "rubick": "plans",
    "sia": "plans",
    "aiturbo": "configurations",
    "optimus-ps": "configurations",
}


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, Round]:
    policy = draw(st.sampled_from(sorted(FAMILIES)))
    rounds = demanding_rounds(full_rounds(FAMILIES[policy]), fields=STATES)
    return policy, draw(rounds)


def refused(policy: str, round_: Round) -> bool:
    """Return whether a job has to go on in a way that the policy does not have."""
    try:
        policy_from(policy).check(round_)
    except InputError as error:
        return "as it is" in str(error)
    return False


@given(cases())
@more_examples(150)
def test_the_verifier_sets_apart_the_same(case: tuple[str, Round]) -> None:
    policy, round_ = case
    if refused(policy, round_):
        return
    chosen = policy_from(policy)
    apart, chapter = chosen.set_apart(round_), chapter_of(round_, chosen.rules)
    assert (apart is None) == (not isinstance(chapter, RestChapter))
    decision = chosen.decide(round_, 0)
    assert broken_rules(round_, decision, policy) == []
    assert wrong_reasons(round_, decision, policy) == []
    if apart is None:
        return
    assert isinstance(chapter, RestChapter)
    assert chapter.rest.round_ == apart.rest
    decided, about_it = chapter.decided(decision)
    assert decided == apart.rest
    assert apart.joined(about_it).assignments == decision.assignments
    places = {job: assignment.gpus for assignment in decision.assignments for job in assignment.jobs}
    states = {node.id: node.state for node in round_.cluster.nodes}
    for job in round_.jobs:
        drained = any(states[node] == "drain" for node in job.placement or ())
        lost = any(states[node] == "down" for node in job.placement or ())
        if job.state == "running" and not lost and (job.stays or job.stays_put or drained):
            assert places[job.id] == job.placement
        elif job.id in places:
            assert {states[node] for node in places[job.id]} <= {"up"}
        if job.state == "waiting" and (job.held is not None or (job.not_before or 0) > round_.now):
            assert job.id not in places


@given(cases())
@settings(max_examples=25)
def test_what_is_solved_is_verified_and_no_worse_than_the_algorithm(case: tuple[str, Round]) -> None:
    policy, round_ = case
    if refused(policy, round_):
        return
    heuristic, exact = solve_round(round_, policy, "heuristic"), solve_round(round_, policy, "exact")
    for result in (heuristic, exact):
        assert result.certificate.violations == ()
        assert verify(round_, result) == result.certificate
    assert heuristic.value is not None
    assert exact.value is not None
    assert exact.value >= heuristic.value


def pinned(policy: str, **fields: Any) -> tuple[Round, Decision]:
    """Return a round of two jobs side by side of which the first asks for something, and its decision."""
    job: dict[str, Any] = {
        "gpus": 1,
        "remaining_iterations": 5,
        "iteration_seconds": 1.0,
        "executed_seconds": 1.0,
        "attained_gpu_seconds": 1.0,
        "stage_seconds": (1.0, 1.0, 1.0, 1.0),
        "scaling": {1: 1.0},
        "plan": "gpu-p1-w1-s1",
        "plans": [{"name": "gpu-p1-w1-s1", "gpus": 1, "throughput": 1.0}],
    }
    here = {"id": "a", "state": "running", "placement": {"n0": 1}} if "held" not in fields else {"id": "a"}
    nodes = [{"id": f"n{place}", "gpus": 2} for place in range(3)]
    nodes[2]["state"] = "down"
    content = {"cluster": {"nodes": nodes}, "jobs": [{**job, **here, **fields}, {**job, "id": "b"}]}
    round_ = convert(content, Round)
    return round_, policy_from(policy).decide(round_, 0)


@pytest.mark.parametrize("policy", FAMILIES)
def test_whatever_is_changed_is_named(policy: str) -> None:
    round_, decision = pinned(policy, preemptible=False)
    first = next(one for one in decision.assignments if one.jobs == ("a",))
    others = tuple(one for one in decision.assignments if one is not first)

    def rules(*assignments: Any, waits: tuple[str, ...] = ()) -> set[str]:
        waiting = tuple(Waiting(job=job, reason=WaitingReason.STOPPED, detail="", remedy="") for job in waits)
        changed = Decision(assignments=assignments, waiting=waiting)
        return {breach.rule for breach in broken_rules(round_, changed, policy)}

    assert rules(first, *others) == set()
    assert rules(*others, waits=("a",)) == {"preemptible"}
    assert rules(replace(first, gpus={"n1": 1}), *others) == {"preemptible"}
    on_down = tuple(replace(one, gpus={"n2": 1}) for one in others)
    assert rules(first, *on_down) == {"node-state"}
    round_, decision = pinned(policy, movable=False)
    first = next(one for one in decision.assignments if one.jobs == ("a",))
    assert rules(replace(first, gpus={"n1": 1}), *others) == {"movable"}
    round_, decision = pinned(policy, held="asked")
    second = next(one for one in decision.assignments if one.jobs == ("b",))
    assert rules(second, waits=("a",)) == set()
    assert rules(second, first) == {"held"}
    assert [(wait.job, wait.reason) for wait in decision.waiting] == [("a", WaitingReason.HELD)]


@pytest.mark.parametrize("policy", ["afs-l", "afs-p"])
def test_a_level_whose_nodes_all_take_nothing_is_still_a_level(policy: str) -> None:
    nodes = [{"id": "n0", "gpus": 2, "rack": "r0", "state": "drain"}, {"id": "n1", "gpus": 2}]
    job = {"gpus": 1, "remaining_iterations": 5, "scaling": {1: 1.0}}
    jobs = [{**job, "id": "a", "within": {"level": "rack"}}, {**job, "id": "b"}]
    round_ = convert({"cluster": {"nodes": nodes}, "jobs": jobs}, Round)
    result = solve_round(round_, policy, "exact")
    assert result.certificate.violations == ()
    assert [(wait.job, wait.reason.value) for wait in result.answer.waiting] == [("a", "capacity")]


@pytest.mark.parametrize("policy", ["joint-s", "muri-s", "afs-l"])
def test_what_goes_on_as_it_is_is_there_in_what_others_are_told(policy: str) -> None:
    """The cluster and the quota are those of the round, not what is left of them."""
    said = {
        "remaining_iterations": 100,
        "iteration_seconds": 1.0,
        "stage_seconds": (0.4, 0.3, 0.2, 0.1),
        "scaling": {1: 1.0, 2: 1.5, 4: 2.0},
        "tenant": "t",
    }
    stays = Job(id="stays", gpus=4, state="running", placement={"n": 4}, preemptible=False, **said)
    waits = Job(id="waits", gpus=1, **said)
    for quota, words in ((None, "('stays' holds 4 GPUs)"), (2, "tenant 't' is 2 over its quota of 2")):
        cluster = Cluster(nodes=(Node(id="n", gpus=4),), tenants=(Tenant(id="t", quota_gpus=quota),))
        round_ = Round(cluster=cluster, jobs=(stays, waits))
        for decision in (policy_from(policy).decide(round_, 0), solve_round(round_, policy).answer):
            (wait,) = decision.waiting
            assert words in wait.detail
            assert "empty cluster" not in wait.detail
            assert wait.remedy != "ask for at most 0 GPUs, or enlarge the cluster"
