"""One odd entry does not lose a round: it waits, or changes nothing, and the other jobs run, whatever the policy."""

from __future__ import annotations

import pytest

from muri_opt import (
    POLICIES,
    Cluster,
    Guarantee,
    Job,
    Limits,
    Node,
    Plan,
    Reason,
    Round,
    Tenant,
    solve_round,
    verify,
)
from muri_opt.rounds import WaitingReason

GANGS = ("fifo", "srtf", "srsf", "las", "max-min", "tiresias", "muri-s", "muri-l", "philly")
ELASTIC = ("afs-l", "afs-p", "optimus", "max-min-elastic", "srtf-elastic")
PLANS = ("rubick", "synergy", "antman", "sia", "equal-share", "srs")
SERVERS = ("aiturbo", "optimus-ps")
ALL = GANGS + ELASTIC + PLANS + SERVERS

OWN_QUOTA = (Tenant(id="a"), Tenant(id="z", quota_gpus=1))
LIMITS = Limits(seconds=600.0)


def job(name: str, policy: str, **fields: object) -> Job:
    """Return a job that says all that any policy asks for, of one GPU or two."""
    one, two = ("gpu-p1-w1-s1", "gpu-p1-w2-s1") if policy in SERVERS else ("dp1", "dp2")
    said: dict[str, object] = {
        "id": name,
        "tenant": "a",
        "gpus": 1,
        "submitted": 0.0,
        "remaining_iterations": 100,
        "iteration_seconds": 1.0,
        "attained_gpu_seconds": 0.0,
        "executed_seconds": 0.0,
        "waiting_seconds": 10.0,
        "stage_seconds": (0.1, 0.2, 0.3, 0.4),
        "scaling": {1: 1.0, 2: 1.9},
        "plans": (
            Plan(name=one, gpus=1, cpus=1.0, throughput=1.0),
            Plan(name=two, gpus=2, cpus=1.0, throughput=1.9),
        ),
        "plan": one,
        "predictable": True,
    }
    return Job(**said | fields)


def with_odd(policy: str, nodes: tuple[Node, ...], tenants: tuple[Tenant, ...], **odd: object) -> Round:
    """Return two plain jobs, submitted at the same moment, and an odd one; nodes have room for all three."""
    jobs = (job("first", policy), job("second", policy), job("odd", policy, **odd))
    return Round(now=100.0, cluster=Cluster(nodes=nodes, tenants=tenants), jobs=jobs)


def of(*gpus: int) -> tuple[Node, ...]:
    return tuple(Node(id=f"n{place}", gpus=count, cpus=8.0) for place, count in enumerate(gpus))


def checked(round_: Round, policy: str, method: str) -> dict[str, WaitingReason]:
    """Return why jobs wait in a decision that the verifier takes."""
    result = solve_round(round_, policy, method, LIMITS)
    assert result.certificate.feasible, result.certificate.violations
    assert verify(round_, result).feasible
    waits = {wait.job: wait.reason for wait in result.decision.waiting}
    assert result.decision.running | set(waits) == {each.id for each in round_.jobs}
    return waits


WAITS = {
    "a quota of nothing": (of(2, 2), (Tenant(id="a"), Tenant(id="z", quota_gpus=0)), {"tenant": "z"}, GANGS[:-1]),
    "more than its quota": (of(2, 2), OWN_QUOTA, {"tenant": "z", "gpus": 2}, GANGS[:-1]),
    "more than the cluster": (of(2, 2), (), {"gpus": 64}, GANGS),
    "a guarantee above its quota": (
        of(2, 2),
        OWN_QUOTA,
        {"tenant": "z", "gpus": 2, "guarantee": Guarantee(throughput=0.5)},
        PLANS + SERVERS,
    ),
    "a guarantee that no plan reaches": (of(2, 2), (), {"guarantee": Guarantee(throughput=99.0)}, PLANS + SERVERS),
    "more CPUs than a node": (of(2, 2), (), {"cpus": 100.0}, GANGS + ELASTIC),
}
"""Nodes, tenants and the odd job of a round, and the policies under which it cannot run."""


@pytest.mark.parametrize("method", ["heuristic", "exact"])
@pytest.mark.parametrize("case", WAITS)
def test_an_entry_that_cannot_run_waits_and_the_others_run(case: str, method: str) -> None:
    nodes, tenants, odd, policies = WAITS[case]
    for policy in policies:
        said = {**odd, "tenant": odd.get("tenant", "a")}
        round_ = with_odd(policy, nodes, tenants, **said)
        waits = checked(round_, policy, method)
        assert set(waits) == {"odd"}, (policy, waits)
        expected = WaitingReason.QUOTA if "quota" in case else WaitingReason.CAPACITY
        assert waits["odd"] == expected or case == "more CPUs than a node"


@pytest.mark.parametrize("policy", PLANS + SERVERS)
def test_a_plan_for_gpus_that_no_node_has(policy: str) -> None:
    name = "gpu-p1-w1-s1" if policy in SERVERS else "dp1"
    plans = (Plan(name=name, gpus=1, cpus=1.0, gpu_type="h100", throughput=1.0),)
    round_ = with_odd(policy, of(2, 2), (), plans=plans)
    for method in ("heuristic", "exact"):
        assert checked(round_, policy, method) == {"odd": WaitingReason.CAPACITY}


@pytest.mark.parametrize(
    ("nodes", "tenants", "odd"),
    [
        (of(2, 2), (Tenant(id="a", quota_gpus=1000),), {}),
        (of(2, 0, 2), (), {}),
        (of(2, 2), (), {"remaining_iterations": 0}),
        (of(2, 2), (), {"submitted": 1000.0}),
        (of(2, 2), (), {"stage_seconds": (0.0, 0.0, 0.0, 0.0)}),
        (of(2, 2), (Tenant(id="a", quota_gpus=4),), {"tenant": None}),
        (of(2, 2), (), {"scaling": {2: 1.9, 1: 1.0}}),
    ],
    ids=["quota-above", "node-of-0", "nothing-left", "submitted-later", "stages-of-0", "no-tenant", "table-falls"],
)
@pytest.mark.parametrize("policy", ALL)
def test_an_odd_entry_is_decided_like_any_other(
    policy: str, nodes: tuple[Node, ...], tenants: tuple[Tenant, ...], odd: dict[str, object]
) -> None:
    for method in ("heuristic", "auto"):
        waits = checked(with_odd(policy, nodes, tenants, **odd), policy, method)
        assert len(waits) < 3
        if policy in GANGS:
            assert not waits


def test_a_guaranteed_job_above_its_quota_takes_nothing_from_the_promises_of_others() -> None:
    """Two guaranteed jobs of a tenant of two GPUs: that of three waits, that of two runs; the reason says the quota."""
    kept = job("kept", "rubick", gpus=2, tenant="z", guarantee=Guarantee(throughput=1.9))
    above = job("above", "rubick", gpus=3, tenant="z", guarantee=Guarantee(throughput=1.0))
    tenants = (Tenant(id="a"), Tenant(id="z", quota_gpus=2))
    round_ = Round(cluster=Cluster(nodes=of(2, 2), tenants=tenants), jobs=(above, kept, job("free", "rubick")))
    for policy in ("rubick", "sia", "antman"):
        for method in ("heuristic", "exact", "auto"):
            result = solve_round(round_, policy, method, LIMITS)
            assert result.decision.running == {"kept", "free"}, (policy, method)
            (wait,) = result.decision.waiting
            assert wait.detail.startswith("guaranteed for 3 GPUs; tenant 'z' has 0 left of its quota of 2")
            assert wait.remedy.startswith("raise the quota to 3, or let the job ask for less")


EMPTY = {
    "no jobs": Round(cluster=Cluster(nodes=of(2), tenants=(Tenant(id="a", quota_gpus=1), Tenant(id="b"))), jobs=()),
    "no nodes": Round(cluster=Cluster(nodes=()), jobs=()),
    "a node of 0": Round(cluster=Cluster(nodes=of(0), tenants=(Tenant(id="a", quota_gpus=0),)), jobs=()),
}
"""Rounds in which nothing can run."""


@pytest.mark.parametrize("case", EMPTY)
def test_a_round_in_which_nothing_can_run_is_proved_to_be_worth_nothing(case: str) -> None:
    for policy in POLICIES:
        for method in ("heuristic", "exact", "auto"):
            result = solve_round(EMPTY[case], policy, method, LIMITS)
            assert result.value == result.bound == 0, (policy, method)
            assert result.termination.reason is Reason.OPTIMAL, (policy, method)
            assert verify(EMPTY[case], result).feasible


@pytest.mark.parametrize("policy", ["joint-s", "joint-l"])
def test_jobs_without_a_gpu_to_run_on_have_a_checked_bound(policy: str) -> None:
    round_ = Round(cluster=Cluster(nodes=of(0)), jobs=(job("a", policy, tenant=None), job("b", policy, tenant=None)))
    result = solve_round(round_, policy, "heuristic", LIMITS)
    assert (result.value, result.bound) == (0, 0)
    assert {wait.reason for wait in result.decision.waiting} == {WaitingReason.CAPACITY}
