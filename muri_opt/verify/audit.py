"""Is it true? The whole check of a result against its round."""

from __future__ import annotations

from muri_opt.errors import InputError
from muri_opt.rounds import Agreement, Certificate, Decision, Evidence, Proof, Reason, Result, Round, Violation
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.bound_rules import bound_breaches, proof_of, undecided
from muri_opt.verify.change_list import change_list_breaches
from muri_opt.verify.chapter import Chapter
from muri_opt.verify.chapters import chapter_of
from muri_opt.verify.settings import Rules

ENUMERABLE_JOBS = 16
"""Rounds of at most this many jobs are enumerated to confirm a claimed optimum, within a bounded number of steps."""
ENUMERATION_STEPS = 20_000


def decision_value(round_: Round, rules: Rules, decision: Decision) -> int:
    """Return the value of a decision under some rules, recomputed from the round."""
    return chapter_of(round_, rules).value(decision)


def broken_rules(round_: Round, rules: Rules, decision: Decision) -> list[Violation]:
    """Return every rule that a decision breaks; an empty list is a feasible decision."""
    return chapter_of(round_, rules).breaches(decision)


def completed(round_: Round, rules: Rules, decision: Decision) -> Decision:
    """Return the decision with what a policy may leave out: CPUs, the period of a job alone, who waits and why."""
    return chapter_of(round_, rules).completed(decision)


def proved_bound(
    round_: Round, rules: Rules, decision: Decision, evidence: tuple[Evidence, ...]
) -> tuple[int, Proof] | None:
    """Return the best bound that can be proved here in exact integers, and by what; ``None`` where nothing can."""
    prices = [item for item in evidence if not isinstance(item, Agreement)]
    return chapter_of(round_, rules).bound(decision, prices)


def enumerable_optimum(round_: Round, rules: Rules) -> int | None:
    """Return the optimum of a round that is small enough to go through all its decisions, else ``None``.

    Jobs that are not to be decided do not count: without them the round has the same optimum.
    """
    chapter = chapter_of(round_, rules)
    return None if chapter.undecided > ENUMERABLE_JOBS else _enumerated(chapter)


@recalled
def _enumerated(chapter: Chapter) -> int | None:
    return chapter.optimum(ENUMERATION_STEPS)


def verify(round_: Round, result: Result) -> Certificate:
    """Return what is true of a result: every broken rule, and who proved its bound.

    The proof is found anew and never taken over: ``LinearDuals`` or ``MatchingDuals`` if prices in the evidence prove
    the bound, ``Counting`` if GPUs and quotas alone do, ``Exhaustive`` if enumerating a small round does, ``Agreement``
    if the evidence has two solvers that agree on it. A bound that nothing of this proves breaks the rule ``proof``; a
    bound that is said to be claimed need not be proved. All of it is by the ``rules`` of the result; the name of its
    policy is not looked at.
    """
    return Audit(round_, result.rules).certificate(result)


class Audit:
    """The check of decisions of one round under some rules, and of a result in the end.

    What was found of a decision is kept with it, so that a search which asks on its way does not pay twice: the
    decision must not be changed meanwhile. One audit is one caller's own; :func:`verify` begins a new one.
    """

    def __init__(self, round_: Round, rules: Rules) -> None:
        self.round_, self.rules = round_, rules
        self._breaches: list[tuple[Decision, list[Violation]]] = []
        self._explained: list[Decision] = []
        self._values: list[tuple[Decision, int]] = []
        self._bounds: list[tuple[Decision, tuple[Evidence, ...], tuple[int, Proof] | None]] = []

    @property
    def _chapter(self) -> Chapter:
        return chapter_of(self.round_, self.rules)

    def breaches(self, decision: Decision) -> list[Violation]:
        """Return every rule that a decision breaks."""
        for known, found in self._breaches:
            if known is decision:
                return found
        self._breaches.append((decision, self._chapter.breaches(decision)))
        return self._breaches[-1][1]

    def completed(self, decision: Decision) -> Decision:
        """Return the decision with what may be left out, as :func:`completed` does; what that shows is kept.

        Where it keeps the rules, which do not ask why jobs wait, the reasons that it tells were found here.
        """
        whole, kept = self._chapter.completed_and_checked(decision)
        if kept:
            self._breaches.append((whole, []))
            self._explained.append(whole)
        return whole

    def value(self, decision: Decision) -> int:
        """Return the value of a decision."""
        for known, value in self._values:
            if known is decision:
                return value
        self._values.append((decision, self._chapter.value(decision)))
        return self._values[-1][1]

    def bound(self, decision: Decision, evidence: tuple[Evidence, ...]) -> tuple[int, Proof] | None:
        """Return the best bound that can be proved, and by what."""
        for known, by, bound in self._bounds:
            if known is decision and by is evidence:
                return bound
        self._bounds.append((decision, evidence, proved_bound(self.round_, self.rules, decision, evidence)))
        return self._bounds[-1][2]

    def quick_bound(self, decision: Decision, evidence: tuple[Evidence, ...]) -> None:
        """Let the bound of a decision by this evidence be what prices prove, where more would take much longer."""
        prices = [item for item in evidence if not isinstance(item, Agreement)]
        self._bounds.append((decision, evidence, self._chapter.quick_bound(decision, prices)))

    def certificate(self, result: Result, *, seek_bound: bool = True) -> Certificate:
        """Return what is true of a result under the rules of the audit.

        Where the result has no bound, ``seek_bound`` says whether one is looked for all the same.
        """
        decision, chapter = result.decision, self._chapter
        found = [*_header(self.round_, result)]
        if decision is None:
            return undecided(result, found)
        broken = self.breaches(decision)
        explained = any(known is decision for known in self._explained)
        found += broken if broken or explained else chapter.reason_breaches(decision)
        found += change_list_breaches(self.round_, result, decision)
        value = self.value(decision)
        if result.value != value:
            found.append(Violation(rule="value", where="value", detail=f"said {result.value}; it is {value}"))
        known: tuple[int, Proof] | None = None
        try:
            if seek_bound or result.bound is not None or result.certificate.evidence:
                known = self.bound(decision, result.certificate.evidence)
        except InputError as error:
            detail = f"found {error.found}; allowed: {error.allowed}"
            found.append(Violation(rule="evidence", where=error.field, detail=detail))
        tightest = result.bound if result.claimed_bound is None else result.claimed_bound
        if tightest is not None and (known is None or known[0] > tightest):
            optimum = enumerable_optimum(self.round_, self.rules)
            known = known if optimum is None else (optimum, Proof.EXHAUSTIVE)
        proof = proof_of(result, value, known)
        found += bound_breaches(result, value, known, proof)
        return Certificate(
            feasible=not found,
            violations=tuple(found),
            proof=proof,
            checked_bound=None if known is None else known[0],
            evidence=result.certificate.evidence,
        )


def _header(round_: Round, result: Result) -> list[Violation]:
    found = []
    if result.fingerprint != round_.fingerprint:
        detail = f"the result is for {result.fingerprint}, the round is {round_.fingerprint}"
        found.append(Violation(rule="fingerprint", where="fingerprint", detail=detail))
    decided = result.termination.reason in (Reason.OPTIMAL, Reason.FEASIBLE)
    if decided != (result.decision is not None):
        detail = f"{result.termination.reason} {'without' if decided else 'with'} a decision"
        found.append(Violation(rule="termination", where="termination", detail=detail))
    return found
