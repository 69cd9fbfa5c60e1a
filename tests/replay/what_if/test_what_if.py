"""A round beside the same round with other nodes, quotas and jobs, and when its jobs would start."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from more_examples import more_examples
from msgspec.structs import replace

from muri_opt import Cluster, InputError, Job, Node, Round, Tenant, read_round, what_if
from muri_opt.replay import Workload, replay
from muri_opt.replay.what_if.scenario import Scenario, further_nodes
from muri_opt.replay.what_if.start_times import start_times

NODES = (Node(id="n0", gpus=4, gpu_type="a100", cpus=32), Node(id="n1", gpus=8, gpu_type="v100", rack="r0"))
TENANTS = (Tenant(id="nlp", quota_gpus=2, borrow_gpus=1), Tenant(id="vision"))
RUNNING = Job(id="runs", tenant="vision", gpus=4, state="running", placement={"n0": 4}, preemptible=False)
JOBS = (RUNNING, Job(id="small", tenant="nlp", gpus=1), Job(id="held", tenant="nlp", gpus=1, held="by its user"))
ROUND = Round(cluster=Cluster(nodes=NODES, tenants=TENANTS), jobs=JOBS)


def test_what_is_different_is_so_in_the_changed_round_and_all_else_is_as_it_was() -> None:
    more = Node(id="n2", gpus=2)
    new = Job(id="new", tenant="nlp", gpus=1)
    scenario = Scenario(
        add_nodes=(more,),
        remove_nodes=("n0",),
        quotas={"nlp": None},
        jobs=(new, replace(JOBS[1], gpus=2)),
        release=("held",),
    )
    then = scenario.applied(ROUND)
    assert then.cluster.nodes == (NODES[1], more)
    assert then.cluster.tenants == (Tenant(id="nlp"), TENANTS[1])
    lost = replace(RUNNING, state="waiting", placement=None)
    assert then.jobs == (lost, replace(JOBS[1], gpus=2), replace(JOBS[2], held=None), new)
    assert replace(then, cluster=ROUND.cluster, jobs=ROUND.jobs) == ROUND


@pytest.mark.parametrize(
    ("scenario", "complaint"),
    [
        ({"remove_nodes": ("n9",)}, "remove_nodes: found 'n9'; allowed: a node of the cluster: n0, n1"),
        ({"add_nodes": (NODES[0],)}, "add_nodes: found 'n0', which is there; allowed: nodes of other ids"),
        ({"quotas": {"nl": 3}}, "quotas: found 'nl' (did you mean 'nlp'?); allowed: a tenant of the cluster: nlp"),
        ({"quotas": {"nlp": -1}}, "quota_gpus: found -1"),
        ({"release": ("nobody",)}, "release: found 'nobody'; allowed: a job of the round"),
        ({"release": ("small",)}, "release: found 'small', which is not held; allowed: jobs that are held"),
        ({"jobs": (Job(id="x", tenant="nobody", gpus=1),)}, "tenant: found 'nobody'"),
    ],
)
def test_a_scenario_that_cannot_be_is_one_clear_error(scenario: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError) as refused:
        Scenario(**scenario).applied(ROUND)
    assert complaint in str(refused.value)


def test_further_nodes_are_like_those_there_are() -> None:
    one, two = further_nodes("2xa100:4", ROUND.cluster)
    assert (one, two.id) == (Node(id="added-0", gpus=4, gpu_type="a100", cpus=32), "added-1")
    assert further_nodes("1x8", ROUND.cluster) == (Node(id="added-0", gpus=8, gpu_type="v100"),)
    assert further_nodes("1xh100:16", ROUND.cluster) == (Node(id="added-0", gpus=16, gpu_type="h100"),)
    alike = Cluster(nodes=(Node(id="n0", gpus=2, gpu_type="a100"),))
    assert further_nodes("1x6", alike) == (Node(id="added-0", gpus=6, gpu_type="a100"),)
    marked = [Node(id=f"n{gpus}{mark}", gpus=gpus, labels=("all", mark)) for gpus in (2, 4) for mark in "ab"]
    assert further_nodes("1x4", Cluster(nodes=marked[:3]))[0].labels == ("a", "all")
    assert further_nodes("1x4", Cluster(nodes=marked))[0].labels == ("all",)
    assert further_nodes("1x8", Cluster(nodes=marked))[0].labels == ("all",)
    assert further_nodes("1x8", Cluster(nodes=()))[0].labels == ()
    for text in ("8", "0x8", "2xa100", "99999x8", "2x-1", "x8", "2x8:"):
        with pytest.raises(InputError, match="as 2x8, or with their type, as 2xa100:8"):
            further_nodes(text, ROUND.cluster)


def test_further_nodes_do_not_have_the_name_of_the_only_node_of_their_size() -> None:
    def node(name: str, gpus: int, kind: str, *labels: str) -> Node:
        said = (f"kubernetes.io/hostname={name}.local", f"serial=s-{name}", f"gpu={kind}", "pool=all", *labels)
        return Node(id=name, gpus=gpus, gpu_type=kind, labels=said)

    nodes = (node("a", 8, "a100", "fast", "me=a"), node("b", 4, "v100"), node("c", 4, "v100"))
    (added,) = further_nodes("1xa100:8", Cluster(nodes=nodes))
    assert added.labels == ("fast", "gpu=a100", "pool=all")
    assert further_nodes("1x8", Cluster(nodes=nodes[:1]))[0].labels == ("fast", "gpu=a100", "pool=all", "serial=s-a")
    bound = Job(id="bound", gpus=2, submitted=0.0, requires=("kubernetes.io/hostname=a.local",))
    big = Job(id="big", gpus=8, submitted=0.0, requires=("gpu=a100",), state="running", placement={"a": 8})
    round_ = Round(cluster=Cluster(nodes=nodes), jobs=(big, bound))
    found = what_if(round_, "fifo", add_nodes=further_nodes("1xa100:8", round_.cluster), method="heuristic")
    assert [wait.job for wait in found.still_waiting] == ["bound"]


def test_who_starts_and_who_still_waits() -> None:
    round_ = read_round("instances/toy/eight-gangs.json")
    same = what_if(round_, "srtf", method="heuristic")
    assert (same.starts, same.waits, same.round_after) == ((), (), round_)
    assert same.still_waiting == same.after.answer.waiting
    found = what_if(round_, "srtf", add_nodes=[Node(id="more", gpus=64)], method="heuristic")
    assert set(found.starts) == {"yolo", "resnet"}
    assert [(wait.job, wait.reason) for wait in found.still_waiting] == [("t5", "quota")]
    fewer = what_if(round_, "srtf", remove_nodes=[round_.cluster.nodes[0].id], method="heuristic")
    assert fewer.waits
    assert not set(fewer.waits) & fewer.after.answer.running


@st.composite
def queues(draw: st.DrawFn) -> Round:
    nodes = tuple(Node(id=f"n{s}", gpus=draw(st.integers(1, 4))) for s in range(draw(st.integers(1, 3))))
    most = sum(node.gpus for node in nodes)
    jobs = tuple(
        Job(
            id=f"j{k}",
            gpus=draw(st.integers(1, most)),
            submitted=0.0,
            attained_gpu_seconds=0.0,
            iteration_seconds=draw(st.sampled_from([0.5, 1.0, 3.0])),
            remaining_iterations=draw(st.integers(1, 50)),
            restart_seconds=draw(st.sampled_from([0.0, 5.0])),
        )
        for k in range(draw(st.integers(1, 8)))
    )
    return Round(cluster=Cluster(nodes=nodes), jobs=jobs)


@given(queues(), st.sampled_from(["fifo", "srtf", "srsf"]))
@more_examples(60)
def test_jobs_start_when_a_replay_of_the_same_queue_starts_them(round_: Round, policy: str) -> None:
    outcome = replay(Workload(name="queue", jobs=round_.jobs), round_.cluster, policy)
    found = start_times(round_, policy, most_rounds=10_000)
    assert found.stopped is None
    assert [found.seconds[job.id] for job in round_.jobs] == pytest.approx(outcome.jobs.started.tolist())


def test_time_limits_stand_for_lengths_and_what_does_not_end_is_told() -> None:
    node = Node(id="n0", gpus=1)
    holds = Job(id="holds", gpus=1, state="running", placement={"n0": 1}, executed_seconds=40.0, time_limit_seconds=100)
    waits = Job(id="waits", gpus=1, submitted=5.0)
    cluster = Cluster(nodes=(node,))
    ends = start_times(Round(cluster=cluster, jobs=(replace(holds, submitted=1.0), waits)), "fifo")
    assert ends.seconds == {"waits": 60.0}
    assert "1 of 2 jobs run to their time limit" in ends.assumed
    endless = replace(holds, submitted=1.0, time_limit_seconds=None)
    never = start_times(Round(cluster=cluster, jobs=(endless, waits)), "fifo")
    assert (never.seconds, never.stopped) == ({}, "nothing that runs is known to end")
    cut = start_times(Round(cluster=cluster, jobs=(replace(holds, submitted=1.0), waits)), "fifo", most_rounds=1)
    assert (cut.seconds, cut.stopped) == ({}, "1 rounds were replayed")


def test_a_job_that_is_to_begin_later_starts_then_and_a_held_one_is_not_waited_for() -> None:
    later = Job(id="later", gpus=1, submitted=0.0, not_before=70.0, iteration_seconds=1.0, remaining_iterations=1)
    held = Job(id="held", gpus=1, submitted=0.0, held="by its user")
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=1),)), jobs=(later, held), now=10.0)
    assert start_times(round_, "fifo").seconds == {"later": 60.0}
