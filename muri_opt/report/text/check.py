"""What a check of a result found, as text."""

from __future__ import annotations

from muri_opt.report.format import integer, printable
from muri_opt.report.text.proof_sentence import proof_sentence
from muri_opt.report.text.result import header, labelled, termination_text, violation_lines
from muri_opt.rounds import Certificate, Result, Round

_HEADER = "that the result is for this round and its termination fits"
_DECISION = (
    "every job once, whole gangs on known nodes",
    "GPUs, CPUs and memory of every node, quotas of every tenant",
    "the reason of every waiting job",
    "value, bound and gap",
)


def check_text(round_: Round, result: Result, certificate: Certificate) -> str:
    """Return what was checked, every violation, and what is proved."""
    pairs = [("result", f"policy {printable(result.policy)}, method {printable(result.method)}")]
    pairs.append(("termination", termination_text(result.termination)))
    pairs.append(("checked", _HEADER))
    if result.decision is not None:
        pairs += [("", line) for line in _DECISION]
    lines = [header(round_), *labelled(pairs)]
    if certificate.violations:
        lines += ["", *violation_lines(certificate.violations)]
        lines += ["", "a rule that needs another to hold is checked only where that one does"]
    elif result.decision is None:
        lines += labelled([("violations", "none; there is no decision to check")])
    else:
        value = f"{integer(result.value)}, recomputed from the round"
        lines += labelled([("violations", "none"), ("value", value), ("proof", proof_sentence(result, certificate))])
        lines += _said_otherwise(result, certificate)
    return "\n".join(lines) + "\n"


def _said_otherwise(result: Result, certificate: Certificate) -> list[str]:
    said, found = result.certificate.proof, certificate.proof
    told, seen = ("none" if proof is None else proof.words for proof in (said, found))
    return [] if said == found else labelled([("", f"(the result itself says {told}; found here: {seen})")])
