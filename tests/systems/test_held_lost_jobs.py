"""A job that is held, or is to begin later, and was lost with its node: it waits for that, and is not started again."""

from __future__ import annotations

import pytest
from by_policy import broken_rules, wrong_reasons
from msgspec.structs import replace

from muri_opt import Cluster, Job, Node, Plan, Round, solve_round, verify

POLICIES = ("fifo", "srtf", "max-min", "deadline", "philly", "rubick", "srs", "muri-s", "afs-l")
NODES = (Node(id="gone", gpus=4, state="down"), Node(id="here", gpus=4))
JOB = Job(
    id="lost",
    gpus=2,
    submitted=0.0,
    iteration_seconds=1.0,
    remaining_iterations=100,
    stage_seconds=(0.1, 0.2, 0.3, 0.4),
    scaling={1: 1.0, 2: 1.8},
    plan="dp2",
    plans=(Plan(name="dp2", gpus=2, throughput=1.8),),
    restart_seconds=1.0,
    state="running",
    placement={"gone": 2},
)


def round_of(**said: object) -> Round:
    other = replace(JOB, id="other", placement={"here": 2}, **said)
    jobs = (replace(JOB, **said), other)
    return Round(format="muri-opt/round/2", now=10.0, cluster=Cluster(nodes=NODES), jobs=jobs)


@pytest.mark.parametrize("method", ["heuristic", "exact"])
@pytest.mark.parametrize("policy", POLICIES)
def test_it_waits_for_what_keeps_it_back_and_others_run_on(policy: str, method: str) -> None:
    for said, reason, words in (
        ({"held": "asked"}, "held", "is held: asked"),
        ({"not_before": 50.0}, "not-before", "is not to start before 50 s; now it is 10 s"),
    ):
        round_ = round_of(**said)
        result = solve_round(round_, policy, method)
        assert result.decision.running == {"other"}
        (wait,) = result.decision.waiting
        assert (wait.job, wait.reason.value) == ("lost", reason)
        assert wait.detail.startswith(f"it is lost: it ran on a node that is down; {words}")
        assert verify(round_, result).violations == ()
        assert wrong_reasons(round_, result.decision, policy) == []


@pytest.mark.parametrize("policy", POLICIES)
def test_to_start_it_again_is_a_breach_unless_it_may(policy: str) -> None:
    again = solve_round(round_of(), policy, "heuristic").decision
    assert again.running == {"lost", "other"}
    for said, rule in (({"held": ""}, "held"), ({"not_before": 10.5}, "not-before")):
        assert rule in {breach.rule for breach in broken_rules(round_of(**said), again, policy)}
    assert broken_rules(round_of(not_before=10.0), again, policy) == []
