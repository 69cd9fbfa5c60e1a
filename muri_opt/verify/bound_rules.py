"""What a result may say of the optimum: no more than was checked here, or than two solvers agree upon."""

from __future__ import annotations

from collections.abc import Sequence

from muri_opt.rounds import Agreement, Certificate, Proof, Reason, Result, Violation, relative_gap

Known = tuple[int, Proof] | None
"""The best bound that was checked here, and by what."""


def agreed_bound(result: Result, value: int) -> int | None:
    """Return the best bound that two solvers agree upon, as the evidence tells; without a number it is the value."""
    agreed = [item for item in result.certificate.evidence if isinstance(item, Agreement) and item.independent]
    return min((value if item.bound is None else item.bound for item in agreed), default=None)


def proof_of(result: Result, value: int, known: Known) -> Proof | None:
    """Return who proves the bound of the result: ``ClaimOnly`` for nobody, ``None`` where there is none at all."""
    if result.bound is None:
        return None if result.claimed_bound is None else Proof.CLAIM_ONLY
    if known is not None and known[0] <= result.bound:
        return known[1]
    agreed = agreed_bound(result, value)
    return Proof.AGREEMENT if agreed is not None and agreed <= result.bound else Proof.CLAIM_ONLY


def bound_breaches(result: Result, value: int, known: Known, proof: Proof | None) -> list[Violation]:
    """Return what is wrong with bound, gap, claim and termination of a result with a decision of this value."""
    return [*_of_claim(result, value, known), *_of_bound(result, value, known, proof)]


def undecided(result: Result, found: Sequence[Violation]) -> Certificate:
    """Return the findings on a result without a decision: it may say a claim, and no number besides."""
    more = [*found]
    for name, number in (("value", result.value), ("bound", result.bound), ("gap", result.gap)):
        if number is not None:
            more.append(Violation(rule=name, where=name, detail=f"said {number}; there is no decision"))
    told = any(isinstance(item, Agreement) and item.independent for item in result.certificate.evidence)
    if result.termination.reason is Reason.INFEASIBLE and not told:
        detail = "INFEASIBLE, and no two solvers agree on it"
        more.append(Violation(rule="proof", where="termination", detail=detail))
    return Certificate(
        feasible=False,
        violations=tuple(more),
        proof=None if result.claimed_bound is None else Proof.CLAIM_ONLY,
        evidence=result.certificate.evidence,
    )


def _of_claim(result: Result, value: int, known: Known) -> list[Violation]:
    claimed, wrong = result.claimed_bound, None
    if claimed is None:
        return []
    if claimed < value:
        wrong = f"{claimed} is below the value {value}"
    elif known is not None and known[1] is Proof.EXHAUSTIVE and claimed < known[0]:
        wrong = f"{claimed} is below the optimum {known[0]}"
    elif result.bound is not None and claimed >= result.bound:
        wrong = f"{claimed} is no better than the bound {result.bound}"
    return [] if wrong is None else [Violation(rule="claim", where="claimed_bound", detail=wrong)]


def _of_bound(result: Result, value: int, known: Known, proof: Proof | None) -> list[Violation]:
    bound, optimal = result.bound, result.termination.reason is Reason.OPTIMAL
    found = []
    if bound is None:
        if optimal:
            found.append(Violation(rule="termination", where="termination", detail="OPTIMAL without a bound"))
        if result.gap is not None:
            found.append(Violation(rule="gap", where="gap", detail=f"said {result.gap}; there is no bound"))
        return found
    if bound < value:
        found.append(Violation(rule="bound", where="bound", detail=f"{bound} is below the value {value}"))
    elif known is not None and known[1] is Proof.EXHAUSTIVE and bound < known[0]:
        found.append(Violation(rule="bound", where="bound", detail=f"{bound} is below the optimum {known[0]}"))
    elif proof is Proof.CLAIM_ONLY:
        best = "nothing is proved here" if known is None else f"proved here is {known[0]}"
        detail = f"said {bound}; {best}, and no two solvers agree on it"
        found.append(Violation(rule="proof", where="bound", detail=detail))
    if optimal and bound != value:
        detail = f"OPTIMAL with value {value} and bound {bound}"
        found.append(Violation(rule="termination", where="termination", detail=detail))
    if result.gap != relative_gap(value, bound):
        detail = f"said {result.gap}; it is {relative_gap(value, bound)}"
        found.append(Violation(rule="gap", where="gap", detail=detail))
    return found
