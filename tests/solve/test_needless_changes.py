"""``auto`` and ``exact`` undo changes that do not pay, also those that a solver leaves when a limit stops it."""

from __future__ import annotations

import pytest

from benchmarks.session_loop import family_drawn
from benchmarks.stillness import needless
from muri_opt import Assignment, Cluster, Decision, Job, Limits, Node, Round, policy_from, solve_round
from muri_opt.rounds.generate.families import generate
from muri_opt.solve import needless_changes
from muri_opt.solve.search import Search

CUT_SHORT = generate(family_drawn("max-min-elastic"), jobs=14, nodes=3, seed=2)
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
