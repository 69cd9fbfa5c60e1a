"""``Certificate.proof`` says who proved the bound, and never more than was checked."""

from __future__ import annotations

import pytest
from alterations import claiming, replace
from by_policy import enumerated_optimum, rules_of, settings_of
from handmade import gang, round_of
from hypothesis import given, strategies as st

from muri_opt import (
    Certificate,
    Cluster,
    InputError,
    Job,
    Limit,
    Limits,
    Node,
    Proof,
    Reason,
    Result,
    Round,
    Termination,
    parse_result,
    result_json,
    solve_round,
    verify,
)
from muri_opt.rounds import Agreement
from muri_opt.rounds.generate.families import generate
from muri_opt.systems.orders import ORDERS
from muri_opt.testing import rounds

LARGE = generate("gangs", jobs=24, nodes=3, seed=0)
"""Too many jobs to enumerate, and bounds that do not meet the value without a solver."""


def rules_of_breaches(certificate: Certificate) -> set[str]:
    return {violation.rule for violation in certificate.violations}


@pytest.fixture(scope="module")
def open_answer() -> Result:
    result = solve_round(LARGE, "srtf:nodes=fewest", "heuristic")
    assert result.value is not None
    assert result.bound is not None
    assert result.value + 1 < result.bound
    return result


def test_a_bound_tightened_without_evidence_is_a_violation(open_answer: Result) -> None:
    assert open_answer.certificate.proof in (Proof.LINEAR_DUALS, Proof.COUNTING)
    for bound in range(open_answer.value, open_answer.bound):
        certificate = verify(LARGE, claiming(open_answer, bound=bound))
        assert (certificate.proof, certificate.checked_bound) == (Proof.CLAIM_ONLY, open_answer.bound)
        assert rules_of_breaches(certificate) == {"proof"}


def test_what_one_solver_claims_stands_beside_the_bound(open_answer: Result) -> None:
    for claimed in range(open_answer.value, open_answer.bound):
        certificate = verify(LARGE, replace(open_answer, claimed_bound=claimed))
        assert certificate == open_answer.certificate
    for claimed in (open_answer.value - 1, open_answer.bound, open_answer.bound + 1):
        assert rules_of_breaches(verify(LARGE, replace(open_answer, claimed_bound=claimed))) == {"claim"}


def test_a_claim_without_a_bound_is_a_claim_only(open_answer: Result) -> None:
    bare = replace(open_answer, bound=None, gap=None, claimed_bound=open_answer.value)
    assert verify(LARGE, bare).proof is Proof.CLAIM_ONLY
    assert verify(LARGE, bare).feasible
    optimal = replace(bare, termination=Termination(reason=Reason.OPTIMAL))
    assert rules_of_breaches(verify(LARGE, optimal)) == {"termination"}


def test_a_claim_below_an_optimum_that_is_enumerated_is_a_violation() -> None:
    round_ = round_of([4], [1, 4])
    result = solve_round(round_, "fifo:objective=weighted", "heuristic")
    assert (result.value, result.bound) == (2, 4)
    assert rules_of_breaches(verify(round_, replace(result, claimed_bound=3))) == {"claim"}


def test_a_looser_bound_keeps_its_proof(open_answer: Result) -> None:
    certificate = verify(LARGE, claiming(open_answer, bound=open_answer.bound + 5))
    assert certificate.proof == open_answer.certificate.proof
    assert certificate.checked_bound == open_answer.bound


@pytest.mark.parametrize(
    ("evidence", "rules"),
    [
        ((), {"proof"}),
        ((Agreement(backends=("highs",)),), {"proof"}),
        ((Agreement(backends=("highs", "highs")),), {"proof"}),
        ((Agreement(backends=("highs", "cp-sat"), bound=10**9),), {"proof"}),
        ((Agreement(backends=("highs", "cp-sat")),), set()),
    ],
)
def test_an_agreement_needs_two_solvers_and_the_bound_they_agree_upon(
    open_answer: Result, evidence: tuple[Agreement, ...], rules: set[str]
) -> None:
    said = Certificate(feasible=True, proof=Proof.AGREEMENT, checked_bound=open_answer.value, evidence=evidence)
    claimed = claiming(open_answer, bound=open_answer.value, reason=Reason.OPTIMAL)
    read = parse_result(result_json(replace(claimed, certificate=said)))
    assert read.termination.reason is Reason.OPTIMAL
    certificate = verify(LARGE, read)
    assert rules_of_breaches(certificate) == rules
    assert certificate.proof is (Proof.CLAIM_ONLY if rules else Proof.AGREEMENT)
    assert certificate.checked_bound == open_answer.bound


def test_an_agreement_in_a_file_is_told_and_does_not_fit_another_answer() -> None:
    result = solve_round(LARGE, "srtf:nodes=fewest", "auto", Limits(seconds=60))
    assert result.value == result.bound
    assert result.certificate.proof is Proof.AGREEMENT
    assert result.certificate.evidence[-1] == Agreement(backends=("highs", "cp-sat"), bound=result.value)
    read = parse_result(result_json(result))
    assert verify(LARGE, read) == result.certificate
    worse = solve_round(LARGE, "srtf:nodes=fewest", "heuristic")
    false = replace(read, value=worse.value, bound=worse.value, decision=worse.decision, changes=worse.changes)
    false = replace(false, stats=worse.stats)
    assert rules_of_breaches(verify(LARGE, false)) == {"proof"}


def test_infeasible_needs_the_word_of_two_solvers() -> None:
    round_ = round_of([4], [1])
    nothing = Result(
        fingerprint=round_.fingerprint,
        policy="fifo",
        rules=rules_of("fifo"),
        method="exact",
        termination=Termination(reason=Reason.INFEASIBLE),
        certificate=Certificate(feasible=False),
    )
    assert rules_of_breaches(verify(round_, nothing)) == {"proof"}
    told = Certificate(feasible=False, evidence=(Agreement(backends=("highs", "cp-sat")),))
    assert verify(round_, replace(nothing, certificate=told)) == told
    for field in ("value", "bound", "gap"):
        numbers = replace(nothing, certificate=told, **{field: 1})
        assert rules_of_breaches(verify(round_, numbers)) == {field}


@given(
    rounds(),
    st.sampled_from(sorted(ORDERS)),
    st.sampled_from(["weighted", "lexicographic"]),
    st.sampled_from(["any", "fewest"]),
    st.integers(0, 20),
)
def test_small_rounds_leave_no_claim_unchecked(
    round_: Round, order: str, objective: str, nodes: str, above: int
) -> None:
    spec = f"{order}:objective={objective},nodes={nodes}"
    result = solve_round(round_, spec, "heuristic")
    optimum = enumerated_optimum(round_, spec)
    certificate = verify(round_, claiming(result, bound=result.value + above))
    checked = (Proof.LINEAR_DUALS, Proof.COUNTING, Proof.EXHAUSTIVE)
    assert certificate.feasible == (result.value + above >= optimum) == (certificate.proof in checked)
    assert rules_of_breaches(certificate) == (set() if certificate.feasible else {"bound"})
    assert certificate.checked_bound >= optimum


def test_without_a_bound_there_is_nothing_to_prove() -> None:
    round_ = round_of([4], [1, 4])
    result = solve_round(round_, "fifo:objective=weighted", "heuristic")
    said = Termination(reason=Reason.FEASIBLE, limit=Limit.TIME)
    certificate = verify(round_, replace(result, bound=None, gap=None, termination=said))
    assert certificate.proof is None
    assert certificate.feasible


def test_without_a_decision_nothing_is_feasible_and_nothing_is_broken() -> None:
    round_ = round_of([4], [1])
    nothing = Result(
        fingerprint=round_.fingerprint,
        policy="fifo:objective=weighted",
        rules=rules_of("fifo:objective=weighted"),
        method="exact",
        termination=Termination(reason=Reason.NO_SOLUTION, limit=Limit.TIME),
        certificate=Certificate(feasible=False),
    )
    assert verify(round_, nothing) == Certificate(feasible=False)


def test_a_round_too_large_to_search_in_steps_is_a_claim_only() -> None:
    """CPUs leave 7 of 8 GPUs usable, which no count of GPUs can tell; a gang of 8 splits in 75,582 ways."""
    nodes = [Node(id=f"n{s}", gpus=8, cpus=7) for s in range(12)]
    round_ = round_of(nodes, [gang(j, 8, cpus=8) for j in range(14)])
    result = solve_round(round_, "fifo:objective=weighted", "heuristic")
    assert enumerated_optimum(round_, "fifo:objective=weighted") is None
    certificate = verify(round_, claiming(result, bound=result.value))
    assert (certificate.proof, rules_of_breaches(certificate)) == (Proof.CLAIM_ONLY, {"proof"})


@pytest.mark.parametrize(
    ("rules", "field"),
    [
        ({}, "rules"),
        ({"chapter": "gang"}, "chapter"),
        ({"chapter": "gangs", "speed": "high"}, "rule of the chapter 'gangs'"),
        ({"chapter": "gangs", "nodes": "many"}, "rules.nodes"),
        ({"chapter": "gangs", "objective": "weighted", "nodes": ""}, "rules.nodes"),
        ({"chapter": "placement", "rack_speed": "2"}, "rules.rack_speed"),
        ({"chapter": "planning", "horizon": "nan"}, "rules.horizon"),
    ],
)
def test_a_result_of_unknown_rules_is_refused(rules: dict[str, str], field: str) -> None:
    round_ = round_of([4], [1])
    result = replace(solve_round(round_, "fifo:objective=weighted", "heuristic"), rules=rules)
    with pytest.raises(InputError) as refused:
        verify(round_, result)
    assert refused.value.field == field


def test_the_policy_of_a_result_is_not_looked_at() -> None:
    round_ = round_of([4], [1])
    result = solve_round(round_, "fifo", "heuristic")
    assert verify(round_, replace(result, policy="somebody's own")) == verify(round_, result)


def test_rules_are_read_from_the_text_of_a_policy() -> None:
    rules = settings_of("las:nodes=fewest,objective=lexicographic")
    assert (rules.order, rules.lexicographic, rules.fewest_nodes) == ("las", True, True)
    rules = settings_of("max-min")
    assert (rules.order, rules.lexicographic, rules.fewest_nodes) == ("max-min", False, False)


def test_jobs_that_are_held_take_nothing_from_a_proof() -> None:
    """Four jobs whose optimum only a search through all decisions proves, and sixteen that are not to be decided."""
    attained = {3445.0: (1.99, 3.53), 3980.0: (1.12, 3.9), 2484.0: (1.99, 3.35), 1789.0: (1.99, 3.9)}
    jobs = [
        Job(id=f"j{place}", gpus=1, submitted=0.0, attained_gpu_seconds=done, scaling={1: 1.0, 2: two, 3: three})
        for place, (done, (two, three)) in enumerate(attained.items())
    ]
    held = [replace(jobs[0], id=f"k{place}", held="by hand") for place in range(16)]
    cluster = Cluster(nodes=(Node(id="a", gpus=3), Node(id="b", gpus=2)))
    alone = solve_round(Round(cluster=cluster, jobs=tuple(jobs)), "joint-l", "exact")
    beside = solve_round(Round(cluster=cluster, jobs=(*jobs, *held)), "joint-l", "exact")
    assert alone.certificate.proof is beside.certificate.proof is Proof.EXHAUSTIVE
    assert alone.value == alone.bound == beside.value == beside.bound
    assert beside.certificate.violations == ()
