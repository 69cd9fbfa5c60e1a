"""What a study says of rows made by hand: counts, losses, proofs, what is open and what cannot be."""

from __future__ import annotations

import pytest

from muri_opt.studies.compare import REFUSED, CompareRow, contradictions_of, pairs_of, summary_of
from muri_opt.studies.compare.summary import HEAD


def row(method: str, value: int | None = None, bound: int | None = None, **changes) -> CompareRow:
    plain = {
        "instance": "a",
        "jobs": 2,
        "nodes": 1,
        "gpus": 8,
        "policy": "fifo",
        "method": method,
        "fingerprint": "f",
        "reason": "OPTIMAL" if value is not None and value == bound else "FEASIBLE",
        "detail": "why",
        "value": value,
        "bound": bound,
        "gap": None,
        "proof": None if bound is None else "Counting",
        "solve_seconds": 1.0,
    }
    return CompareRow(**{**plain, **changes})


def refused(method: str, **changes) -> CompareRow:
    return row(method, reason=REFUSED, solve_seconds=0.25, **changes)


ROWS = [
    row("heuristic", 8, 12, solve_seconds=0.5),
    row("exact@highs", 10, 12, claimed_bound=10),
    row("exact@cp-sat", 10, 12, claimed_bound=10, solve_seconds=3.0),
    row("heuristic", 5, 5, instance="b", solve_seconds=1.5),
    row("exact@highs", 5, 5, instance="b", solve_seconds=2.0),
    row("exact@cp-sat", instance="b", reason="NO_SOLUTION"),
    row("heuristic", 4, 8, instance="c"),
    row("exact@highs", 6, 8, instance="c", detail="TIME: too slow"),
    refused("exact@cp-sat", instance="c"),
    refused("heuristic", instance="d"),
    refused("exact@highs", instance="d"),
    refused("exact@cp-sat", instance="d"),
]


def test_methods_under_a_policy():
    heuristic, highs, cp_sat = summary_of(ROWS).methods
    assert (heuristic.runs, heuristic.refused, heuristic.optimal, heuristic.best) == (4, 1, 1, 1)
    assert (heuristic.mean_loss, heuristic.worst_loss) == pytest.approx(((0.2 + 0 + 0.5) / 3, 0.5))
    assert (heuristic.median_seconds, heuristic.total_seconds) == (1.0, 3.0)
    assert (highs.optimal, highs.claimed, highs.best, highs.worst_loss) == (1, 1, 3, pytest.approx(1 / 4))
    assert (cp_sat.runs, cp_sat.refused, cp_sat.optimal, cp_sat.claimed, cp_sat.best) == (4, 2, 0, 1, 1)
    assert cp_sat.mean_loss == 0.0
    assert heuristic.cells() == [
        "fifo",
        "heuristic",
        "4",
        "1",
        "1",
        "0",
        "1",
        "23.33 %",
        "50.00 %",
        "1.000 s",
        "3.00 s",
    ]
    assert len(heuristic.cells()) == len(HEAD)
    assert cp_sat.cells()[7:9] == ["0 %", "0 %"]


def test_pairs_of_all_methods():
    summary = summary_of(ROWS)
    assert (summary.pairs, summary.refused, summary.exact, summary.proved, summary.agreed) == (3, 1, 3, 2, 1)
    assert summary.proofs == {"Agreement": 1, "Counting": 1}
    assert summary.contradictions == ()
    assert summary.open == ("c, fifo: value 6, bound 8 (exact@highs: FEASIBLE, TIME: too slow)",)
    assert summary.lines() == [
        "pairs of round and policy: 3, of which 3 have an exact program",
        "optima proved: 2 of 3 (1 by agreement of solvers, 1 by counting)",
        "solved to the end by two or more exact methods, with equal values: 1",
        "pairs refused by all methods: 1 (results.csv says why)",
        "contradictions: none",
        "left open: 1",
    ]
    text = summary.markdown()
    assert text.startswith("| policy | method | runs |")
    assert "\n## Left open\n\n- c, fifo: value 6" in text
    assert "## Contradictions" not in text
    assert summary.as_dict()["methods"][0]["policy"] == "fifo"


def test_what_one_solver_claims_is_not_proved():
    claim = row("exact@highs", 7, None, claimed_bound=7, proof="ClaimOnly")
    summary = summary_of([claim, row("heuristic", 7, 7, instance="b")])
    assert (summary.proved, summary.claimed, summary.proofs) == (1, 1, {"Counting": 1})
    assert "optima claimed by one solver alone: 1" in summary.lines()
    assert summary.open == ()


@pytest.mark.parametrize(
    ("methods", "proof"),
    [
        (("exact@highs", "exact@cp-sat"), "Agreement"),
        (("exact@highs", "exact@highs"), "ClaimOnly"),
        (("exact@highs", "auto"), "ClaimOnly"),
        (("auto", "exact"), "ClaimOnly"),
    ],
)
def test_two_methods_agree_if_they_are_two_solvers(methods, proof):
    (pair,) = pairs_of([row(method, 7, 9, claimed_bound=7) for method in methods])
    assert (pair.proof, pair.bound, pair.optimal) == (proof, 7 if proof == "Agreement" else 9, proof == "Agreement")
    (before,) = pairs_of([row(method, 7, 7, proof="ClaimOnly") for method in methods])
    assert before.proof == proof


def test_two_solvers_agree_on_the_weaker_of_their_bounds():
    (pair,) = pairs_of([row("exact@highs", 6, 9, claimed_bound=7), row("exact@cp-sat", 5, 9, claimed_bound=8)])
    assert (pair.bound, pair.optimal, pair.proof) == (8, False, None)


def test_solvers_that_contradict_each_other_agree_on_nothing():
    (pair,) = pairs_of([row("exact@highs", 6, 9, claimed_bound=6), row("exact@cp-sat", 7, 9, claimed_bound=7)])
    assert (pair.bound, pair.optimal, pair.proof) == (9, False, None)
    assert pair.contradiction
    assert len(contradictions_of(pair)) == 1


def test_losses_that_are_small_or_unknown():
    tiny, none = summary_of([row("auto", 10**9, 10**9 + 1), row("heuristic")]).methods
    assert tiny.cells()[7] == "below 0.01 %"
    assert none.cells()[7:10] == ["-", "-", "1.000 s"]
    (only,) = summary_of([refused("heuristic")]).methods
    assert only.cells()[7:] == ["-", "-", "-", "0.00 s"]
    assert summary_of([row("heuristic")]).open == ("a, fifo: value none, bound none (heuristic: FEASIBLE, why)",)


def test_a_round_without_a_decision_is_settled():
    summary = summary_of([row("exact@highs", reason="INFEASIBLE"), row("heuristic", reason="NO_SOLUTION")])
    assert (summary.open, summary.contradictions) == ((), ())


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([row("x", 9, 9), row("y", 8, 8)], ["x reaches 9, and y says that 8 is the most"]),
        ([row("x", 9, 9, known_value=8, known_bound=8)], ["x reaches 9, and the library says that 8 is the most"]),
        ([row("x", 7, 7, known_value=8, known_bound=8)], ["the library has 8, and x says that 7 is the most"]),
        ([row("x", 7, 9, known_value=8, known_bound=8)], []),
        ([row("x", 8, None, known_value=7)], []),
    ],
)
def test_contradictions(rows, said):
    (pair,) = pairs_of(rows)
    assert contradictions_of(pair) == [f"a, fifo: {line}" for line in said]
    summary = summary_of(rows)
    assert summary.contradictions == tuple(f"a, fifo: {line}" for line in said)
    if said:
        assert "## Contradictions" in summary.markdown()
        assert summary.open == ()


def test_a_study_of_nothing():
    summary = summary_of([])
    assert (summary.methods, summary.pairs) == ((), 0)
    assert "optima proved: 0 of 0" in summary.lines()
