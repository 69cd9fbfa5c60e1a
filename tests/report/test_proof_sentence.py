"""The sentence about a proof never claims more than was checked."""

import pytest
from by_policy import rules_of

from muri_opt import Certificate, Decision, Limit, Proof, Reason, Result, Termination, Violation
from muri_opt.report.text.proof_sentence import proof_sentence
from muri_opt.rounds import Agreement, Stats

CHECKED = (Proof.LINEAR_DUALS, Proof.MATCHING_DUALS, Proof.COUNTING, Proof.EXHAUSTIVE)


def sentence(
    proof,
    *,
    value=10,
    bound=10,
    claimed=None,
    checked=None,
    evidence=(),
    violations=(),
    backend="highs",
    decision=True,
):
    certificate = Certificate(
        feasible=not violations, violations=violations, proof=proof, checked_bound=checked, evidence=evidence
    )
    result = Result(
        fingerprint="sha256:0",
        policy="fifo",
        rules=rules_of("fifo"),
        method="exact",
        value=value if decision else None,
        bound=bound,
        claimed_bound=claimed,
        termination=Termination(reason=Reason.FEASIBLE, limit=Limit.TIME),
        decision=Decision() if decision else None,
        certificate=certificate,
        stats=Stats(backend=backend),
    )
    return proof_sentence(result, certificate)


@pytest.mark.parametrize("proof", [*CHECKED, Proof.AGREEMENT])
def test_every_proof_has_a_sentence_and_only_checked_ones_are_sure(proof):
    said = sentence(proof, checked=10 if proof in CHECKED else None)
    assert said.startswith("bound 10")
    assert said.endswith("; no decision is better") == (proof in CHECKED)
    assert ("not checked" in said) == (proof not in CHECKED)
    assert said.endswith("; if that is right, no decision is better") == (proof not in CHECKED)


@pytest.mark.parametrize("proof", list(Proof))
def test_an_open_gap_is_never_said_to_be_closed(proof):
    assert "no decision is better" not in sentence(proof, value=9, checked=10)


def test_the_words():
    assert sentence(Proof.LINEAR_DUALS, value=9, checked=10) == (
        "bound 10, checked here from dual values, in exact integers"
    )
    assert sentence(Proof.COUNTING, value=9, bound=11, checked=10) == (
        "bound 11 and even 10, checked here by counting GPUs and quotas"
    )
    assert sentence(Proof.EXHAUSTIVE, value=9, checked=10) == "bound 10, confirmed by enumeration of all decisions"
    assert sentence(Proof.EXHAUSTIVE, value=9, bound=12, checked=10) == (
        "bound 12, confirmed by enumeration: the optimum is 10"
    )
    claim = "no bound is proved; highs alone claims 10, not checked"
    assert sentence(Proof.CLAIM_ONLY, value=9, bound=None, claimed=10) == claim
    assert sentence(Proof.CLAIM_ONLY, value=10, bound=None, claimed=10) == (
        f"{claim}; if that is right, no decision is better"
    )
    assert sentence(Proof.COUNTING, value=9, bound=13, claimed=10, checked=13, backend=None) == (
        "bound 13, checked here by counting GPUs and quotas; a solver alone claims 10, not checked"
    )
    assert sentence(Proof.COUNTING, value=10, bound=13, claimed=10, checked=13) == (
        "bound 13, checked here by counting GPUs and quotas; highs alone claims 10, not checked; "
        "if that is right, no decision is better"
    )
    agreed = (Agreement(backends=("highs", "cp-sat")),)
    assert sentence(Proof.AGREEMENT, value=9, evidence=agreed) == "bound 10: highs and cp-sat agree, not checked here"


def test_nothing_is_proved_of_a_wrong_answer_or_without_a_bound():
    wrong = (Violation(rule="gang", where="job-0", detail="two of three GPUs"),)
    assert (
        sentence(Proof.LINEAR_DUALS, checked=10, violations=wrong) == "nothing is proved: the check found 1 violation"
    )
    assert sentence(None, bound=None).startswith("no bound: ")
    assert sentence(None, bound=None, decision=False) == "nothing to prove: there is no decision"


def test_every_kind_of_proof_has_words_of_its_own():
    words = [proof.words for proof in Proof]
    assert len(set(words)) == len(Proof)
    assert [said for said in words if said != said.lower()] == []
