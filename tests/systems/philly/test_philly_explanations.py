"""Why a gang waits under ``philly`` that asks for certain nodes: all rules that bind, and who holds what it lacks."""

from __future__ import annotations

import pytest
from asked_placements import GROUPS, asked_placement_round
from handmade import gang

from muri_opt import Cluster, Job, Node, Round, Tenant, policy_from
from muri_opt.rounds import Change, Waiting, WaitingReason, Within, changed

SEEDS = 15
NODES = (
    Node(id="a0", gpus=4, gpu_type="a", rack="r0", labels=("x",), memory_gib=64.0),
    Node(id="a1", gpus=4, gpu_type="a", rack="r0", memory_gib=64.0),
    Node(id="b0", gpus=8, gpu_type="b", rack="r1", labels=("x",), state="drain"),
)
TENANTS = (Tenant(id="org", quota_gpus=2), Tenant(id="team", parent="org", quota_gpus=3))


def waits(*jobs: Job, policy: str = "philly") -> dict[str, Waiting]:
    """Return why jobs wait, having made every change that they are told."""
    cluster = Cluster(nodes=NODES, tenants=TENANTS, levels=("rack",))
    round_ = Round(format="muri-opt/round/2", now=10.0, cluster=cluster, jobs=jobs)
    chosen = policy_from(policy)
    decision = chosen.decide(round_, 0)
    for wait in decision.waiting:
        for change in wait.changes:
            assert wait.job in chosen.decide(changed(round_, decision, wait.job, change), 0).running
    return {wait.job: wait for wait in decision.waiting}


def running(number: int, gpus: int, node: str, **said: object) -> Job:
    return gang(number, gpus, state="running", placement={node: gpus}, **said)


def test_quotas_of_a_line_rules_of_nodes_and_holders_are_named_together() -> None:
    held = (running(0, 2, "a0", tenant="team"), running(1, 3, "a1", restart_seconds=1.0))
    wait = waits(*held, gang(2, 4, tenant="team", gpu_types=("a",), requires=("x",)))["j2"]
    assert wait.reason is WaitingReason.QUOTA
    assert wait.detail == (
        "asks for 4 GPUs; 2 are free where it may start ('j0' holds 2 GPUs); others are free: 8 on nodes that drain, "
        "8 of other types than 'a', 1 on nodes without the label 'x'; tenant 'team' has 1 left of its quota of 3; "
        "tenant 'org' has 0 left of its quota of 2; must sit together, in one rack in 9 min 52 s, "
        "anywhere in 29 min 52 s"
    )
    assert wait.changes == (Change(add_gpus=4, gpus=4),)


def test_memory_is_named_with_the_job_that_holds_it() -> None:
    wait = waits(running(0, 1, "a0", memory_gib=62.0), gang(1, 2, memory_gib=8.0, requires=("x",)))["j1"]
    assert "at most 0 with its memory ('j0' holds 62 GiB)" in wait.detail


def test_gpus_that_are_too_far_apart_are_said_to_be() -> None:
    held = (running(0, 2, "a0"), running(1, 2, "a1"))
    wait = waits(*held, gang(2, 4, gpu_types=("a",)))["j2"]
    assert wait.reason is WaitingReason.FRAGMENTATION
    assert "4 are free where it may start, not close enough together" in wait.detail
    assert wait.changes == (Change(add_gpus=4, gpus=4), Change(wait_seconds=592.0))
    wide = gang(2, 6, gpu_types=("a",), waiting_seconds=2000.0)
    (change,) = waits(*held, wide)["j2"].changes
    assert change == Change(add_gpus=2, gpus=2)


def test_a_job_that_is_held_is_told_what_else_binds() -> None:
    wait = waits(running(0, 3, "a0"), gang(1, 2, held="asked", requires=("x",)))["j1"]
    assert wait.reason is WaitingReason.HELD
    assert wait.detail.startswith("is held: asked; asks for 2 GPUs; 1 are free where it may start ('j0' holds 3 GPUs)")
    assert wait.changes == ()


def test_a_node_to_add_is_like_one_of_the_part_where_it_may_be() -> None:
    asks = gang(1, 8, within=Within(level="rack"), gpu_types=("a", "b"), waiting_seconds=2000.0)
    (change,) = waits(running(0, 1, "a0"), asks)["j1"].changes
    assert change == Change(add_gpus=1, gpus=1)


@pytest.mark.parametrize("group", GROUPS)
def test_every_rule_that_bars_a_job_from_free_gpus_is_named(group: str) -> None:
    for seed in range(SEEDS):
        round_, spec = asked_placement_round(seed, group)
        decision = policy_from(spec).decide(round_, 0)
        free = {node.id: node.gpus for node in round_.cluster.nodes}
        for one in decision.assignments:
            for node, gpus in one.gpus.items():
                free[node] -= gpus
        for wait in decision.waiting:
            asks = round_.jobs[round_.job_index[wait.job]]
            if " are free where it may start" not in wait.detail or "close enough" in wait.detail:
                continue
            nodes = [node for node in round_.cluster.nodes if free[node.id]]
            types = asks.gpu_types
            rules = {
                "on nodes that are down": any(node.state == "down" for node in nodes),
                "on nodes that drain": any(node.state == "drain" for node in nodes),
                "of other types than": types is not None and any(node.gpu_type not in types for node in nodes),
                "on nodes in no rack": asks.within is not None and any(node.rack is None for node in nodes),
                "without the label": any(label not in node.labels for node in nodes for label in asks.requires),
                "with the label": any(label in node.labels for node in nodes for label in asks.excludes),
            }
            assert {words for words in rules if words in wait.detail} == {words for words in rules if rules[words]}
