"""Running jobs that hold all CPUs of a node, in parts for each GPU that are rounded up to more than it has."""

from __future__ import annotations

from typing import Any

import pytest

from muri_opt import POLICIES, Cluster, InputError, Job, Node, Plan, Round, policy_from, solve_round

KNOWN = {
    "submitted": 0.0,
    "iteration_seconds": 1.0,
    "remaining_iterations": 60,
    "attained_gpu_seconds": 0.0,
    "executed_seconds": 0.0,
    "restart_seconds": 5.0,
}
BY_NEED: dict[str, dict[str, Any]] = {
    "stage_seconds": {"stage_seconds": (0.25, 0.25, 0.25, 0.25)},
    "scaling": {"scaling": {1: 1.0, 2: 2.0, 3: 3.0}},
    "plans": {"plans": (Plan(name="p", gpus=3, throughput=1.0),), "plan": "p"},
}


def full_node(policy: str, **said: Any) -> Round:
    """Return a node of ten CPUs with a job that holds them and three GPUs."""
    fields = [more for need, more in BY_NEED.items() if need in policy_from(policy).needs]
    known = {field: value for more in (KNOWN, *fields) for field, value in more.items()}
    job = Job(id="a", gpus=3, cpus=10, state="running", placement={"n0": 3}, **known, **said)
    return Round(cluster=Cluster(nodes=(Node(id="n0", gpus=4, cpus=10),)), jobs=(job,))


@pytest.mark.parametrize("policy", [name for name in POLICIES if name != "philly"])
def test_no_decision_takes_more_than_a_node_has(policy: str) -> None:
    assert solve_round(full_node(policy), policy, "heuristic").certificate.violations == ()


@pytest.mark.parametrize("policy", POLICIES)
def test_one_that_has_to_go_on_is_refused_by_what_is_counted(policy: str) -> None:
    with pytest.raises(InputError, match=r"rounded up|10002 milli-CPUs"):
        solve_round(full_node(policy, preemptible=False), policy, "heuristic")


@pytest.mark.parametrize(("cpus", "runs"), [(9, True), (9.999, True), (10, False)])
def test_three_gpus_start_with_ten_cpus_less_a_little(cpus, runs):
    cluster = Cluster(nodes=(Node(id="n", gpus=4, cpus=10),))
    round_ = Round(now=0.0, cluster=cluster, jobs=(Job(id="a", gpus=3, cpus=cpus, submitted=0.0),))
    assert bool(solve_round(round_, "fifo", method="heuristic").decision.running) is runs
