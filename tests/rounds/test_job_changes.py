"""What a decision asks to be done: every job once, as the verifier works it out too."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from more_examples import more_examples
from msgspec.structs import replace

from muri_opt import Assignment, Changes, Cluster, Decision, Job, NoAnswer, Node, Round, changes, solve_round, verify
from muri_opt.rounds import JobChange, Reason, Termination, after, decode_result, result_json
from muri_opt.testing import full_rounds

POLICIES = {
    "fifo:preempt=yes": "gangs",
    "muri-s": "stages",
    "afs-l": "scaling",
    "rubick": "plans",
    "aiturbo": "configurations",
}
KINDS = ("start", "stop", "move", "resize", "regroup", "keep")


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, Round]:
    policy = draw(st.sampled_from(sorted(POLICIES)))
    return policy, draw(full_rounds(POLICIES[policy]))


@given(cases())
@more_examples(60)
def test_every_job_that_runs_before_or_after_is_told_once(case: tuple[str, Round]) -> None:
    policy, round_ = case
    result = solve_round(round_, policy, "heuristic")
    assert result.changes is not None
    assert result.certificate.violations == ()
    told = [change for kind in KINDS for change in getattr(result.changes, kind)]
    running = {job.id for job in round_.jobs if job.state == "running"}
    assert sorted(change.job for change in told) == sorted(running | result.answer.running)
    then = {job.id: job for job in after(round_, result.answer).jobs}
    for change in told:
        held = {node: gpus for node, gpus in (change.after or {}).items() if gpus}
        assert held == {node: gpus for node, gpus in (then[change.job].placement or {}).items() if gpus}
    # Once it is carried out there is nothing to do but to keep it.
    assert set(changes(after(round_, result.answer), result.answer).counts) <= {"keep"}
    assert decode_result(result_json(result)) == result


def the_round() -> Round:
    nodes = tuple(Node(id=name, gpus=2) for name in ("n0", "n1", "n2", "n3"))
    runs = {"state": "running", "gpus": 2, "restart_seconds": 30.0, "stage_seconds": (1.0, 1.0, 1.0, 1.0)}
    jobs = (
        Job(id="a", submitted=0.0, placement={"n0": 2}, **runs),
        Job(id="b", submitted=0.0, placement={"n0": 2}, **runs),
        Job(id="c", submitted=0.0, placement={"n1": 2}, **runs),
        Job(id="d", submitted=0.0, gpus=1),
        Job(id="e", submitted=0.0, gpus=1),
    )
    return Round(cluster=Cluster(nodes=nodes), jobs=jobs)


def test_each_kind_is_told_with_what_it_costs() -> None:
    round_ = the_round()

    def kinds(*given: Assignment) -> dict[str, list[str]]:
        found = changes(round_, Decision(assignments=given))
        return {kind: [change.job for change in getattr(found, kind)] for kind in found.counts}

    def on(node: str, *jobs: str, gpus: int = 2) -> Assignment:
        return Assignment(jobs=jobs, order=tuple(range(len(jobs))), gpus={node: gpus})

    assert kinds(on("n0", "a", "b"), on("n1", "c")) == {"keep": ["a", "b", "c"]}
    assert kinds(on("n0", "a"), on("n1", "c"), on("n2", "d", gpus=1)) == {
        "start": ["d"],
        "stop": ["b"],
        "regroup": ["a"],
        "keep": ["c"],
    }
    assert kinds(on("n0", "a", "b"), on("n2", "c")) == {"move": ["c"], "keep": ["a", "b"]}
    assert kinds(on("n0", "a", "b"), on("n1", "c", gpus=1)) == {"resize": ["c"], "keep": ["a", "b"]}
    found = changes(round_, Decision(assignments=(on("n0", "a"), on("n2", "c"))))
    assert found.restart_seconds == 90.0
    assert found.move == (JobChange(job="c", before={"n1": 2}, after={"n2": 2}, restart_seconds=30.0),)


def test_wrong_changes_are_named() -> None:
    round_ = the_round()
    result = solve_round(round_, "fifo", "heuristic")
    assert result.changes is not None
    for wrong in (
        Changes(),
        replace(result.changes, keep=(), stop=result.changes.keep),
        replace(result.changes, start=(*result.changes.start, JobChange(job="nobody"))),
        replace(result.changes, start=(*result.changes.start, *result.changes.start)),
        replace(result.changes, start=tuple(replace(one, after={"n1": 1}) for one in result.changes.start)),
        replace(result.changes, start=tuple(replace(one, restart_seconds=1.0) for one in result.changes.start)),
    ):
        found = verify(round_, replace(result, changes=wrong))
        assert {violation.rule for violation in found.violations} == {"changes"}
    assert verify(round_, replace(result, changes=None)).feasible


def test_no_answer_says_why() -> None:
    result = solve_round(the_round(), "fifo", "heuristic")
    said = Termination(reason=Reason.INFEASIBLE, detail="nothing fits")
    with pytest.raises(NoAnswer, match="INFEASIBLE: nothing fits"):
        _ = replace(result, decision=None, termination=said).answer
