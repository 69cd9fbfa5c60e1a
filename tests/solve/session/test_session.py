"""Sessions: what happens is checked and kept, and decided from."""

from __future__ import annotations

from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from muri_opt import Cluster, InputError, Job, Limits, NoAnswer, Node, Round, Session
from muri_opt.rounds import Assignment, Decision, Plan, Tenant, Together, WaitingReason, Within

CLUSTER = Cluster(nodes=(Node(id="n0", gpus=4), Node(id="n1", gpus=4)))


def a_job(name: str, gpus: int = 2, **fields: Any) -> Job:
    """Return a job that says what any of the policies needs."""
    plans = tuple(Plan(name="dp", gpus=size, throughput=float(size)) for size in (1, 2, 4))
    said: dict[str, Any] = {
        "submitted": 0.0,
        "iteration_seconds": 1.0,
        "remaining_iterations": 60,
        "attained_gpu_seconds": 0.0,
        "stage_seconds": (0.1, 0.2, 0.6, 0.1),
        "scaling": {1: 1.0, 2: 1.8, 4: 3.0},
        "plans": plans,
        "plan": "dp",
        "restart_seconds": 5.0,
    }
    return Job(id=name, gpus=gpus, **{**said, **fields})


def test_what_cannot_have_happened_is_refused_and_changes_nothing() -> None:
    session = Session(CLUSTER, "srtf", "heuristic")
    session.submit(a_job("a"))
    session.acknowledge(session.decide(10.0))
    session.submit(a_job("b", 8))
    step = session.decide(20.0)
    before = session.jobs, session.cluster, session.now, session.pending
    for happened, words in (
        (lambda: session.submit(a_job("a")), "'a' twice"),
        (lambda: session.submit(a_job("c", tenant=None, within={"level": "rack"})), "within"),
        (lambda: session.progress("x", remaining_iterations=1), "'x'"),
        (lambda: session.progress("a", gpus=1), "'gpus'"),
        (lambda: session.progress("a", remaining_iterations=-1), "remaining_iterations"),
        (lambda: session.progress("a"), "nothing"),
        (lambda: session.finished("b"), "which waits"),
        (lambda: session.failed("b"), "which waits"),
        (lambda: session.finished("x"), "'x'"),
        (lambda: session.cancel("x"), "'x'"),
        (lambda: session.set_priority("a", 10**20), "priority"),
        (lambda: session.add_node(Node(id="n0", gpus=1)), "'n0' twice"),
        (lambda: session.drain_node("n9"), "'n9'"),
        (lambda: session.remove_node("n9"), "'n9'"),
        (lambda: session.decide(19.0), "no time before the last"),
        (lambda: session.decide(float("nan")), "now"),
        (lambda: session.decide(-1.0), "now"),
        (lambda: session.decide("20"), "now"),
        (lambda: session.finished(["a"]), "['a']"),
        (lambda: session.drain_node(None), "None"),
        (lambda: session.submit(a_job("c", 4, state="running", placement={"n0": 4})), "at most the 4 GPUs"),
        (lambda: session.submit(a_job("c", 1, state="running", placement={"n9": 1})), "'n9'"),
        (lambda: session.progress_all(["a", "x"], remaining_iterations=[1, 2]), "jobs[1]: found 'x'"),
        (lambda: session.progress_all(["a", "a"], remaining_iterations=[1, 2]), "jobs[1]: found 'a' twice"),
        (lambda: session.progress_all(["a", "b"], restarts=[1, 10**30]), "restarts of job 'b': found 10000"),
        (lambda: session.progress_all(["a", "b"], restarts=[1, [2]]), "restarts of job 'b': found [2]"),
        (lambda: session.progress_all(["a", "b"], restarts=[1, True]), "restarts of job 'b': found True"),
        (lambda: session.progress_all(["a", "b"], restarts=[np.False_, 1]), "restarts of job 'a': found False"),
        (
            lambda: session.progress_all(["a", "b"], executed_seconds=[1.5, True]),
            "executed_seconds of job 'b': found True",
        ),
        (lambda: session.progress_all(["a", "b"], restarts=[[1], [2]]), "restarts of job 'a': found [1]"),
        (lambda: session.progress_all(["a", "b"], restarts=np.array([1.0, 2.0])), "restarts of job 'a': found 1.0"),
        (lambda: session.progress_all(["a", "b"], restarts=[np.uint64(1), np.int64(2)]), "restarts: found entries of"),
        (lambda: session.progress_all(["a", "b"], restarts=3), "restarts: found 3; allowed: a list"),
        (lambda: session.progress_all(["a", "b"], remaining_iterations=[1]), "1 entries"),
        (lambda: session.progress_all(["a", "b"], remaining_iterations=[1, -2]), "remaining_iterations of job 'b'"),
        (lambda: session.progress_all(["a", "b"], remaining_iterations=[1, 0.5]), "of job 'b': found 0.5"),
        (lambda: session.progress_all(["a", "b"], executed_seconds=[1, float("nan")]), "executed_seconds of job 'b'"),
        (lambda: session.progress_all(["a", "b"], executed_seconds=["1", "2"]), "executed_seconds of job 'a'"),
        (lambda: session.progress_all(["a"], gpus=[1]), "columns: found 'gpus'"),
        (lambda: session.progress_all(["a"]), "nothing"),
        (lambda: session.adopt(20.0, Decision(assignments=(Assignment(jobs=("x",), gpus={"n0": 1}),))), "'x'"),
        (lambda: session.adopt(20.0, Decision(assignments=(Assignment(jobs=("b",), gpus={"n9": 1}),))), "'n9'"),
        (lambda: session.acknowledge(1), "the last step that was decided: step 2"),
        (lambda: session.acknowledge(step, failed={"x": "lost"}), "'x'"),
        (lambda: session.acknowledge(step, failed=["b"]), "why jobs failed, by their ids"),
        (lambda: session.submit({"id": "c", "gpus": 1}), "a Job"),
        (lambda: session.add_node("n9"), "a Node"),
        (lambda: session.progress_all(["a"], remaining_iterations=[-2]), "found -2"),
    ):
        with pytest.raises(InputError) as error:
            happened()
        assert words in str(error.value)
        assert (session.jobs, session.cluster, session.now, session.pending) == before
    session.acknowledge(step)
    with pytest.raises(InputError, match="none is being carried out"):
        session.acknowledge(step)


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "uint32", "int64", "float16", "float32", "float64"])
def test_columns_may_be_arrays_of_any_width(kind: str) -> None:
    session = Session(CLUSTER, "srtf", "heuristic")
    session.submit(a_job("a", 1))
    seconds = 100 if kind == "int8" else 5_000
    session.progress_all(["a"], executed_seconds=np.array([seconds], dtype=kind))
    assert session.jobs["a"].executed_seconds == seconds


def test_time_counts_for_what_runs_and_what_waits() -> None:
    session = Session(CLUSTER, "srtf", "heuristic")
    session.submit(a_job("a", 4))
    session.submit(a_job("b", 8))
    session.acknowledge(session.decide(0.0))
    session.acknowledge(session.decide(30.0))
    assert (session.jobs["a"].executed_seconds, session.jobs["a"].attained_gpu_seconds) == (30.0, 120.0)
    assert session.jobs["b"].waiting_seconds == 30.0


def test_a_node_that_is_removed_leaves_its_jobs_waiting_and_one_that_drains_keeps_them() -> None:
    session = Session(CLUSTER, "srtf", "heuristic")
    session.submit(a_job("a", 8))
    session.acknowledge(session.decide(0.0))
    session.drain_node("n1")
    step = session.decide(1.0)
    assert step.changes.counts == {"keep": 1}
    session.acknowledge(step)
    session.remove_node("n1")
    assert (session.jobs["a"].state, session.jobs["a"].restarts) == ("waiting", 1)
    assert session.decide(2.0).result.answer.waiting[0].reason is WaitingReason.CAPACITY
    session.add_node(Node(id="n2", gpus=4))
    assert session.decide(3.0).changes.counts == {"start": 1}


def test_the_last_node_of_one_of_several_levels_drains_and_is_not_removed() -> None:
    nodes = (
        Node(id="a", gpus=2, levels={"block": "b0", "rack": "r0"}),
        Node(id="b", gpus=2, levels={"rack": "r1"}),
    )
    session = Session(Cluster(nodes=nodes, levels=("block", "rack")), "fifo", "heuristic")
    session.submit(Job(id="j", gpus=2, submitted=0.0))
    with pytest.raises(InputError, match=r"^levels\[0\]: found 'block', which no node has"):
        session.remove_node("a")
    session.drain_node("a")
    assert session.decide(1.0).result.decision.assignments[0].gpus == {"b": 2}


def test_a_node_that_drained_comes_back_if_it_can_hold_what_runs_on_it() -> None:
    session = Session(CLUSTER, "srtf", "heuristic")
    session.submit(a_job("a", 8))
    session.acknowledge(session.decide(0.0))
    session.drain_node("n1")
    with pytest.raises(InputError, match="at most the 2 GPUs"):
        session.add_node(Node(id="n1", gpus=2))
    session.add_node(Node(id="n1", gpus=6))
    assert session.decide(1.0).changes.counts == {"keep": 1}
    assert [node.gpus for node in session.cluster.nodes] == [4, 6]


def test_a_job_is_checked_by_the_levels_and_tenants_of_the_cluster() -> None:
    nodes = (Node(id="n0", gpus=4), Node(id="n1", gpus=4, rack="r1"))
    session = Session(Cluster(nodes=nodes, tenants=(Tenant(id="vision"),)), "srtf", "heuristic")
    session.submit(a_job("a", within=Within(level="rack"), tenant="vision"))
    for fields, words in (
        ({"tenant": "x"}, "tenant of the cluster"),
        ({"within": Within(level="row")}, "cluster: rack"),
    ):
        with pytest.raises(InputError, match=words):
            session.submit(a_job("b", **fields))
    with pytest.raises(InputError, match="within"):
        session.remove_node("n1")
    assert len(session.cluster.nodes) == 2


def test_what_failed_waits_and_what_ended_meanwhile_is_not_started() -> None:
    session = Session(CLUSTER, "srtf", "heuristic")
    for name in ("a", "b", "c"):
        session.submit(a_job(name))
    step = session.decide(0.0)
    session.cancel("c")
    session.acknowledge(step, failed={"a": "no image"})
    assert {job.id: job.state for job in session.jobs.values()} == {"a": "waiting", "b": "running"}


def test_threads_come_one_after_another() -> None:
    session = Session(CLUSTER, "srtf", "heuristic")
    workers = [
        Thread(target=lambda part=part: [session.submit(a_job(f"{part}-{place}")) for place in range(50)])
        for part in range(4)
    ]
    for worker in workers:
        worker.start()
    session.decide(1.0)
    for worker in workers:
        worker.join()
    assert len(session.jobs) == 200


def test_a_job_may_be_replaced_once_it_has_ended() -> None:
    session = Session(CLUSTER, "srtf", "heuristic")
    session.submit(a_job("a"))
    session.cancel("a")
    session.submit(replace(a_job("a"), gpus=4))
    assert session.jobs["a"].gpus == 4


def test_what_is_told_is_what_is_so_at_the_next_decision_and_counted_from_there() -> None:
    session = Session(CLUSTER, "srtf", "heuristic")
    for name, gpus in (("a", 4), ("b", 4), ("c", 8)):
        session.submit(a_job(name, gpus))
    session.acknowledge(session.decide(0.0))
    session.progress("a", executed_seconds=7.0)
    session.progress_all(["b", "c"], waiting_seconds=[0.0, 3.0], attained_gpu_seconds=[5.0, 0.0])
    first = session.decide(10.0).round_
    assert [job.executed_seconds for job in first.jobs[:2]] == [7.0, 10.0]
    assert [job.attained_gpu_seconds for job in first.jobs] == [40.0, 5.0, 0.0]
    assert first.jobs[2].waiting_seconds == 3.0
    second = session.decide(15.0).round_
    assert [job.executed_seconds for job in second.jobs[:2]] == [12.0, 15.0]
    assert [job.attained_gpu_seconds for job in second.jobs] == [60.0, 25.0, 0.0]
    assert second.jobs[2].waiting_seconds == 8.0


def test_a_job_need_not_say_that_it_has_had_nothing() -> None:
    """How long it has waited is known from when it was submitted, whenever the session was told."""
    session = Session(CLUSTER, "las", "heuristic")
    session.decide(10.0)
    session.submit(Job(id="a", gpus=8, submitted=4.0, priority=1))
    session.submit(Job(id="b", gpus=8, submitted=17.0))
    session.submit(Job(id="c", gpus=8))
    step = session.decide(20.0)
    assert [job.waiting_seconds for job in step.round_.jobs] == [16.0, 3.0, 10.0]
    session.acknowledge(step)
    later = session.decide(25.0).round_
    assert [(job.waiting_seconds, job.executed_seconds) for job in later.jobs] == [(16.0, 5.0), (8.0, 0.0), (15.0, 0.0)]


def test_a_promoted_job_begins_anew() -> None:
    """A job that has waited twice as long as it ran goes to the first queue, and stays there until it has had more."""
    session = Session(Cluster(nodes=(Node(id="n0", gpus=1),)), "tiresias:queues=10,knob=2", "heuristic")
    session.submit(a_job("old", 1))
    session.acknowledge(session.decide(0.0))
    session.submit(a_job("new", 1))
    session.acknowledge(session.decide(20.0))
    assert [job.state for job in session.jobs.values()] == ["waiting", "running"]
    assert session.round_at(60.0).jobs[0].attained_gpu_seconds == 0.0
    assert session.promoted == ("old",)
    session.acknowledge(session.decide(60.0))
    assert [job.state for job in session.jobs.values()] == ["running", "waiting"]
    assert session.jobs["old"].executed_seconds == session.jobs["old"].waiting_seconds == 0.0


def test_between_a_step_and_its_acknowledgement_jobs_end_and_nodes_go() -> None:
    """What died where it was to stay is not said to run; what has the name of a job that ended is another job."""
    session = Session(CLUSTER, "srtf", "heuristic")
    for name in "abc":
        session.submit(a_job(name))
    session.acknowledge(session.decide(0.0))
    session.submit(a_job("d"))
    step = session.decide(1.0)
    session.failed("a")
    session.cancel("b")
    session.submit(a_job("b", 1))
    (place,) = step.changes.start[0].after
    session.remove_node(place)
    session.add_node(Node(id=place, gpus=1))
    lost = {job.id for job in step.round_.jobs if place in (job.placement or {})} | {"a", "b", "d"}
    assert {one.jobs[0] for one in session.pending[1].assignments} == {*"abcd"} - lost
    session.acknowledge(step)
    assert {job.id for job in session.jobs.values() if job.state == "running"} == {*"abcd"} - lost
    assert session.decide(2.0).changes.counts


def test_a_job_that_was_found_running_after_a_step_goes_on_and_what_is_in_its_way_is_refused() -> None:
    session = Session(CLUSTER, "srtf", "heuristic")
    session.submit(a_job("a", 8))
    step = session.decide(0.0)
    session.submit(a_job("b", 4, state="running", placement={"n1": 4}))
    with pytest.raises(InputError, match="at most the 4 GPUs of the node"):
        session.acknowledge(step)
    session.acknowledge(step, failed={"a": "no room"})
    assert {job.id: job.state for job in session.jobs.values()} == {"a": "waiting", "b": "running"}


def test_a_closed_session_takes_no_more_events() -> None:
    session = Session(CLUSTER, "srtf", "heuristic")
    session.close()
    for call in (lambda: session.submit(a_job("a")), lambda: session.decide(1.0), session.compact):
        with pytest.raises(InputError, match="one that was closed"):
            call()


def test_how_to_decide_is_checked_before_a_journal_is_begun(tmp_path: Path) -> None:
    for said, words in (({"method": "heuristics"}, "heuristic"), ({"limits": 5}, "a Limits")):
        with pytest.raises(InputError, match=words):
            Session(CLUSTER, "srtf", journal=tmp_path / "state.jsonl", **said)
    assert not (tmp_path / "state.jsonl").exists()


def test_a_decision_that_breaks_rules_is_refused_and_changes_nothing() -> None:
    def overfull(round_: Round) -> Decision:
        return Decision(assignments=tuple(Assignment(jobs=(job.id,), gpus={"n0": job.gpus}) for job in round_.jobs))

    session = Session(CLUSTER, overfull, "heuristic")
    for name in "abc":
        session.submit(a_job(name))
    with pytest.raises(InputError, match="breaks the rule"):
        session.decide(1.0)
    assert (session.now, session.pending) == (0.0, None)


def test_no_answer_is_raised_and_changes_nothing() -> None:
    session = Session(CLUSTER, "srtf", "exact", Limits(seconds=0.0))
    session.submit(a_job("a"))
    with pytest.raises(NoAnswer):
        session.decide(1.0)
    assert (session.now, session.pending) == (0.0, None)


def test_what_does_not_change_stays_the_same_object() -> None:
    """So that what was worked out about a cluster or the plans of a job is known again."""
    session = Session(CLUSTER, "rubick", "heuristic")
    for name in "abc":
        session.submit(a_job(name))
    first = session.decide(0.0)
    session.acknowledge(first)
    session.progress_all([*"ab"], remaining_iterations=[5, 6])
    second = session.decide(30.0)
    assert second.round_.cluster is first.round_.cluster
    for before, after in zip(first.round_.jobs, second.round_.jobs, strict=True):
        assert (after.plans is before.plans, after.scaling is before.scaling) == (True, True)
    session.acknowledge(second)
    third, fourth = session.decide(30.0), session.decide(30.0)
    assert all(one is other for one, other in zip(third.round_.jobs, fourth.round_.jobs, strict=True))


def test_rates_of_models_together_are_in_every_round_and_in_the_journal(tmp_path: Path) -> None:
    together = (Together(models=("a", "b"), rates=(0.9, 0.8)),)
    with Session(CLUSTER, "muri-s", together=together, name="pool", journal=tmp_path / "journal.jsonl") as session:
        before = session.round_at(5.0)
    with Session.resume(tmp_path / "journal.jsonl") as session:
        assert session.round_at(5.0) == before
        assert (before.together, before.name) == (together, "pool")


def test_progress_leaves_all_else_of_a_job_the_same_objects() -> None:
    session = Session(CLUSTER, "afs-l", "heuristic")
    session.submit(a_job("a", stage_seconds=None))
    session.acknowledge(session.decide(10.0))
    before = session.jobs["a"]
    session.progress("a", remaining_iterations=7, executed_seconds=1.00000049)
    after = session.jobs["a"]
    assert (after.remaining_iterations, after.executed_seconds) == (7, 1.0)
    assert after.scaling is before.scaling
    assert after.plans is before.plans
    assert after.placement is before.placement
