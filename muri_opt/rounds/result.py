"""The answer to one round, as an object and as JSON."""

from __future__ import annotations

from typing import Literal

import msgspec

from muri_opt.errors import InputError, NoAnswer
from muri_opt.rounds.certificate import Certificate, Proof
from muri_opt.rounds.decision import Decision
from muri_opt.rounds.job_changes import Changes
from muri_opt.rounds.limits import relative_gap
from muri_opt.rounds.long_numbers import decoded, long_numbers
from muri_opt.rounds.termination import Limit, Reason, Termination

RESULT_FORMAT: Literal["muri-opt/result/2"] = "muri-opt/result/2"


class Stats(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the time went, which backend ran, and how large its model was.

    ``startup_seconds`` went by until modules were imported and a solver process was ready; no limit counts them.
    ``changes_cost`` is what all changes cost in GPU-microseconds: of each running job that is changed its restart times
    the GPUs it holds. No decision of the same value costs less than ``changes_bound``, which above 0 is a solver's
    word; ``None``: that is not known.
    """

    startup_seconds: float = 0.0
    build_seconds: float = 0.0
    solve_seconds: float = 0.0
    verify_seconds: float = 0.0
    backend: str | None = None
    columns: int = 0
    rows: int = 0
    changes_cost: int | None = None
    changes_bound: int | None = None


class Result(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A decision with its recomputed value, its bound, why the solve stopped, and who proved what.

    ``bound`` and ``gap`` were checked or are those of two solvers that agree, as ``certificate.proof`` says.
    ``claimed_bound`` is a better bound on the word of one solver; it is left out of the JSON where there is none.
    ``rules`` are those it is checked by: a chapter and its settings. Files of format 1 have none; they are read as if
    they had those of their policy. ``changes`` says what is to be done, job by job; files need not have it.

    >>> result = solve_round(shipped_round("toy/two-gangs"), "fifo", "exact")
    >>> result.value, result.bound, result.gap
    (5, 5, 0.0)
    """

    format: Literal["muri-opt/result/2", "muri-opt/result/1"] = RESULT_FORMAT
    fingerprint: str
    policy: str
    rules: dict[str, str] = {}
    method: str
    value: int | None = None
    bound: int | None = None
    gap: float | None = None
    claimed_bound: int | None = None
    value_unit: str = ""
    termination: Termination
    decision: Decision | None = None
    changes: Changes | None = None
    certificate: Certificate
    stats: Stats = Stats()

    def __repr__(self) -> str:
        """Return all fields, whose numbers may be long."""
        with long_numbers():
            return super().__repr__()

    @property
    def answer(self) -> Decision:
        """The decision; where there is none, :class:`~muri_opt.NoAnswer` says why.

        >>> len(solve_round(shipped_round("toy/two-gangs"), "fifo", "heuristic").answer.assignments)
        2
        """
        if self.decision is None:
            raise NoAnswer(f"{self.termination.reason}: {self.termination.detail}")
        return self.decision


def result_json(result: Result) -> str:
    """Return the result as indented JSON text.

    >>> "muri-opt/result/2" in result_json(solve_round(shipped_round("toy/two-gangs"), "fifo", "heuristic"))
    True
    """
    content = msgspec.to_builtins(result)
    for field in ("claimed_bound", "changes"):
        if content[field] is None:
            del content[field]
    with long_numbers():
        return msgspec.json.format(msgspec.json.encode(content), indent=1).decode()


def decode_result(text: bytes | str) -> Result:
    """Return the result that the JSON ``text`` holds; every fault is one :class:`InputError`.

    Files from before claims were kept apart have them as ``bound``: what the file's own certificate does not prove is
    read as a claim.
    """
    try:
        return _with_claim_apart(decoded(text, Result))
    except msgspec.ValidationError as error:
        from muri_opt.rounds.decode_errors import wrong_value  # for a bad file only

        raise wrong_value(error, text.encode() if isinstance(text, str) else text, Result, name="result") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise InputError("result", str(error) or type(error).__name__, "a result of muri-opt solve --json") from None


def _with_claim_apart(result: Result) -> Result:
    """Return the result with a bound that is nobody's proof as its claimed bound, and no stronger termination."""
    certificate, said = result.certificate, result.termination
    if result.bound is None or result.claimed_bound is not None or certificate.proof not in (None, Proof.CLAIM_ONLY):
        return result
    if said.reason is Reason.OPTIMAL:
        said = Termination(reason=Reason.FEASIBLE, limit=Limit.CLAIM, detail=said.detail)
    checked = certificate.checked_bound
    return msgspec.structs.replace(
        result,
        bound=checked,
        gap=None if result.value is None or checked is None else relative_gap(result.value, checked),
        claimed_bound=result.bound,
        termination=said,
    )
