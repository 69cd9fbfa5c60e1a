"""What an invariant is, and what its breach says."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial

from muri_opt.errors import RefusalError
from muri_opt.rounds import Decision, Round, Violation, canonical_json, parse_round
from muri_opt.systems import Policy
from muri_opt.testing.allocators import Allocator, MutationError, NoAnswerError, RefusedError, TooLateError, answer
from muri_opt.testing.aspects import Aspect
from muri_opt.testing.rules_and_value import PLAIN, Judge

SECONDS = 5.0
"""How long an allocator may take for one small round, unless told."""


class Tier(StrEnum):
    """How much is asked: safety of every allocator, rationality of those that promise it, fairness in numbers.

    >>> [tier.value for tier in Tier]
    ['safety', 'rationality', 'fairness']
    """

    SAFETY = "safety"
    RATIONALITY = "rationality"
    FAIRNESS = "fairness"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """How far a decision is from an invariant, and the same in words; an amount of 0 is no fault.

    >>> Finding(amount=1.0, detail="node 'n0' has 3 of 2 GPUs").amount
    1.0
    """

    amount: float
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """One invariant that an allocator does not keep on one round: by how much, and in words.

    >>> Breach(invariant="capacity", tier=Tier.SAFETY, amount=1.0, detail="node 'n0' has 3 of 2 GPUs").tier
    <Tier.SAFETY: 'safety'>
    """

    invariant: str
    tier: Tier
    amount: float
    detail: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.detail}"


@dataclass(slots=True, kw_only=True)
class Case:
    """One allocator on one round: its decisions, each asked for once, and the rules they are judged by.

    Invariants of one case share its decisions, so that each further invariant costs only what it asks for anew.

    >>> from muri_opt.testing.rules_and_value import PLAIN
    >>> case = Case(allocator=published("fifo"), round_=shipped_round("toy/two-gangs"), judge=PLAIN)
    >>> sorted(case.decision().running)
    ['job-0', 'job-2']
    """

    allocator: Allocator
    round_: Round
    judge: Judge
    seconds: float | None = SECONDS
    mutated: str | None = None
    timed_out: bool = False
    refused: str | None = None
    unjudged: RefusalError | None = None
    _known: dict[str, Decision] = field(default_factory=dict)
    _breaches: dict[str, list[Violation]] = field(default_factory=dict)

    def decision(self, round_: Round | None = None) -> Decision:
        """Return the decision of the round, or of another one; kept, so that it is asked for once."""
        asked = self.round_ if round_ is None else round_
        key = asked.fingerprint
        if key not in self._known:
            self._known[key] = self.again(asked)
        return self._known[key]

    def again(self, round_: Round) -> Decision:
        """Return the decision of a round, asked for anew; the allocator gets a copy of the round."""
        text = canonical_json(round_)
        copy = parse_round(text)
        try:
            found = answer(self.allocator, copy, self.seconds)
        except MutationError as error:
            self.mutated = str(error)
            raise NoAnswerError(f"changed what it was given: {error}") from error
        except TooLateError:
            self.timed_out = True
            raise
        except RefusedError as error:
            self.refused = str(error)
            raise
        if canonical_json(copy) != text:  # the text that fingerprints are made of
            self.mutated = "the round it was given has another fingerprint after the call"
        return found

    def value(self, round_: Round, decision: Decision) -> float:
        """Return what a decision is worth in a round."""
        return self.judge.value(round_, decision)

    def breaches(self, round_: Round | None = None) -> list[Violation]:
        """Return every rule that the decision of the round, or of another one, breaks; found once."""
        asked = self.round_ if round_ is None else round_
        key = asked.fingerprint
        if key not in self._breaches:
            decision = self.decision(asked)
            try:
                self._breaches[key] = self.judge.breaches(asked, decision)
            except RefusalError as error:
                self.unjudged = error
                raise RefusedError(f"the rules that judge it refuse the round: {error}") from error
        return self._breaches[key]

    def sound(self, round_: Round | None = None) -> bool:
        """Return whether the decision breaks no rule; where it does, only safety has something to say of it."""
        return not self.breaches(round_)


Test = Callable[[Case], Finding | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Invariant:
    """Something that an allocator keeps on every round. ``text`` says what; ``most`` is how much is still no breach.

    ``judge`` says by which rules, and what a decision is worth; ``aspects`` what a round must have to put it to the
    test. An invariant with ``fields`` of format 2 says something only of rounds that use one of them.

    >>> INVARIANTS["capacity"].tier
    <Tier.SAFETY: 'safety'>
    """

    name: str
    tier: Tier
    text: str
    test: Test
    most: float = 0.0
    judge: Judge = PLAIN
    aspects: tuple[Aspect, ...] = ()
    fields: frozenset[str] = frozenset()

    def under(self, policy: str | Policy) -> Invariant:
        """Return the same invariant by the rules and the value of a policy."""
        return replace(self, judge=Judge(policy=policy, worth=self.judge.worth))

    def worth(self, value: Callable[[Round, Decision], float]) -> Invariant:
        """Return the same invariant with another value of decisions; more is better."""
        return replace(self, judge=Judge(policy=self.judge.policy, worth=value))

    def allowing(self, most: float) -> Invariant:
        """Return the same invariant, of which a breach is only what is larger than ``most``."""
        return replace(self, most=most)

    def speaks_of(self, used: Set[str]) -> bool:
        """Return whether it says something of rounds that use these fields of format 2."""
        return not self.fields or not self.fields.isdisjoint(used)

    def has_limits(self, without: Set[str]) -> bool:
        """Return whether it says something of rounds without these limits."""
        return not self.aspects or any(not one.limits or not one.limits <= without for one in self.aspects)

    def check(self, allocator: Allocator, round_: Round, *, seconds: float | None = SECONDS) -> Breach | None:
        """Return how the allocator breaks the invariant on a round, or ``None`` where it does not."""
        return self.checked(Case(allocator=allocator, round_=round_, judge=self.judge, seconds=seconds))

    def checked(self, case: Case) -> Breach | None:
        """Return the breach of a case whose decisions other invariants may have asked for already."""
        found = self.measured(case)
        if found is None or found.amount <= self.most:
            return None
        return self.breach(found)

    def breach(self, found: Finding) -> Breach:
        """Return what was found as a breach of this invariant."""
        return Breach(invariant=self.name, tier=self.tier, amount=found.amount, detail=found.detail)

    def measured(self, case: Case) -> Finding | None:
        """Return what was found, breach or not; no answer is a finding beyond every limit, a refusal is none."""
        try:
            return self.test(case)
        except RefusedError:
            return None
        except NoAnswerError as error:
            return Finding(amount=float("inf"), detail=f"no answer: {error}")


def invariant(
    name: str, tier: Tier, *, most: float = 0.0, aspects: tuple[Aspect, ...] = ()
) -> Callable[[Test], Invariant]:
    """Return a decorator that makes a test an invariant; its docstring is what the invariant says.

    >>> few = invariant("few-jobs", Tier.RATIONALITY, most=2)
    >>> few(lambda case: Finding(amount=len(case.decision().running), detail="jobs that run")).name
    'few-jobs'
    """
    return partial(_made, name, tier, most, aspects)


def _made(name: str, tier: Tier, most: float, aspects: tuple[Aspect, ...], test: Test) -> Invariant:
    text = " ".join((test.__doc__ or "").split())
    return Invariant(name=name, tier=tier, text=text, test=test, most=most, aspects=aspects)
