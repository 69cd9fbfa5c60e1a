"""The verifier rejects every mutant of a right answer and names the rule that it breaks."""

from __future__ import annotations

import pytest
from alterations import replace, rules_broken_by
from handmade import gang, round_of
from hypothesis import given, strategies as st
from more_examples import more_examples
from mutants import MUTANTS, Mutant

from muri_opt import (
    Assignment,
    Cluster,
    Decision,
    Node,
    Plan,
    Reason,
    Result,
    Round,
    Tenant,
    Termination,
    solve_round,
    verify,
)
from muri_opt.systems.orders import ORDERS
from muri_opt.testing import rounds

NODES = (
    Node(id="n0", gpus=4, cpus=8, memory_gib=64),
    Node(id="n1", gpus=4, cpus=16, memory_gib=16),
    Node(id="n2", gpus=2),
)
TENANTS = (Tenant(id="red", quota_gpus=4), Tenant(id="blue"))
JOBS = (
    gang(0, 3, tenant="red", cpus=9),
    gang(1, 2, tenant="red", memory_gib=8),
    gang(2, 2, tenant="blue", memory_gib=30),
    gang(3, 1, tenant="blue", cpus=4, memory_gib=1.5),
    gang(4, 1),
    gang(5, 4, tenant="blue"),
    gang(6, 2, cpus=2),
    gang(7, 12),
)
TIGHT = Round(cluster=Cluster(nodes=NODES, tenants=TENANTS), jobs=JOBS)
STANDING = Round(
    cluster=TIGHT.cluster, jobs=(gang(8, 2, state="running", placement={NODES[0].id: 1, NODES[1].id: 1}), *JOBS)
)
BACK_TO_FRONT = round_of([4], [1, 4])

CASES = {
    "exact-weighted": (TIGHT, "fifo:objective=weighted", "auto"),
    "exact-fewest-nodes": (TIGHT, "srtf:nodes=fewest", "auto"),
    "exact-lexicographic": (TIGHT, "las:objective=lexicographic", "auto"),
    "exact-first-in-first-out": (STANDING, "fifo", "auto"),
    "exact-roomy": (round_of([2, 2], [gang(0, 1, state="running", placement={"n0": 1})]), "fifo", "auto"),
    "exact-max-min": (TIGHT, "max-min:objective=lexicographic,nodes=fewest", "auto"),
    "heuristic-not-optimal": (BACK_TO_FRONT, "fifo:objective=weighted", "heuristic"),
}
SPECS = st.builds(
    "{}:objective={},nodes={}".format,
    st.sampled_from(sorted(ORDERS)),
    st.sampled_from(["weighted", "lexicographic"]),
    st.sampled_from(["any", "fewest"]),
)


@pytest.fixture(scope="module")
def answers() -> dict[str, tuple[Round, Result]]:
    return {name: (round_, solve_round(round_, policy, method)) for name, (round_, policy, method) in CASES.items()}


def test_the_right_answers_are_right(answers: dict[str, tuple[Round, Result]]) -> None:
    for name, (round_, result) in answers.items():
        assert rules_broken_by(round_, result) == set(), name
        assert result.decision is not None
    assert answers["heuristic-not-optimal"][1].value == 2
    assert {name for name, (_, result) in answers.items() if result.termination.reason is Reason.OPTIMAL} == {
        name for name in CASES if name.startswith("exact")
    }


def test_there_are_enough_kinds_of_mutants() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 20
    assert len({mutant.rule for mutant in MUTANTS}) >= 20


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_rejected_by_name(mutant: Mutant, answers: dict[str, tuple[Round, Result]]) -> None:
    applied = 0
    for name, (round_, result) in answers.items():
        broken = mutant.broken(round_, result)
        if broken is not None:
            applied += 1
            assert broken != result
            assert mutant.rule in rules_broken_by(round_, broken), name
    assert applied > 0


@given(st.data(), rounds(), SPECS)
@more_examples(150)
def test_any_mutant_of_any_answer_is_rejected(data: st.DataObject, round_: Round, policy: str) -> None:
    result = solve_round(round_, policy, "heuristic")
    assert rules_broken_by(round_, result) == set()
    mutants = [(mutant, broken) for mutant in MUTANTS if (broken := mutant.broken(round_, result)) is not None]
    mutant, broken = data.draw(st.sampled_from(mutants))
    assert mutant.rule in rules_broken_by(round_, broken), mutant.name


def test_a_smaller_plan_does_not_shrink_a_gang() -> None:
    """A job of 4 GPUs on the 2 of one of its plans would be worth 4: more than the optimum."""
    half = Plan(name="half", gpus=2, throughput=1.0)
    round_ = round_of([4], [gang(0, 4, plans=(half,)), 2])
    right = solve_round(round_, "fifo:objective=weighted", "heuristic")
    assert (right.value, right.bound) == (8, 8)
    both = Decision(
        assignments=(
            Assignment(jobs=("j0",), plan="half", gpus={"n0": 2}, period_seconds=1.0),
            Assignment(jobs=("j1",), gpus={"n0": 2}, period_seconds=1.0),
        )
    )
    wrong = replace(
        right, decision=both, changes=None, value=10, bound=10, gap=0.0, termination=Termination(reason=Reason.OPTIMAL)
    )
    assert rules_broken_by(round_, wrong) == {"gang"}


def test_a_plan_of_as_many_gpus_and_nodes_is_legal_and_no_other() -> None:
    plans = (Plan(name="one", gpus=2, throughput=1.0), Plan(name="two", gpus=2, nodes=2, throughput=1.0))
    round_ = round_of([2, 2], [gang(0, 2, plans=plans)])
    right = solve_round(round_, "fifo:objective=weighted", "heuristic")
    assert right.decision is not None
    (alone,) = right.decision.assignments
    for plan, gpus, legal in [
        ("one", {"n0": 2}, True),
        ("two", {"n0": 2}, False),
        ("one", {"n0": 1, "n1": 1}, False),
        ("two", {"n0": 1, "n1": 1}, True),
    ]:
        decision = Decision(assignments=(replace(alone, plan=plan, gpus=gpus),))
        assert rules_broken_by(round_, replace(right, decision=decision, changes=None)) == (
            set() if legal else {"plan"}
        )


def test_every_breach_is_reported_at_its_place() -> None:
    round_ = round_of([2, 2], [2, 2])
    right = solve_round(round_, "fifo:objective=weighted", "heuristic")
    assert right.decision is not None
    first, second = right.decision.assignments
    decision = Decision(assignments=(replace(first, gpus=second.gpus), second))
    (violation,) = verify(round_, replace(right, decision=decision, changes=None)).violations
    assert (violation.rule, violation.where) == ("gpu-capacity", next(iter(second.gpus)))
    assert violation.detail == "4 GPUs in use; the node has 2"
