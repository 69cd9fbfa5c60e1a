"""Nothing is changed that need not be: decided again nothing changes, and no change that is left could be undone."""

from __future__ import annotations

import msgspec
import pytest
from elastic_draws import POLICIES, elastic, elastic_rounds, round_with
from hypothesis import given, settings, strategies as st
from more_examples import more_examples

from muri_opt import Decision, Limits, Round, policy_from, solve_round
from muri_opt.rounds import Assignment, after
from muri_opt.verify import broken_rules, completed, decision_value

LINEAR = tuple(float(k) for k in range(1, 9))
DECIDING = st.sampled_from([*POLICIES, "afs-l:objective=completion"])
PACKING = st.sampled_from(["any", "node"])


def decided(round_: Round, policy: str, method: str) -> Decision:
    return solve_round(round_, policy, method, Limits(seconds=None, work=0.05)).answer


def places(decision: Decision) -> dict[str, dict[str, int]]:
    return {one.jobs[0]: dict(one.gpus) for one in decision.assignments}


@given(elastic_rounds(equal=True, tight=True), DECIDING, PACKING)
@more_examples(150)
def test_decided_again_by_the_rule_nothing_changes(round_: Round, policy: str, packing: str) -> None:
    spec = f"{policy}{',' if ':' in policy else ':'}packing={packing}"
    first = decided(round_, spec, "heuristic")
    assert places(decided(after(round_, first), spec, "heuristic")) == places(first)


@given(elastic_rounds(equal=True), st.sampled_from(POLICIES))
@settings(max_examples=25, deadline=None)
def test_decided_again_by_the_program_nothing_changes(round_: Round, policy: str) -> None:
    first = decided(round_, policy, "exact")
    assert places(decided(after(round_, first), policy, "exact")) == places(first)


@given(elastic_rounds(equal=True, tight=True), DECIDING, st.sampled_from(["heuristic", "auto"]))
@more_examples(60)
def test_no_change_could_be_undone_alone(round_: Round, policy: str, method: str) -> None:
    rules, decision = policy_from(policy).rules, decided(round_, policy, method)
    value = decision_value(round_, rules, decision)
    for job in round_.jobs:
        now = {node: gpus for node, gpus in (job.placement or {}).items() if gpus}
        if job.state != "running" or not now or places(decision).get(job.id) == now:
            continue
        others = tuple(one for one in decision.assignments if one.jobs != (job.id,))
        undone = completed(round_, rules, Decision(assignments=(*others, Assignment(jobs=(job.id,), gpus=now))))
        if not broken_rules(round_, rules, undone):
            assert decision_value(round_, rules, undone) < value, (job.id, now, places(decision).get(job.id))


def test_of_equal_answers_the_program_takes_the_one_that_restarts_least() -> None:
    """Two alike jobs with two GPUs, one of four: whoever has more now keeps it, though restarts take no time."""
    for more, less in (("j0", "j1"), ("j1", "j0")):
        jobs = [
            elastic(j, (1, 2, 3), remaining_iterations=100, state="running", gpus=3 if f"j{j}" == more else 1)
            for j in range(2)
        ]
        jobs = [msgspec.structs.replace(job, placement={"n0": job.gpus}) for job in jobs]
        found = places(decided(round_with([4], jobs), "afs-l", "exact"))
        assert (found[more], found[less]) == ({"n0": 3}, {"n0": 1})


@pytest.mark.parametrize("policy", POLICIES)
def test_a_job_that_starts_on_free_gpus_moves_nobody(policy: str) -> None:
    running = [
        elastic(j, LINEAR[:2], gpus=2, state="running", placement={f"n{j}": 2}, restart_seconds=60.0) for j in range(2)
    ]
    round_ = round_with([4, 4], [*running, elastic(2, LINEAR[:2])])
    for method in ("heuristic", "auto"):
        found = places(decided(round_, policy, method))
        assert (found["j0"], found["j1"]) == ({"n0": 2}, {"n1": 2})
        assert sum(found["j2"].values()) == 2
