"""How good are somebody's answers? Each is verified and held against the best that is known of its round.

Rules and values are the verifier's own: what a file says of itself is compared, never taken over. Why jobs wait is not
judged, so that an answer need not say it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final

from muri_opt.errors import InputError, unknown_name
from muri_opt.rounds import Decision, Proof, Round, Violation, relative_gap
from muri_opt.studies.library.answers import Answer
from muri_opt.studies.library.best import Optimum
from muri_opt.studies.library.instance import Instance
from muri_opt.systems import POLICIES, policy_from
from muri_opt.verify import broken_rules, completed, decision_value, proved_bound

_UNSTORED: Final = "the library has no value of it under this policy"


class Verdict(StrEnum):
    """What an answer is beside the best that is known."""

    BETTER = "better"
    OPTIMAL = "optimal"
    EQUAL = "equal"
    WORSE = "worse"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One answer, judged: its value as the verifier counts it, or why it is refused.

    ``known`` is what the library has. ``bound`` is a bound that the evidence of the answer proves, where it is better
    than the one that is known.
    """

    contestant: str
    file: str
    instance: str
    policy: str
    verdict: Verdict
    known: Optimum
    value: int | None = None
    bound: int | None = None
    proof: Proof | None = None
    violations: tuple[Violation, ...] = ()

    @property
    def case(self) -> tuple[str, str]:
        """The round and policy that were answered."""
        return self.instance, self.policy

    @property
    def to_best(self) -> float | None:
        """How far the value is from the best that is known, as a part of itself; ``None`` where it is refused."""
        return None if self.value is None else relative_gap(self.value, max(self.value, self.known.value))

    @property
    def to_bound(self) -> float | None:
        """How far the value is from the bound, as a part of itself; ``None`` without a value or a bound."""
        bound = self.known.bound if self.bound is None else self.bound
        return None if self.value is None or bound is None else relative_gap(self.value, bound)

    @property
    def share(self) -> float:
        """The value as a part of the best that is known; nothing for a refused answer."""
        if self.value is None:
            return 0.0
        return self.value / self.known.value if self.known.value > 0 else float(self.value >= self.known.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One contestant: how many answers of each kind, how many are missing, and the mean share of the best values.

    The mean is over all rounds and policies that any contestant answered; what is refused or missing counts nothing.
    """

    contestant: str
    counts: Mapping[Verdict, int]
    missing: int
    score: float


def judge(contestant: str, answer: Answer, instances: Mapping[str, Instance]) -> Judged:
    """Return what an answer is worth; ``instances`` are by name and fingerprint, as :func:`by_round` returns them.

    An answer to a round that the library does not have, or under a policy of which it has no value, is an
    :class:`InputError`.
    """
    instance = instances.get(answer.round_)
    if instance is None:
        raise InputError(f"{answer.file}: round", answer.round_, "a round of the library, by name or fingerprint")
    name = answer.policy.partition(":")[0]
    if name not in POLICIES:  # a file must not say what is imported, as module:attribute would
        raise unknown_name(f"{answer.file}: policy", name, POLICIES)
    policy = policy_from(answer.policy).spec
    known = {one.policy: one for one in instance.best.optima}
    if policy not in known:
        raise InputError(f"{answer.file}: policy of {instance.name}", f"{policy!r}: {_UNSTORED}", ", ".join(known))
    return _judged(contestant, answer, instance, known[policy])


def _judged(contestant: str, answer: Answer, instance: Instance, known: Optimum) -> Judged:
    judged = partial(
        Judged, contestant=contestant, file=answer.file, instance=instance.name, policy=known.policy, known=known
    )
    round_, rules = instance.round(), policy_from(known.policy).rules
    decision, faults = _checked(round_, rules, answer)
    if decision is None or faults:
        return judged(verdict=Verdict.REFUSED, violations=tuple(faults))
    value = decision_value(round_, rules, decision)
    if answer.value is not None and answer.value != value:
        said = Violation(rule="value", where="value", detail=f"said {answer.value}; it is {value}")
        return judged(verdict=Verdict.REFUSED, violations=(said,))
    proved = _better_bound(round_, rules, decision, answer, known)
    bound, proof = (None, None) if proved is None else proved
    return judged(verdict=_verdict(value, known, bound), value=value, bound=bound, proof=proof)


def _checked(round_: Round, rules: Mapping[str, str], answer: Answer) -> tuple[Decision | None, list[Violation]]:
    """Return the decision with what an answer may leave out, and every rule that it breaks."""
    if answer.decision is None:
        return None, [Violation(rule="decision", where="decision", detail="the answer has none")]
    try:
        decision = completed(round_, rules, Decision(assignments=answer.decision.assignments))
        return decision, broken_rules(round_, rules, decision)
    except InputError as error:
        return None, [Violation(rule="round", where=error.field, detail=f"{error.found}; allowed: {error.allowed}")]


def _better_bound(
    round_: Round, rules: Mapping[str, str], decision: Decision, answer: Answer, known: Optimum
) -> tuple[int, Proof] | None:
    """Return a bound that the answer proves, if it is below the one that is known."""
    if not answer.evidence:
        return None
    try:
        found = proved_bound(round_, rules, decision, answer.evidence)
    except InputError:
        return None  # evidence that does not fit proves nothing; the decision stands for itself
    return None if found is None or (known.bound is not None and found[0] >= known.bound) else found


def _verdict(value: int, known: Optimum, bound: int | None) -> Verdict:
    if value > known.value:
        return Verdict.BETTER
    if value < known.value:
        return Verdict.WORSE
    return Verdict.OPTIMAL if known.proved or value == bound else Verdict.EQUAL


def standings(judged: Iterable[Judged]) -> list[Standing]:
    """Return the contestants, the best first; of equal scores the one with fewer refused, then by name."""
    answers: dict[str, list[Judged]] = {}
    for one in judged:
        answers.setdefault(one.contestant, []).append(one)
    cases = {one.case for own in answers.values() for one in own}
    found = [_standing(name, own, cases) for name, own in answers.items()]
    return sorted(found, key=lambda one: (-one.score, one.counts[Verdict.REFUSED], one.contestant))


def _standing(name: str, own: Sequence[Judged], cases: set[tuple[str, str]]) -> Standing:
    best: dict[tuple[str, str], float] = {}
    for one in own:
        best[one.case] = max(best.get(one.case, 0.0), one.share)
    counts = {verdict: sum(one.verdict is verdict for one in own) for verdict in Verdict}
    score = sum(best.values()) / max(1, len(cases))
    return Standing(contestant=name, counts=counts, missing=len(cases) - len(best), score=score)
