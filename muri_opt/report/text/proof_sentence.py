"""Who proved what, in one sentence that never claims more than was checked."""

from __future__ import annotations

from collections.abc import Callable

from muri_opt.report.format import count, integer, printable
from muri_opt.rounds import Agreement, Certificate, Proof, Result

Sentence = Callable[[Result, Certificate], str]


def proof_sentence(result: Result, certificate: Certificate) -> str:
    """Return what is known of the bound of ``result`` by a ``certificate``, its own or a fresh one."""
    if certificate.violations:
        return f"nothing is proved: the check found {count(len(certificate.violations), 'violation')}"
    if result.decision is None:
        return "nothing to prove: there is no decision"
    if certificate.proof is None:
        return "no bound: the decision keeps every rule, checked here; how good it is, nobody has shown"
    claim_only = certificate.proof is Proof.CLAIM_ONLY
    said = "no bound is proved" if claim_only else _BOUND[certificate.proof](result, certificate)
    if result.claimed_bound is not None:
        said += f"; {claim_sentence(result)}"
    if result.value not in (result.bound, result.claimed_bound):
        return said
    sure = certificate.proof not in (Proof.AGREEMENT, Proof.CLAIM_ONLY) and result.value == result.bound
    return f"{said}; no decision is better" if sure else f"{said}; if that is right, no decision is better"


def claim_sentence(result: Result) -> str:
    """Return whose word a claimed bound is."""
    who = printable(result.stats.backend or "a solver")
    return f"{who} alone claims {integer(result.claimed_bound)}, not checked"


def _checked_here(how: str) -> Sentence:
    """Return the sentence for a bound of the result, and for the one checked here where that is better still."""

    def sentence(result: Result, certificate: Certificate) -> str:
        bound = integer(result.bound)
        if certificate.checked_bound not in (None, result.bound):
            bound += f" and even {integer(certificate.checked_bound)}"
        return f"bound {bound}, checked here {how}"

    return sentence


def _exhaustive(result: Result, certificate: Certificate) -> str:
    if certificate.checked_bound != result.bound:
        optimum = integer(certificate.checked_bound)
        return f"bound {integer(result.bound)}, confirmed by enumeration: the optimum is {optimum}"
    return f"bound {integer(result.bound)}, confirmed by enumeration of all decisions"


def _agreement(result: Result, certificate: Certificate) -> str:
    return f"bound {integer(result.bound)}: {_who(certificate)} agree, not checked here"


_BOUND: dict[Proof, Sentence] = {
    Proof.LINEAR_DUALS: _checked_here("from dual values, in exact integers"),
    Proof.MATCHING_DUALS: _checked_here("from dual values of a matching, in exact integers"),
    Proof.COUNTING: _checked_here("by counting GPUs and quotas"),
    Proof.EXHAUSTIVE: _exhaustive,
    Proof.AGREEMENT: _agreement,
}


def _who(certificate: Certificate) -> str:
    for item in certificate.evidence:
        if isinstance(item, Agreement) and item.backends:
            return printable(" and ".join(item.backends))
    return "solvers that are not named"
