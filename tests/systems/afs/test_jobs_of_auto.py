"""``auto`` runs as many jobs as the algorithm of its policy, and the same ones on a busy machine as on a quiet one."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from elastic_draws import elastic, elastic_rounds, round_with
from hypothesis import given, strategies as st
from more_examples import more_examples

from benchmarks.jobs_of_auto import LEAST, main, survey
from benchmarks.same_bytes import loop
from muri_opt import Cluster, Decision, Job, Limits, Node, Round, solve_round
from muri_opt.systems import POLICIES, has_program, policy_from

COUNTING = ("afs-l", "afs-p", "optimus", "max-min-elastic")
"""Policies of shares whose objective counts the jobs that run."""
BY_OBJECTIVE = {"srtf", "srsf", "las", "max-min", "fair-share", "tiresias", "srtf-elastic", "srs", "joint-s", "joint-l"}
"""Policies whose objective weighs jobs, or what they achieve, and not their number; the documentation says so."""


@given(elastic_rounds(equal=True, tight=True), st.sampled_from(COUNTING))
@more_examples(40)
def test_auto_runs_no_fewer_jobs_than_the_algorithm(round_: Round, policy: str) -> None:
    found = [solve_round(round_, policy, method, Limits(seconds=None, work=0.05)) for method in ("heuristic", "auto")]
    algorithm, auto = (len(one.decision.running) for one in found)
    assert auto >= algorithm


def test_speed_alone_gives_all_gpus_to_few_jobs() -> None:
    """The reason why jobs are counted first: nearly linear curves, and one short job among long ones."""
    curve = tuple(k**0.95 for k in range(1, 9))
    jobs = [elastic(j, curve, remaining_iterations=10 if j == 0 else 10_000) for j in range(8)]
    round_ = round_with([8], jobs)
    runs = {
        policy: len(solve_round(round_, policy, "exact").decision.running)
        for policy in ("afs-l", "afs-l:objective=speed")
    }
    assert runs == {"afs-l": 8, "afs-l:objective=speed": 1}
    assert len(solve_round(round_, "afs-l", "heuristic").decision.running) == 8


def test_the_survey_counts_rounds_and_prints_them(capsys: pytest.CaptureFixture[str]) -> None:
    found = survey("afs-l", 6)
    assert (found.rounds, found.fewer) == (6, 0)
    assert found.least >= LEAST
    main(["afs-l", "--rounds", "2"])
    assert capsys.readouterr().out.splitlines()[1].split() == ["afs-l", "2", "0", "1.00"]


@pytest.mark.slow
@pytest.mark.parametrize("policy", [name for name in POLICIES if has_program(policy_from(name).rules)])
def test_auto_is_the_same_scheduler_as_its_policy(policy: str) -> None:
    found = survey(policy, 500)
    assert found.rounds >= 400
    assert found.fewer == 0 or policy in BY_OBJECTIVE


def decisions(jobs: int, nodes: int, rounds: int) -> Iterator[Decision]:
    """Yield what is decided in a loop, each time for nine tenths of the jobs that the algorithm runs, or more."""
    for round_, result in loop(jobs, nodes, rounds, Limits(seconds=None, work=0.05)):
        assert len(result.answer.running) >= 0.9 * len(solve_round(round_, "afs-l", "heuristic").answer.running)
        yield result.answer


def test_a_budget_of_work_gives_the_same_decisions_whatever_the_clock_says(monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = list(decisions(60, 8, 3))
    real = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: 1000 * real())
    assert list(decisions(60, 8, 3)) == quiet


@pytest.mark.slow
def test_the_loop_of_500_jobs_is_the_same_whatever_the_clock_says(monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = list(decisions(500, 60, 10))
    real = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: 1000 * real())
    assert list(decisions(500, 60, 10)) == quiet


@pytest.mark.parametrize(("executed", "turn"), [(7200.0, True), (7000.0, False)])
@pytest.mark.parametrize("method", ["heuristic", "auto"])
def test_where_jobs_outnumber_gpus_afs_p_takes_turns_by_auto_too(method: str, executed: float, turn: bool) -> None:
    common = {"gpus": 1, "iteration_seconds": 1.0, "scaling": {1: 1.0}, "submitted": 0.0}
    here = {"state": "running", "placement": {"n": 1}, "executed_seconds": executed}
    jobs = (Job(id="had", **common, **here), Job(id="waits", **common, executed_seconds=0.0))
    round_ = Round(cluster=Cluster(nodes=(Node(id="n", gpus=1),)), jobs=jobs)
    result = solve_round(round_, "afs-p", method)
    assert result.answer.running == ({"waits"} if turn else {"had"})
    assert result.certificate.feasible
