"""Why gangs of tenants wait: the reason, the rule that binds with its numbers, and what would help, in words."""

from __future__ import annotations

import json

import msgspec
import numpy as np
import pytest
from elastic_draws import elastic_rounds
from hypothesis import given, strategies as st
from more_examples import more_examples

from muri_opt import (
    Assignment,
    Cluster,
    Decision,
    Job,
    Node,
    Round,
    Tenant,
    Waiting,
    parse_result,
    policy_from,
    result_json,
    solve_round,
)
from muri_opt.rounds import Change, change_text, changed
from muri_opt.systems.philly import JobStatus, placement_decision
from muri_opt.systems.philly.cluster_state import ClusterState, find_placement
from muri_opt.systems.philly.rack_capacity import NEVER, RackRoom, smallest_node
from muri_opt.testing.strategies_tenants import tenant_policies, tenant_rounds


def runs(name: str, tenant: str | None, placement: dict[str, int], restart: float | None = None) -> Job:
    gpus = sum(placement.values())
    return Job(id=name, tenant=tenant, gpus=gpus, state="running", placement=placement, restart_seconds=restart)


def asks(name: str, tenant: str | None, gpus: int, waited: float = 0.0, **fields: object) -> Job:
    return Job(id=name, tenant=tenant, gpus=gpus, waiting_seconds=waited, **fields)


def round_of(jobs: list[Job], quotas: dict[str, int | None] | None = None, racks: str = "aabb", gpus: int = 4) -> Round:
    nodes = tuple(Node(id=f"n{s}", gpus=gpus, cpus=8, rack=rack) for s, rack in enumerate(racks))
    tenants = tuple(Tenant(id=name, quota_gpus=quota) for name, quota in (quotas or {}).items())
    return Round(cluster=Cluster(nodes=nodes, tenants=tenants), jobs=tuple(jobs))


def only_wait(round_: Round, policy: str = "philly") -> Waiting:
    (wait,) = policy_from(policy).decide(round_, 0).waiting
    return wait


def said(wait: Waiting) -> tuple[str, str]:
    return str(wait.reason), wait.detail


HALF = [Job(id=f"half-{s}", gpus=2, cpus=4, state="running", placement={f"n{s}": 2}) for s in range(4)]


@pytest.mark.parametrize(
    ("job", "policy", "reason", "detail"),
    [
        (asks("w", None, 20), "philly", "capacity", "asks for 20 GPUs; the empty cluster has 16"),
        (
            asks("w", None, 8, cpus=64),
            "philly",
            "capacity",
            "asks for 8 GPUs; the empty cluster has 16, 4 of them with the CPUs and memory it needs",
        ),
        (
            asks("w", None, 4),
            "philly",
            "fragmentation",
            "asks for 4 GPUs; 8 of 16 are free, at most 2 together on 1 node, 4 in one rack; must sit together, "
            "in one rack in 10 min, anywhere in 30 min",
        ),
        (
            asks("w", None, 6, 700.0),
            "philly",
            "fragmentation",
            "asks for 6 GPUs; 8 of 16 are free, at most 4 in one rack; may sit in one rack, anywhere in 18 min 20 s",
        ),
        (
            asks("w", None, 4),
            "philly:rack_after=1800",
            "fragmentation",
            "asks for 4 GPUs; 8 of 16 are free, at most 2 together on 1 node, 4 in one rack; must sit together, "
            "anywhere in 30 min",
        ),
        (
            asks("w", None, 8, 1900.0, cpus=32),
            "philly",
            "fragmentation",
            "asks for 8 GPUs; 8 of 16 are free, at most 4 where it can use them; may sit anywhere",
        ),
        (asks("w", None, 9, 1900.0), "philly", "capacity", "asks for 9 GPUs; 8 of 16 are free"),
        (
            asks("w", None, 1, 160.0),
            "philly:backoff=100",
            "backoff",
            "asks for 1 GPU; in back-off for 1 min 30 s more, then tried for 2 min 30 s",
        ),
        (
            asks("w", "t", 4),
            "philly",
            "quota",
            "asks for 4 GPUs; tenant 't' has 3 left of its quota of 3; 8 of 16 are free, at most 2 together on 1 node, "
            "4 in one rack; must sit together, in one rack in 10 min, anywhere in 30 min",
        ),
    ],
)
def test_the_rule_that_binds_is_told_with_its_numbers(job: Job, policy: str, reason: str, detail: str) -> None:
    assert said(only_wait(round_of([*HALF, job], {"t": 3}), policy)) == (reason, detail)


def test_a_tenant_over_its_quota_is_told_by_how_much() -> None:
    busy = [runs("r0", "t", {"n0": 4}), runs("r1", None, {"n1": 3})]
    wait = only_wait(round_of([*busy, asks("w", "t", 2)], {"t": 1}, racks="aa"))
    assert said(wait) == ("quota", "asks for 2 GPUs; tenant 't' is 3 over its quota of 1; 1 of 8 are free")


@pytest.mark.parametrize(("waited", "left"), [(0.0, "30 min"), (700.0, "18 min 20 s")])
def test_a_gang_larger_than_any_rack_sits_together_or_anywhere(waited: float, left: str) -> None:
    busy = [runs(f"r{s}", None, {f"n{s}": 2}) for s in range(3)]
    wait = only_wait(round_of([*busy, asks("w", None, 9, waited)], racks="abcd"))
    assert said(wait) == (
        "fragmentation",
        f"asks for 9 GPUs; 10 of 16 are free, at most 8 together on 3 nodes; must sit together, anywhere in {left}",
    )


def test_who_could_start_is_told_so_and_needs_no_other_change() -> None:
    round_ = round_of([asks("w", None, 2)])
    (wait,) = placement_decision(round_, JobStatus.of(round_, policy_from("philly").tenant_rules), {}).waiting
    assert said(wait) == ("priority", "asks for 2 GPUs, free now; the decision keeps them free")
    assert (wait.changes, wait.remedy) == ((Change(wait_seconds=0.0),), "decide again")


def test_who_is_preempted_is_told_so_and_waits_by_the_rules_of_the_queue() -> None:
    # It was in one rack, and where it may be together there is no room: seen from the queue it has waited for nothing.
    jobs = [
        runs("p", "t", {"n0": 1, "n1": 1}, 60.0),
        asks("w", None, 3),
        *(runs(f"r{s}", None, {f"n{s}": 3}) for s in (0, 1)),
    ]
    round_ = round_of(jobs, {"t": 0}, racks="aab")
    status = JobStatus.of(round_, policy_from("philly").tenant_rules)
    places = {1: {2: 3}, 2: {0: 3}, 3: {1: 3}}
    (wait,) = placement_decision(round_, status, places).waiting
    assert said(wait) == ("stopped", "asks for 2 GPUs, free now; the decision keeps them free")
    assert Change(wait_seconds=600.0) in wait.changes
    (wait,) = placement_decision(round_, status, places | {1: {2: 3}, 3: {1: 4}}).waiting
    assert said(wait) == (
        "stopped",
        "asks for 2 GPUs; tenant 't' has 0 left of its quota of 0; 2 of 12 are free, at most 1 in one rack; "
        "may sit in one rack, anywhere in 30 min",
    )


def test_in_back_off_every_change_waits_for_its_end() -> None:
    wait = only_wait(round_of([*HALF, asks("w", None, 4, 160.0)]), "philly:backoff=100")
    assert [change.wait_seconds for change in wait.changes] == [90.0, 440.0]
    assert wait.remedy == "wait 1 min 30 s and add a node of 4 GPUs to rack 'a'"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (Change(wait_seconds=0.25), "wait 0.25 s"),
        (Change(wait_seconds=0.0), "decide again"),
        (Change(preempt=("a", "b"), gpus=3), "stop 'a', 'b' (3 GPUs)"),
        (
            Change(preempt=tuple("abcdefgh"), gpus=8),
            "stop 'a', 'b', 'c', 'd', 'e', 'f' and 2 more (8 GPUs)",
        ),
        (
            Change(move={"a": {"n0": 1, "n1": 2}, "b": {"n0": 1}}, gpus=4),
            "move 'a' to n0 x1 + n1 x2, 'b' to n0 x1 (4 GPUs)",
        ),
        (Change(add_gpus=1, gpus=1), "add a node of 1 GPU"),
        (Change(add_gpus=2, rack="r0", gpus=2, wait_seconds=3.0), "wait 3 s and add a node of 2 GPUs to rack 'r0'"),
    ],
)
def test_a_change_in_words(change: Change, words: str) -> None:
    assert change_text(change) == words


@given(tenant_rounds(), tenant_policies())
@more_examples(60)
def test_the_remedy_is_the_first_change_and_results_read_back_equal(round_: Round, text: str) -> None:
    result = solve_round(round_, text, "heuristic")
    assert parse_result(result_json(result)) == result
    for wait in result.decision.waiting:
        assert wait.remedy == change_text(wait.changes[0])


@given(elastic_rounds())
@more_examples(30)
def test_results_without_changes_do_not_mention_them(round_: Round) -> None:
    result = solve_round(round_, "afs-l", "heuristic")
    for wait, written in zip(
        result.decision.waiting, json.loads(result_json(result))["decision"]["waiting"], strict=True
    ):
        assert list(written) == ["job", "reason", "detail", "remedy"]
        assert written == {"job": wait.job, "reason": wait.reason, "detail": wait.detail, "remedy": wait.remedy}


def test_only_what_a_change_says_is_written() -> None:
    assert msgspec.to_builtins(Change(wait_seconds=0.0)) == {"wait_seconds": 0.0}
    assert msgspec.to_builtins(Change(preempt=("a",), gpus=2)) == {"preempt": ("a",), "gpus": 2}
    assert msgspec.to_builtins(Change(add_gpus=2, gpus=2)) == {"add_gpus": 2, "gpus": 2}


def test_the_smallest_node_is_found_where_a_larger_one_would_not_help() -> None:
    # With 6 or 7 more GPUs it would be together on two nodes only, of which one is not free.
    nodes = (Node(id="n0", gpus=6), Node(id="n1", gpus=4), Node(id="n2", gpus=4))
    jobs = (runs("r", None, {"n0": 6}), asks("w", None, 12))
    round_ = Round(cluster=Cluster(nodes=nodes), jobs=jobs)
    status = JobStatus.of(round_, policy_from("philly").tenant_rules)
    assert smallest_node(ClusterState(round_, status), 1, 0) == (4, None)
    helps = [gpus for gpus in range(1, 13) if _placed(round_, gpus)]
    assert helps == [4, 5, 8, 9, 10, 11, 12]


def _placed(round_: Round, gpus: int) -> bool:
    then = changed(round_, Decision(assignments=(Assignment(jobs=("r",), gpus={"n0": 6}),)), "w", Change(add_gpus=gpus))
    return find_placement(ClusterState(then, JobStatus.of(then, policy_from("philly").tenant_rules)), 1, 0) is not None


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=6),
    st.lists(st.integers(-2, 20), min_size=1, max_size=4),
)
def test_the_nodes_of_a_rack_that_hold_a_gang(nodes: list[tuple[int, int]], gpus: list[int]) -> None:
    room, rack = (np.array([node[part] for node in nodes], dtype=np.int64) for part in (0, 1))
    rooms = RackRoom(room, rack, 4)
    found = rooms.nodes(np.array(gpus))
    for place in range(4):
        free = sorted((node[0] for node in nodes if node[1] == place), reverse=True)
        for column, wanted in enumerate(gpus):
            enough = [number for number in range(len(free) + 1) if sum(free[:number]) >= wanted]
            assert found[place, column] == (enough[0] if enough else NEVER)
    for number in range(4):
        best = [sum(sorted((n[0] for n in nodes if n[1] == place), reverse=True)[:number]) for place in range(4)]
        assert rooms.most(number) == max(best)
