"""Answers that say more than is proved: OPTIMAL, or a gap of 0, without a checked bound or two solvers who agree."""

import re

import msgspec

from muri_opt import Reason, Result
from muri_opt.rounds import Agreement, Proof

_OUTCOME = re.compile(
    r"^value        (?P<value>-?\d+).*\n"
    r"bound        (?P<bound>-?\d+|none)\n"
    r"gap          (?P<gap>.*)\n"
    r"(?:claimed      .*\n)?"
    r"termination  (?P<reason>[A-Z_]+).*\n"
    r"proof        (?P<proof>.*)$",
    flags=re.MULTILINE,
)
_SURE = ("checked here", "confirmed by enumeration")


def overstated(text):
    """Return what is overstated in the outcomes that a command printed, as text for people or as JSON."""
    told = [_of_text(found) for found in _OUTCOME.finditer(text)]
    return [why for why in [*told, *_of_json(text)] if why]


def overstated_result(result: Result):
    """Return what a result overstates, or nothing."""
    certificate = result.certificate
    if result.bound is not None and certificate.proof in (None, Proof.CLAIM_ONLY):
        return f"bound {result.bound} by {certificate.proof}"
    if result.termination.reason is not Reason.OPTIMAL:
        return ""
    agreed = any(isinstance(item, Agreement) and item.independent for item in certificate.evidence)
    proved = agreed if certificate.proof is Proof.AGREEMENT else certificate.checked_bound == result.value
    return "" if proved and result.value == result.bound else f"OPTIMAL by {certificate.proof}"


def _of_text(found):
    said = found.group()
    if found["reason"] != "OPTIMAL" and found["gap"] != "0 %":
        return ""
    proved = any(words in found["proof"] for words in _SURE) or " agree, " in found["proof"]
    alone = "claims" in found["proof"]
    return "" if proved and not alone and found["value"] == found["bound"] else said


def _of_json(text):
    """Yield what a file overstates as it is written; reading it as a result would mend it."""
    try:
        yield overstated_result(msgspec.json.decode(text, type=Result))
    except msgspec.MsgspecError:
        return
