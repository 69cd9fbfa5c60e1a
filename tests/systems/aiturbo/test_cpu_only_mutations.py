"""The verifier rejects what is wrong with parts of 0 GPUs, and names the rule."""

from __future__ import annotations

import numpy as np
import pytest
from configuration_rounds import job, plan, round_of
from msgspec.structs import replace
from plan_rounds import result_of

from muri_opt import Assignment, Decision, Result, Waiting, WaitingReason, verify
from muri_opt.systems import policy_from
from muri_opt.systems.plans import PlanOptions, plan_decision

POLICY = "aiturbo:objective=time"
WIDE = (plan("cpu-p2-w2", 2.0), plan("cpu-p2-w2", 2.0, nodes=2), plan("cpu-p2-w1", 1.5), plan("cpu-p4-w2", 3.0))
ROUND = round_of(
    [(1, 6.0), (0, 4.0), (0, 2.0)],
    job("wide", WIDE),
    job("small", {"cpu-p1-w1": 1.0, "gpu-p1-w1-s1": 5.0}),
    job("fixed", {"gpu-p1-w1-s1": 1.0, "cpu-p1-w1": 1.0}, predictable=False),
    job("late", {"cpu-p2-w2": 1.0}),
)


def right() -> Result:
    """Return ``wide`` in two parts without GPUs and ``fixed`` on the GPU; the other two wait."""
    options = PlanOptions.of(ROUND, policy_from(POLICY).plan_rules)
    wide = next(o for o in options.of_job(0) if options.q[o] == 2)
    fixed = options.of_job(2)[0]
    return result_of(ROUND, POLICY, plan_decision(ROUND, options, {wide: np.array([0, 1]), fixed: np.array([0])}))


def broken_by(result: Result) -> set[str]:
    return {violation.rule for violation in verify(ROUND, result).violations}


def changed(**fields: object) -> Result:
    """Return the right answer with fields of the first assignment changed, and its value made to fit."""
    wide, fixed = right().decision.assignments
    made = {"jobs": wide.jobs, "plan": wide.plan, "gpus": wide.gpus, "cpus": wide.cpus} | fields
    decision = Decision(assignments=(Assignment(**made), fixed), waiting=right().decision.waiting)
    return result_of(ROUND, POLICY, decision)


def test_the_right_answer_is_right() -> None:
    result = right()
    assert broken_by(result) == set()
    assert dict(result.decision.assignments[0].gpus) == {"n0": 0, "n1": 0}
    # small would fit on the two CPUs of n0 or n1 with one more: there is none, and no GPU
    assert {wait.job: wait.reason for wait in result.decision.waiting} == {
        "small": WaitingReason.FRAGMENTATION,
        "late": WaitingReason.FRAGMENTATION,
    }


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"gpus": {"n0": 0}, "cpus": {"n0": 3.0}}, "cpus-with-gpus"),  # one part takes twice as many
        ({"gpus": {"n0": 0, "n1": 0, "n2": 0}}, "plan"),
        ({"gpus": {"n0": 1, "n1": 0}}, "plan"),  # a GPU nobody asked for
        ({"gpus": {"n0": 0, "n1": -1}}, "whole-gpus"),
        ({"gpus": {"n0": 0, "n1": 0.0}}, "whole-gpus"),
        ({"gpus": {"n0": 0, "n1": False}}, "whole-gpus"),
        ({"gpus": {"n0": 0, "n9": 0}, "cpus": {"n0": 3.0, "n9": 3.0}}, "known-node"),
        ({"cpus": {}}, "cpus-with-gpus"),
        ({"cpus": {"n0": 3.0, "n1": 2.0}}, "cpus-with-gpus"),
        ({"cpus": {"n0": 3.0, "n1": 3.0, "n2": 1.0}}, "known-node"),
        ({"gpus": {"n0": 0, "n2": 0}, "cpus": {"n0": 3.0, "n2": 3.0}}, "cpu-capacity"),
        ({"plan": "cpu-p2-w1", "gpus": {"n0": 0}, "cpus": {"n0": 4.0}}, None),
        ({"plan": "cpu-p2-w1", "gpus": {"n0": 0}, "cpus": {"n0": 5.0}}, "cpus-with-gpus"),
        ({"plan": "cpu-p4-w2", "gpus": {"n0": 0}, "cpus": {"n0": 8.0}}, "change"),
        ({"jobs": ("small",), "plan": "gpu-p1-w1-s1", "gpus": {"n0": 0}, "cpus": {"n0": 2.0}}, "whole-gpus"),
        ({"plan": None}, "plan"),
        ({"plan": "gpu-p1-w1-s1"}, "whole-gpus"),
    ],
)
def test_a_mutant_is_rejected_by_name(fields: dict[str, object], rule: str | None) -> None:
    found = broken_by(changed(**fields))
    assert rule in found if rule is not None else found == {"waiting-reason"}  # the small job could start now


def test_an_unpredictable_job_keeps_its_configuration() -> None:
    wide, _ = right().decision.assignments
    other = Assignment(jobs=("fixed",), plan="cpu-p1-w1", gpus={"n0": 0}, cpus={"n0": 3.0})
    decision = Decision(assignments=(wide, other), waiting=right().decision.waiting)
    assert "change" in broken_by(result_of(ROUND, POLICY, decision))


@pytest.mark.parametrize("reason", sorted(set(WaitingReason) - {WaitingReason.FRAGMENTATION}))
def test_a_job_on_cpus_waits_for_room_on_a_node(reason: WaitingReason) -> None:
    decision = right().decision
    waiting = tuple(
        Waiting(job=wait.job, reason=reason if wait.job == "late" else wait.reason, detail="", remedy="")
        for wait in decision.waiting
    )
    result = result_of(ROUND, POLICY, Decision(assignments=decision.assignments, waiting=waiting))
    assert broken_by(result) == {"waiting-reason"}


def test_a_value_one_off_is_found() -> None:
    result = right()
    assert "value" in broken_by(replace(result, value=result.value + 1))
