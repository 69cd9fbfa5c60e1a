"""Sessions: what happens is checked and kept, and every decision of a drawn sequence is verified."""

from __future__ import annotations

from threading import Thread
from typing import Any

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
from msgspec.structs import replace

from muri_opt import Cluster, InputError, Job, Node, Session, verify
from muri_opt.rounds import Plan, WaitingReason

CLUSTER = Cluster(nodes=(Node(id="n0", gpus=4), Node(id="n1", gpus=4)))
POLICIES = ("fifo", "srtf", "las", "muri-s", "afs-l", "rubick")


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
        (lambda: session.acknowledge(1), "the last step that was decided: step 2"),
        (lambda: session.acknowledge(step, failed={"x": "lost"}), "'x'"),
    ):
        with pytest.raises(InputError) as error:
            happened()
        assert words in str(error.value)
        assert (session.jobs, session.cluster, session.now, session.pending) == before
    session.acknowledge(step)
    with pytest.raises(InputError, match="none is being carried out"):
        session.acknowledge(step)


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


class Driven(RuleBasedStateMachine):
    """Events in any order, under any policy: every decision is verified, and carried out it is what runs."""

    def __init__(self) -> None:
        super().__init__()
        self.session: Session | None = None
        self.submitted, self.now = 0, 0.0

    @precondition(lambda self: self.session is None)
    @rule(policy=st.sampled_from(POLICIES))
    def begin(self, policy: str) -> None:
        self.session = Session(CLUSTER, policy, "heuristic")

    @precondition(lambda self: self.session is not None)
    @rule(gpus=st.sampled_from((1, 2, 4)), priority=st.integers(0, 1))
    def submit(self, gpus: int, priority: int) -> None:
        self.submitted += 1
        honours = self.session.policy.honoured
        self.session.submit(a_job(f"j{self.submitted}", gpus, priority=priority if "job.priority" in honours else 0))

    @precondition(lambda self: self.session is not None and self.session.jobs)
    @rule(data=st.data(), event=st.sampled_from(("finished", "failed", "cancel")))
    def end(self, data: st.DataObject, event: str) -> None:
        states = ("running", "waiting") if event == "cancel" else ("running",)
        names = [job.id for job in self.session.jobs.values() if job.state in states]
        if names:
            getattr(self.session, event)(data.draw(st.sampled_from(names)))

    @precondition(lambda self: self.session is not None)
    @rule(node=st.sampled_from(("n0", "n1")))
    def node(self, node: str) -> None:
        known = self.session.cluster.node_index
        if node not in known:
            self.session.add_node(Node(id=node, gpus=4))
        elif self.session.cluster.nodes[known[node]].state == "up":
            self.session.drain_node(node)
        else:
            self.session.remove_node(node)

    @precondition(lambda self: self.session is not None)
    @rule(passes=st.sampled_from((0.0, 1.0, 100.0)))
    def decide(self, passes: float) -> None:
        self.now += passes
        step = self.session.decide(self.now)
        assert verify(step.round_, step.result).violations == ()
        self.session.acknowledge(step)
        places = {job: dict(one.gpus) for one in step.result.answer.assignments for job in one.jobs}
        held = {job.id: dict(job.placement) for job in self.session.jobs.values() if job.state == "running"}
        assert held == places


Driven.TestCase.settings = settings(max_examples=25, stateful_step_count=15)
test_drawn_sessions = Driven.TestCase


def test_a_job_may_be_replaced_once_it_has_ended() -> None:
    session = Session(CLUSTER, "srtf", "heuristic")
    session.submit(a_job("a"))
    session.cancel("a")
    session.submit(replace(a_job("a"), gpus=4))
    assert session.jobs["a"].gpus == 4
