"""Why a job with plans waits: all rules that bind are named, and who holds what it lacks."""

from __future__ import annotations

import pytest
from asked_plan_rounds import GROUPS, asked_plan_round
from by_policy import wrong_reasons
from msgspec.structs import replace

from muri_opt import Cluster, Guarantee, Job, Node, Plan, Round, Tenant, policy_from
from muri_opt.rounds import NodeRange, Waiting, WaitingReason

SEEDS = 12
TENANTS = (Tenant(id="org", quota_gpus=3), Tenant(id="team", parent="org", quota_gpus=2))
NODES = (
    Node(id="a0", gpus=4, gpu_type="a", labels=("x",), memory_gib=64.0),
    Node(id="a1", gpus=4, gpu_type="a", memory_gib=64.0),
    Node(id="b0", gpus=8, gpu_type="b", labels=("x",), memory_gib=64.0),
)


def job(name: str, *gpus: int, memory: float = 8.0, **said: object) -> Job:
    """Return a job with a plan for each number of GPUs, on one node."""
    plans = tuple(Plan(name=f"dp{n}", gpus=n, throughput=float(n), memory_gib=memory) for n in gpus)
    return Job(id=name, **({"gpus": gpus[0], "submitted": 0.0, "plan": plans[0].name, "plans": plans} | said))


def running(name: str, gpus: int, node: str, **said: object) -> Job:
    return job(name, gpus, state="running", placement={node: gpus}, restart_seconds=1.0, **said)


def waits(*jobs: Job, nodes: tuple[Node, ...] = NODES, policy: str = "rubick") -> dict[str, Waiting]:
    cluster = Cluster(nodes=nodes, tenants=TENANTS)
    round_ = Round(format="muri-opt/round/2", now=10.0, cluster=cluster, jobs=jobs)
    decision = policy_from(policy).decide(round_, 0)
    assert wrong_reasons(round_, decision, policy) == []
    return {wait.job: wait for wait in decision.waiting}


def test_types_labels_and_holders_are_named() -> None:
    wait = waits(running("r", 3, "a0", preemptible=None), job("w", 2, gpu_types=("a",), requires=("x",)))["w"]
    assert wait.reason is WaitingReason.CAPACITY
    assert wait.detail == (
        "its smallest plan takes 2 GPUs; 1 that it could use are free ('r' holds 3 GPUs); others are free: "
        "8 of other types than 'a', 4 on nodes without the label 'x'"
    )


def test_the_types_of_plans_bar_nodes_too() -> None:
    plan = Plan(name="dp4", gpus=4, throughput=4.0, gpu_type="a")
    asks = Job(id="w", gpus=4, submitted=1.0, plan="dp4", plans=(plan,), excludes=("x",))
    wait = waits(running("r", 2, "a1"), asks)["w"]
    assert "2 that it could use are free ('r' holds 2 GPUs)" in wait.detail
    assert wait.detail.endswith("12 on nodes with the label 'x', 8 of other types than its plans are for: 'a'")


def test_memory_is_named_with_the_job_that_holds_it() -> None:
    holder = running("r", 1, "a1", memory=62.0)
    wait = waits(holder, job("w", 2, 3, gpu_types=("a",), excludes=("x",)))["w"]
    assert wait.reason is WaitingReason.FRAGMENTATION
    assert "3 that it could use are free, but no plan finds" in wait.detail
    assert "0 nodes have 8 GiB free ('r' holds 62 GiB)" in wait.detail
    assert "GPUs free" not in wait.detail


def test_quotas_of_all_tenants_above_and_what_is_not_free_are_named_together() -> None:
    promise = Guarantee(throughput=1.0)
    first = running("r", 2, "a0", tenant="team", guarantee=promise)
    full = running("s", 4, "a1", guarantee=promise)
    wait = waits(first, full, job("w", 2, tenant="team", guarantee=promise, excludes=("x",)))["w"]
    assert wait.reason is WaitingReason.QUOTA
    assert wait.detail == (
        "guaranteed for 2 GPUs; tenant 'team' has 0 left of its quota of 2; tenant 'org' has 1 left of its quota of 3; "
        "its smallest plan takes 2 GPUs; 0 that it could use are free ('s' holds 4 GPUs); "
        "others are free: 10 on nodes with the label 'x'"
    )
    assert wait.remedy == (
        "free 2 GPUs of the tenant's guaranteed jobs, or raise its quota by as many; free 2 more GPUs where it may be"
    )


@pytest.mark.parametrize(
    ("asks", "words"),
    [
        (job("w", 5, gpu_types=("a",)), "its smallest plan takes 5 GPUs; it may be on 2 nodes, 0 with 5 GPUs; others"),
        (job("w", 2, 3, nodes=NodeRange(least=2, most=2)), "2 of its 2 plans not on at least 2 and at most 2 nodes"),
        (job("w", 2, memory=100.0), "it may be on 3 nodes, 0 with 100 GiB"),
        (job("w", 2, requires=("z",)), "it may be on 0 nodes; others are: 16 on nodes without the label 'z'"),
        (job("w", 2, guarantee=Guarantee(throughput=9.0)), "throughput of 9; its fastest plan has 2"),
        (job("w", 2, 16, guarantee=Guarantee(throughput=9.0)), "its fastest plan that fits the cluster has 2"),
    ],
    ids=["gpus", "shape", "memory", "label", "promise", "promise-that-fits"],
)
def test_why_no_plan_fits_the_empty_cluster(asks: Job, words: str) -> None:
    wait = waits(asks)["w"]
    assert wait.reason is WaitingReason.CAPACITY
    assert words in wait.detail


def test_types_that_no_node_has_and_plans_it_may_not_change_to() -> None:
    plans = (Plan(name="dp2", gpus=2, throughput=2.0, gpu_type="c"), Plan(name="dp20", gpus=20, throughput=20.0))
    wait = waits(Job(id="w", gpus=2, submitted=0.0, plan="dp2", plans=plans))["w"]
    assert "1 of its 2 plans for GPU types that no node has; its smallest plan takes 20 GPUs" in wait.detail
    wait = waits(job("w", 20, 2), policy="rubick:change=neither")["w"]
    assert wait.detail == "plans fit the empty cluster, but none to which the policy lets it change"


def test_what_is_set_apart_is_named() -> None:
    nodes = (*NODES[:2], replace(NODES[2], state="drain"))
    pinned = running("p", 3, "a0", preemptible=False)
    wait = waits(pinned, running("r", 4, "a1"), job("w", 4), nodes=nodes)["w"]
    assert wait.detail.endswith("; beside what goes on as it is ('p' holds 3 GPUs); others are: 8 on nodes that drain")


@pytest.mark.parametrize("group", GROUPS)
def test_every_rule_that_bars_a_job_from_free_gpus_is_named_and_no_other(group: str) -> None:
    for seed in range(SEEDS):
        round_ = asked_plan_round(seed, group)
        decision = policy_from("rubick").decide(round_, 0)
        free = {node.id: node.gpus for node in round_.cluster.nodes}
        for one in decision.assignments:
            for node, gpus in one.gpus.items():
                free[node] -= gpus
        for wait in decision.waiting:
            asks = round_.jobs[round_.job_index[wait.job]]
            if "that it could use are free" not in wait.detail:
                continue
            for label in asks.requires:
                bars = any(free[node.id] for node in round_.cluster.nodes if label not in node.labels)
                assert (f"without the label {label!r}" in wait.detail) == bars, (seed, wait)
            for label in asks.excludes:
                bars = any(free[node.id] for node in round_.cluster.nodes if label in node.labels)
                assert (f"with the label {label!r}" in wait.detail) == bars, (seed, wait)
            types = asks.gpu_types
            bars = types is not None and any(free[n.id] for n in round_.cluster.nodes if n.gpu_type not in types)
            named = types is not None and f"of other types than {types[0]!r}" in wait.detail
            assert named == bars, (seed, wait)
