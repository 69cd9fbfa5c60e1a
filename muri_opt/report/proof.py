"""Who proved what, in one sentence that never claims more than was checked."""

from __future__ import annotations

from collections.abc import Callable

from muri_opt.report.labels import count, integer, printable
from muri_opt.solution import Agreement, Certificate, Proof, Result

Sentence = Callable[[Result, Certificate], str]


def proof_sentence(result: Result, certificate: Certificate) -> str:
    """Return what is known of the bound of ``result`` by a ``certificate``, its own or a fresh one."""
    if certificate.violations:
        return f"nothing is proved: the check found {count(len(certificate.violations), 'violation')}"
    if result.decision is None:
        return "nothing to prove: there is no decision"
    if result.bound is None or certificate.proof is None:
        return "no bound: the decision keeps every rule, checked here; how good it is, nobody has shown"
    said = _BOUND[certificate.proof](result, certificate)
    if result.value != result.bound:
        return said
    sure = certificate.proof not in (Proof.AGREEMENT, Proof.CLAIM_ONLY)
    return f"{said}; no decision is better" if sure else f"{said}; if that is right, no decision is better"


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
    return f"bound {integer(result.bound)}: {_who(result, certificate)} agree, not checked here"


def _claim(result: Result, certificate: Certificate) -> str:
    said = f"bound {integer(result.bound)}, claimed by {_who(result, certificate)}, not checked"
    checked = certificate.checked_bound
    return said if checked is None else f"{said} (checked here: at most {integer(checked)})"


_BOUND: dict[Proof, Sentence] = {
    Proof.LINEAR_DUALS: _checked_here("from linear duals, in exact integers"),
    Proof.MATCHING_DUALS: _checked_here("from matching duals, in exact integers"),
    Proof.COUNTING: _checked_here("by counting GPUs and quotas"),
    Proof.EXHAUSTIVE: _exhaustive,
    Proof.AGREEMENT: _agreement,
    Proof.CLAIM_ONLY: _claim,
}


def _who(result: Result, certificate: Certificate) -> str:
    for item in certificate.evidence:
        if isinstance(item, Agreement) and item.backends:
            return printable(" and ".join(item.backends))
    return printable(result.stats.backend or "the result itself")
