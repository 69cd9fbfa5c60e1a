"""Why a gang waits that asks for certain nodes: all rules that bind, who holds what it lacks, changes that start it."""

from __future__ import annotations

import os

import pytest
from asked_rounds import GROUPS, asked_round
from msgspec.structs import replace

from muri_opt import Cluster, Job, Node, Round, Tenant, policy_from, verify
from muri_opt.rounds import Change, Decision, NodeRange, Result, Waiting, Within, after, changed
from muri_opt.rounds.decision import WaitingReason
from muri_opt.solve import solve_round
from muri_opt.systems.capacity.node_sets import node_sets
from muri_opt.verify import chapter_of

SEEDS = int(os.environ.get("MURI_OPT_ASKED_SEEDS", "10"))
POLICIES = ("fifo", "srtf", "las:nodes=fewest", "max-min:preempt=no")


def free_gpus(round_: Round, decision: Decision) -> dict[str, int]:
    free = {node.id: node.gpus for node in round_.cluster.nodes}
    for one in decision.assignments:
        for node, gpus in one.gpus.items():
            free[node] -= gpus
    return free


def barred(round_: Round, job: Job, node: Node) -> set[str]:
    """Return the words of every rule by which a job may not start on a node, found from the words of the format."""
    last = round_.now + (job.time_limit_seconds or 1e-6)
    rules = {
        "on nodes that are down": node.state == "down",
        "on nodes that drain": node.state == "drain",
        "of other types than": job.gpu_types is not None and node.gpu_type not in job.gpu_types,
        "on nodes in no rack": job.within is not None and node.rack is None,
        "on nodes that are not available long enough": node.available_until is not None and last > node.available_until,
    }
    rules |= {f"on nodes without the label {label!r}": label not in node.labels for label in job.requires}
    rules |= {f"on nodes with the label {label!r}": label in node.labels for label in job.excludes}
    return {words for words, binds in rules.items() if binds}


ALL_WORDS = (
    *("are down", "that drain", "of other types", "in no rack", "long enough"),
    *("without the label", "with the label"),
)


def assert_none_needless(round_: Round, decision: Decision, policy: str, wait: Waiting, change: Change) -> None:
    """No job of those to be stopped can be left out."""
    held = {name: sum(one.gpus.values()) for one in decision.assignments for name in one.jobs}
    for victim in change.preempt:
        fewer = tuple(other for other in change.preempt if other != victim)
        less = replace(change, preempt=fewer, gpus=change.gpus - held[victim])
        told = tuple(replace(wait, changes=(less,)) if other is wait else other for other in decision.waiting)
        chapter = chapter_of(round_, policy_from(policy).rules)
        assert list(chapter.change_breaches(replace(decision, waiting=told))), (round_.name, wait)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("group", GROUPS)
def test_changes_start_the_job_and_all_rules_are_named(group: str, policy: str) -> None:
    chosen = policy_from(policy)
    for seed in range(SEEDS):
        round_ = asked_round(seed, group, most_jobs=5)
        decision = chosen.decide(round_, 0)
        chapter = chapter_of(round_, chosen.rules)
        assert list(chapter.reason_breaches(decision)) == []
        free = free_gpus(round_, decision)
        for wait in decision.waiting:
            job = round_.jobs[round_.job_index[wait.job]]
            for change in wait.changes:
                then = changed(round_, decision, job.id, change)
                assert job.id in chosen.decide(then, 0).running, (round_.name, wait)
                if node_sets(round_) is not None:
                    assert_none_needless(round_, decision, policy, wait, change)
            if job.state == "running" or " are free where it may start" not in wait.detail:
                continue
            words = set().union(*(barred(round_, job, node) for node in round_.cluster.nodes if free[node.id]))
            assert all(one in wait.detail for one in words), (round_.name, wait.detail, words)
            named = [one for one in ALL_WORDS if one in wait.detail]
            assert all(any(one in word for word in words) for one in named), (round_.name, wait.detail, words)


NODES = (
    Node(id="a0", gpus=4, gpu_type="a", rack="r0", labels=("x",)),
    Node(id="a1", gpus=4, gpu_type="a", rack="r1"),
    Node(id="b0", gpus=8, gpu_type="b", rack="r1", labels=("x",), state="drain"),
)
TENANTS = (Tenant(id="org", quota_gpus=6), Tenant(id="team", parent="org", quota_gpus=9))


def waits(*jobs: Job, policy: str = "fifo", nodes: tuple[Node, ...] = NODES) -> dict[str, object]:
    round_ = Round(
        format="muri-opt/round/2", now=10.0, cluster=Cluster(nodes=nodes, tenants=TENANTS, levels=("rack",)), jobs=jobs
    )
    result = solve_round(round_, policy, "heuristic")
    assert isinstance(result, Result)
    assert verify(round_, result).feasible
    return {wait.job: wait for wait in result.decision.waiting}


def running(name: str, gpus: int, node: str, **said: object) -> Job:
    return Job(id=name, gpus=gpus, submitted=0.0, state="running", placement={node: gpus}, **said)


def test_types_labels_and_states_are_named_with_who_holds_the_rest() -> None:
    asks = Job(id="w", gpus=4, submitted=1.0, gpu_types=("a",), requires=("x",))
    wait = waits(running("r", 3, "a0"), asks)["w"]
    assert wait.detail == (
        "asks for 4 GPUs; 1 are free where it may start ('r' holds 3 GPUs); others are free: "
        "8 on nodes that drain, 8 of other types than 'a', 4 on nodes without the label 'x'"
    )
    assert wait.reason is WaitingReason.CAPACITY
    assert wait.remedy == "stop 'r' (3 GPUs)"
    assert wait.changes == (Change(preempt=("r",), gpus=3), Change(add_gpus=3, like="a0", gpus=3))


def test_a_job_that_is_held_is_told_what_else_binds() -> None:
    held = Job(id="w", gpus=9, submitted=1.0, gpu_types=("b",), held="asked", not_before=30.0, tenant="team")
    wait = waits(held)["w"]
    assert wait.reason is WaitingReason.HELD
    assert wait.detail.startswith("is held: asked; is not to start before 30 s; now it is 10 s; asks for 9 GPUs; ")
    assert "the nodes where it may start have 0" in wait.detail
    assert "8 on nodes that drain" in wait.detail
    assert "tenant 'org' has 6 left of its quota of 6" in wait.detail
    assert wait.changes == ()


def test_a_job_that_is_to_start_later_is_told_how_long_to_wait() -> None:
    later = Job(id="w", gpus=4, submitted=1.0, gpu_types=("a",), not_before=30.0, within=Within(level="rack"))
    wait = waits(running("r", 1, "a0"), running("s", 2, "a1"), later)["w"]
    assert wait.reason is WaitingReason.NOT_BEFORE
    assert wait.remedy == "wait 20 s and stop 'r' (1 GPU)"
    assert wait.changes[0] == Change(wait_seconds=20.0, preempt=("r",), gpus=1)
    assert wait.changes[1] == Change(wait_seconds=20.0, add_gpus=1, like="a0", gpus=1)


def test_a_shape_is_made_room_for_in_the_part_where_it_costs_least() -> None:
    wide = Job(id="w", gpus=4, submitted=1.0, gpu_types=("a",), nodes=NodeRange(least=2, most=2), even=True)
    wait = waits(running("r", 3, "a0"), running("s", 1, "a1"), wide)["w"]
    assert wait.reason is WaitingReason.FRAGMENTATION
    assert wait.detail.startswith(
        "asks for 4 GPUs; 4 are free where it may start, not as it asks for them, "
        "on at least 2 and at most 2 nodes, equally many on each node"
    )
    assert wait.changes == (Change(preempt=("r",), gpus=3), Change(add_gpus=2, like="a0", gpus=2))


def test_the_quotas_of_all_tenants_above_are_raised_together() -> None:
    first = running("r", 3, "a0", tenant="team")
    other = Job(id="w", gpus=4, submitted=1.0, tenant="team", gpu_types=("a",))
    wait = waits(first, other)["w"]
    assert wait.reason is WaitingReason.QUOTA
    assert wait.changes == (Change(raise_quota=1),)
    large = Job(id="w", gpus=8, submitted=1.0, tenant="team", gpu_types=("a",))
    wait = waits(first, large)["w"]
    assert "tenant 'org' has 3 left of its quota of 6" in wait.detail
    assert wait.changes[0] == Change(preempt=("r",), raise_quota=2, gpus=3)


def test_memory_is_named_with_the_job_that_holds_it() -> None:
    nodes = (Node(id="a0", gpus=4, gpu_type="a", memory_gib=64.0, rack="r0"), NODES[2])
    holder = running("r", 1, "a0", memory_gib=62.0)
    wait = waits(holder, Job(id="w", gpus=2, submitted=1.0, memory_gib=8.0, gpu_types=("a",)), nodes=nodes)["w"]
    assert "at most 0 with its memory ('r' holds 62 GiB)" in wait.detail
    assert wait.changes[0] == Change(preempt=("r",), gpus=1)


def test_amounts_that_lack_are_told_instead_of_parts_in_which_a_job_would_have_room() -> None:
    nodes = tuple(Node(id=f"{of}0", gpus=4, gpu_type=of, cpus=8.0, memory_gib=32.0) for of in "ab")
    said = {"gpus": 1, "iteration_seconds": 1.0, "remaining_iterations": 9}
    jobs = (
        Job(id="r", **said, cpus=8.0, memory_gib=1.0, priority=1, gpu_types=("a",)),
        Job(id="s", **said, cpus=1.0, memory_gib=32.0, priority=1, gpu_types=("b",)),
        Job(id="w", **said, cpus=4.0, memory_gib=8.0, gpu_types=("a", "b")),
    )
    (wait,) = policy_from("joint-s").decide(Round(cluster=Cluster(nodes=nodes), jobs=jobs), 0).waiting
    assert wait.detail == "asks for 1 GPU; 6 are free where it may start, at most 0 with both its CPUs and its memory"
    assert wait.remedy == "free room for 1 more GPU with what it needs besides, where it may start"


def test_after_a_decision_the_round_goes_on() -> None:
    round_ = asked_round(3, "all")
    chosen = policy_from("srtf")
    decision = chosen.decide(round_, 0)
    assert chosen.decide(after(round_, decision), 0).running == decision.running


def test_a_job_that_waits_for_a_cluster_without_nodes_is_told_so() -> None:
    later = Job(id="w", gpus=1, submitted=1.0, not_before=30.0)
    round_ = Round(now=10.0, cluster=Cluster(nodes=()), jobs=(later,))
    (wait,) = policy_from("fifo").decide(round_, 0).waiting
    assert (wait.reason, wait.changes) == (WaitingReason.NOT_BEFORE, ())
