"""Two decisions of a round side by side: what differs, and what each difference is worth."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from muri_opt.errors import InputError, RefusalError
from muri_opt.rounds import Decision, Limits, Proof, Result, Round
from muri_opt.solve.round import solve_round
from muri_opt.studies.explain.decision_changes import Comparison, compare_decisions
from muri_opt.systems import Policy, policy_from
from muri_opt.verify import verify

HEURISTIC = "heuristic"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundGap(Comparison):
    """Two results of one round, mostly those of a heuristic and of the exact program, and all that differs."""

    first: Result
    second: Result
    total_gpus: int

    @property
    def proved(self) -> bool:
        """Whether the second result is known to be the best: its value is a bound that was checked here."""
        checked = self.second.certificate.proof not in (None, Proof.AGREEMENT, Proof.CLAIM_ONLY)
        return checked and self.second.bound == self.values[1]

    @property
    def names(self) -> tuple[str, str]:
        """What to call the two decisions."""
        if self.first.method != HEURISTIC or self.second.method == HEURISTIC:
            return "first", "second"
        return HEURISTIC, "optimum" if self.proved else "best known"

    @property
    def decisions(self) -> tuple[Decision, Decision]:
        """The two decisions."""
        return _decision(self.first, "first"), _decision(self.second, "second")

    @property
    def used_gpus(self) -> tuple[int, int]:
        """The GPUs in use in each decision."""
        first, second = (sum(sum(one.gpus.values()) for one in decision.assignments) for decision in self.decisions)
        return first, second


def explain_gap(round_: Round, policy: str | Policy, *, method: str = "auto", limits: Limits | None = None) -> RoundGap:
    """Return how the policy's heuristic differs from its exact program in a round, and what each difference costs.

    ``method`` is that of the exact program: ``auto``, ``exact`` or ``exact@<backend>``. Both decisions are verified.
    Where the time is too short for a proof, the second decision is the best that is known.
    """
    if method.partition("@")[0] == HEURISTIC:
        raise InputError("method", repr(method), "auto, exact or exact@<backend>: the other side is the heuristic")
    chosen = policy_from(policy)
    second = solve_round(round_, chosen, method, limits)
    if second.decision is None:
        found = f"no decision by {method}: {second.termination.detail}"
        raise RefusalError("gap", found, "more seconds, or the method auto")
    return _compared(round_, solve_round(round_, chosen, HEURISTIC, limits), second)


def compare_results(round_: Round, first: Result, second: Result) -> RoundGap:
    """Return how two results of a round under the same rules differ; both are verified, or refused."""
    if first.rules != second.rules:
        raise InputError("second.rules", repr(second.rules), f"{first.rules!r}, the rules of the first")
    return _compared(round_, _checked(round_, first, "first"), _checked(round_, second, "second"))


def _checked(round_: Round, result: Result, name: str) -> Result:
    if result.fingerprint != round_.fingerprint:
        raise InputError(f"{name}.fingerprint", result.fingerprint, f"{round_.fingerprint}, that of the round")
    _decision(result, name)
    certificate = verify(round_, result)
    if certificate.violations:
        broken = certificate.violations[0]
        raise InputError(f"{name}.{broken.where}", f"{broken.rule}: {broken.detail}", "a result that passes its check")
    return replace(result, certificate=certificate)


def _compared(round_: Round, first: Result, second: Result) -> RoundGap:
    found = compare_decisions(round_, first.rules, _decision(first, "first"), _decision(second, "second"))
    return RoundGap(
        first=first,
        second=second,
        total_gpus=round_.cluster.total_gpus,
        values=found.values,
        differences=found.differences,
        changes=found.changes,
        same=found.same,
        moved=found.moved,
    )


def _decision(result: Result, name: str) -> Decision:
    if result.decision is None:
        raise InputError(f"{name}.decision", f"none ({result.termination.reason})", "a result with a decision")
    return result.decision
