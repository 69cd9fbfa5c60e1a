"""``auto`` and ``exact`` undo changes that do not pay, also those that a solver leaves when a limit stops it."""

from __future__ import annotations

import pytest

from benchmarks.session_loop import family_drawn
from benchmarks.stillness import needless
from muri_opt import Assignment, Cluster, Decision, Job, Limits, Node, Round, policy_from, solve_round
from muri_opt.rounds import after
from muri_opt.rounds.generate.families import generate
from muri_opt.solve import needless_changes
from muri_opt.solve.explaining import explain
from muri_opt.solve.search import Search

CUT_SHORT = generate(family_drawn("max-min-elastic"), jobs=16, nodes=3, seed=7)
"""The solver resizes a job for nothing when 0.1 units of work are used up."""


def test_a_change_that_a_stopped_solver_leaves_is_undone_and_gains(monkeypatch: pytest.MonkeyPatch) -> None:
    rules, limits = policy_from("max-min-elastic").rules, Limits(work=0.1)
    found = solve_round(CUT_SHORT, "max-min-elastic", "auto", limits)
    assert needless(CUT_SHORT, rules, found.answer) == []
    assert found.stats.changes_cost == found.stats.changes_bound == 0
    monkeypatch.setattr(needless_changes, "MOST_CHECKS", 0)
    before = solve_round(CUT_SHORT, "max-min-elastic", "auto", limits)
    assert needless(CUT_SHORT, rules, before.answer) == ["job-2"]
    assert before.value is not None
    assert found.value is not None
    assert found.value > before.value


def test_moves_for_nothing_are_undone_and_one_that_makes_room_is_not() -> None:
    fields = {"remaining_iterations": 10, "iteration_seconds": 1.0, "restart_seconds": 30.0}
    a, b = (Job(id=name, gpus=1, state="running", placement={name: 1}, **fields) for name in ("a", "b"))
    large = Job(id="large", gpus=2, **(fields | {"remaining_iterations": 1}))
    nodes = tuple(Node(id=name, gpus=2) for name in ("a", "b", "c"))
    round_ = Round(cluster=Cluster(nodes=nodes), jobs=(a, b, large))
    policy = policy_from("srtf:nodes=fewest")

    def then(**places: str) -> dict[str, tuple[str, ...]]:
        gpus = {"a": 1, "b": 1, "large": 2}
        some = (Assignment(jobs=(job,), gpus={node: gpus[job]}) for job, node in places.items())
        search = Search(round_=round_, policy=policy, method="auto", limits=Limits(seconds=None))
        search.decision = Decision(assignments=tuple(some))
        search.value = search.audit.value(search.decision)
        needless_changes.undo_needless_changes(search)
        return {job: tuple(one.gpus) for one in search.decision.assignments for job in one.jobs}

    assert then(a="b", b="a") == {"a": ("a",), "b": ("b",)}
    assert then(a="b", large="c") == {"a": ("a",), "b": ("b",), "large": ("c",)}
    assert then(a="b", b="b", large="a") == {"a": ("b",), "b": ("b",), "large": ("a",)}


def exchanged(policy: str, decision: Decision) -> Search:
    """Return a search on one GPU, on which ``a`` runs and ``b`` would do as much, after changes are undone."""
    fields = {"gpus": 1, "remaining_iterations": 100, "iteration_seconds": 1.0}
    a = Job(id="a", state="running", placement={"n": 1}, restart_seconds=30.0, submitted=0.0, **fields)
    round_ = Round(cluster=Cluster(nodes=(Node(id="n", gpus=1),)), jobs=(a, Job(id="b", submitted=1.0, **fields)))
    search = Search(round_=round_, policy=policy_from(policy), method="exact", limits=Limits(seconds=None))
    search.decision = search.audit.completed(decision)
    search.value = search.audit.value(search.decision)
    needless_changes.undo_needless_changes(search)
    return search


@pytest.mark.parametrize("policy", ["joint-s", "joint-s:group=1"])
def test_a_job_is_not_stopped_for_one_that_does_no_more(policy: str) -> None:
    search = exchanged(policy, Decision(assignments=(Assignment(jobs=("b",), gpus={"n": 1}),)))
    assert search.decision is not None
    assert set(search.decision.running) == {"a"}
    (wait,) = search.decision.waiting
    assert (wait.job, wait.reason) == ("b", "capacity")
    assert wait.detail == "asks for 1 GPU; 0 of 1 are free"


@pytest.mark.parametrize("method", ["auto", "exact@highs", "exact@cp-sat"])
def test_deciding_again_does_not_take_turns(method: str) -> None:
    fields = {"gpus": 1, "remaining_iterations": 100, "iteration_seconds": 1.0}
    a = Job(id="a", state="running", placement={"n": 1}, restart_seconds=30.0, submitted=0.0, **fields)
    round_ = Round(cluster=Cluster(nodes=(Node(id="n", gpus=1),)), jobs=(a, Job(id="b", submitted=1.0, **fields)))
    for _ in range(3):
        result = solve_round(round_, "joint-s", method)
        assert set(result.answer.running) == {"a"}
        round_ = after(round_, result.answer)


@pytest.mark.parametrize("policy", ["joint-s", "joint-l", "afs-l", "muri-s"])
def test_who_waits_beside_a_changed_answer_is_told_why(policy: str) -> None:
    """What is told of an answer of which only assignments are known is what the policy tells of its own."""
    for seed in range(8):
        round_ = generate(family_drawn(policy), jobs=9, nodes=2, seed=seed)
        chosen = policy_from(policy)
        own = chosen.decide(round_, 0)
        search = Search(round_=round_, policy=chosen, method="auto", limits=Limits(seconds=None))
        search.decision = search.audit.completed(Decision(assignments=own.assignments))
        search.value = search.audit.value(search.decision)
        explain(search)
        assert search.decision.waiting == own.waiting
