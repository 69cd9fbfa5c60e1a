"""Does a stored optimum hold? Checked from its file by the verifier; solvers that agreed may be asked again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from muri_opt.errors import InputError
from muri_opt.rounds import Agreement, Limits, Proof, Round, Violation
from muri_opt.solve.round import solve_round
from muri_opt.solve.solvers import BACKENDS
from muri_opt.studies.library.best import Optimum
from muri_opt.studies.library.instance import Instance
from muri_opt.systems import policy_from
from muri_opt.verify import decision_value, verify


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was found of one optimum.

    ``proof`` is who proves the bound now: ``ClaimOnly`` where it stands on the word of two solvers that were not asked
    again, ``None`` where there is no bound.
    """

    instance: str
    policy: str
    proof: Proof | None
    violations: tuple[Violation, ...]

    def lines(self) -> list[str]:
        """Return a line per violation that names the instance."""
        return [f"{self.instance}, {self.policy}: {one.rule} ({one.where}): {one.detail}" for one in self.violations]


def check_instance(instance: Instance, policy: str | None = None, seconds: float | None = None) -> list[Finding]:
    """Return a finding for each optimum of the instance, of one policy if one is named."""
    round_, fingerprint = instance.round(), instance.best.fingerprint
    found = []
    for optimum in instance.optima(policy):
        proof, violations = check_optimum(round_, fingerprint, optimum, seconds)
        found.append(Finding(instance=instance.name, policy=optimum.policy, proof=proof, violations=tuple(violations)))
    return found


def check_optimum(
    round_: Round, fingerprint: str, optimum: Optimum, seconds: float | None = None
) -> tuple[Proof | None, list[Violation]]:
    """Return who proves the bound of a stored optimum, and everything that is wrong with it.

    No solver runs unless ``seconds`` are given: then each of the solvers that agreed has that long to do so again. A
    solver that runs out of time proves nothing and breaks nothing.
    """
    try:
        certificate = verify(round_, optimum.result(fingerprint))
    except InputError as error:
        detail = f"found {error.found}; allowed: {error.allowed}"
        return None, [Violation(rule="round", where=error.field, detail=detail)]
    found = list(certificate.violations)
    if certificate.proof is not Proof.AGREEMENT or found:
        return certificate.proof, found
    if optimum.proof is not Proof.AGREEMENT:
        detail = f"said {optimum.proof}; what is stored does not prove {optimum.bound}, two solvers agree on it"
        return certificate.proof, [Violation(rule="proof", where="bound", detail=detail)]
    found += _faults_of_agreement(round_, optimum)
    if found or seconds is None:
        return Proof.CLAIM_ONLY, found
    return _asked_again(round_, optimum, seconds)


def _faults_of_agreement(round_: Round, optimum: Optimum) -> Iterator[Violation]:
    """Yield what is wrong with an agreement as it is told, and whether the policy's own algorithm belies it."""
    backends = _backends(optimum)
    if not optimum.proved or len(backends) < 2 or not backends <= set(BACKENDS):
        detail = f"{sorted(backends)} on value {optimum.value} and bound {optimum.bound}"
        yield Violation(rule="proof", where="evidence", detail=f"no agreement of two solvers on an optimum: {detail}")
    policy = policy_from(optimum.policy)
    reached = decision_value(round_, policy.rules, policy.decide(round_, 0))
    if optimum.bound is not None and reached > optimum.bound:
        detail = f"{optimum.bound}; the policy's own algorithm reaches {reached}"
        yield Violation(rule="bound", where="bound", detail=detail)


def _asked_again(round_: Round, optimum: Optimum, seconds: float) -> tuple[Proof, list[Violation]]:
    found, agreed = [], 0
    for backend in sorted(_backends(optimum)):
        result = solve_round(round_, optimum.policy, f"exact@{backend}", Limits(seconds=seconds))
        ended = result.value is not None and result.value in (result.bound, result.claimed_bound)
        if result.value is not None and (result.value > optimum.value or (ended and result.value != optimum.value)):
            detail = f"{optimum.value} is no optimum: {backend} finds {result.value} ({result.termination.reason})"
            found.append(Violation(rule="bound", where="bound", detail=detail))
        agreed += ended
    return Proof.AGREEMENT if agreed > 1 else Proof.CLAIM_ONLY, found


def _backends(optimum: Optimum) -> set[str]:
    return {name for item in optimum.evidence if isinstance(item, Agreement) for name in item.backends}
