"""Doing better: an answer replaces what is known only where it is better, and only after verification."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import msgspec

import muri_opt
from muri_opt.rounds import Agreement, Evidence, Limits, LinearDuals, MatchingDuals, Proof, Result, Round, Violation
from muri_opt.solve.round import solve_round
from muri_opt.studies.library.best import Optimum
from muri_opt.studies.library.check import check_optimum
from muri_opt.studies.library.instance import Instance
from muri_opt.studies.library.stored_decision import StoredDecision
from muri_opt.verify import proved_bound

_EVIDENCE: Final[Mapping[Proof | None, type[Evidence]]] = {
    Proof.LINEAR_DUALS: LinearDuals,
    Proof.MATCHING_DUALS: MatchingDuals,
    Proof.AGREEMENT: Agreement,
}
"""What a proof follows from; the others need the round alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What became of an offer: what is known before and after it, and what is wrong if it was refused for a fault."""

    instance: str
    before: Optimum
    after: Optimum
    violations: tuple[Violation, ...] = ()

    @property
    def better(self) -> bool:
        """Whether more is known now."""
        return self.after != self.before

    def lines(self) -> list[str]:
        """Return a line per fault that names the instance."""
        name = f"{self.instance}, {self.before.policy}"
        return [f"{name}: {one.rule} ({one.where}): {one.detail}" for one in self.violations]


def solved(round_: Round, policy: str, limits: Limits) -> Result:
    """Return the best answer within the limits."""
    return solve_round(round_, policy, "auto", limits)


def optimum_of(round_: Round, result: Result, today: datetime.date) -> Optimum | None:
    """Return what a result says of a round, or ``None`` where it has no decision.

    A claim is no bound, and an agreement is stored only of an optimum: its solvers can be asked again.
    """
    if result.decision is None or result.value is None:
        return None
    bound, proof, evidence = result.bound, result.certificate.proof, result.certificate.evidence
    if proof is Proof.CLAIM_ONLY or (proof is Proof.AGREEMENT and bound != result.value):
        known = proved_bound(round_, result.rules, result.decision, evidence)
        bound, proof = (None, None) if known is None else known
    return Optimum(
        policy=result.policy,
        value=result.value,
        bound=bound,
        proof=proof,
        method=result.method,
        how=_told(result),
        date=today,
        version=muri_opt.__version__,
        decision=StoredDecision.of(result.decision),
        evidence=tuple(item for item in evidence if isinstance(item, _EVIDENCE.get(proof, ()))),
    )


def _told(result: Result) -> str:
    """Return who found the answer, and in whose words it ended."""
    agreed = [item.backends for item in result.certificate.evidence if isinstance(item, Agreement)]
    backends = agreed[0] if agreed else () if result.stats.backend is None else (result.stats.backend,)
    return ": ".join(filter(None, (" and ".join(backends), result.termination.detail)))


def combined(old: Optimum, new: Optimum) -> Optimum:
    """Return the better value with the better bound; ``old`` itself where ``new`` adds nothing."""
    better_value, better_bound = new.value > old.value, _proves_more(new, old)
    if not better_value and not better_bound:
        return old
    by_value, by_bound = new if better_value else old, new if better_bound else old
    return msgspec.structs.replace(
        new,
        value=by_value.value,
        decision=by_value.decision,
        bound=by_bound.bound,
        proof=by_bound.proof,
        evidence=by_bound.evidence,
    )


def offer(instance: Instance, result: Result, today: datetime.date) -> Change:
    """Return what the library makes of a result for one of its optima, and save it if it is better.

    The answer that would be stored is checked as a stored one is. Where the check finds a fault, or the optimum that is
    stored does not hold itself, nothing is changed and the faults are told.
    """
    round_, fingerprint = instance.round(), instance.best.fingerprint
    before = instance.optimum(result.policy)
    _, faults = check_optimum(round_, fingerprint, before)
    new = optimum_of(round_, result, today)
    after = before if new is None else combined(before, new)
    if not faults and after != before:
        _, faults = check_optimum(round_, fingerprint, after)
    if faults:
        return Change(instance=instance.name, before=before, after=before, violations=tuple(faults))
    if after != before:
        instance.save(instance.best.with_optimum(after))
    return Change(instance=instance.name, before=before, after=after)


def refresh(instance: Instance, policy: str | None, limits: Limits, today: datetime.date) -> list[Change]:
    """Return what solving again changes for each optimum of the instance that is open or only agreed upon."""
    changes = []
    current = instance
    for optimum in instance.optima(policy):
        if optimum.proved and optimum.proof is not Proof.AGREEMENT:
            continue
        change = offer(current, solved(instance.round(), optimum.policy, limits), today)
        current = replace(current, best=current.best.with_optimum(change.after))
        changes.append(change)
    return changes


def _proves_more(new: Optimum, old: Optimum) -> bool:
    if new.bound is None:
        return False
    if old.bound is None or new.bound < old.bound:
        return True
    return new.bound == old.bound and old.proof is Proof.AGREEMENT and new.proof is not Proof.AGREEMENT
