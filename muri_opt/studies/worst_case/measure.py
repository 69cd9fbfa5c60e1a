"""What a search for bad rounds maximises: how far an algorithm is from an optimum that is proved."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final

from muri_opt.errors import InputError, RefusalError, unknown_name
from muri_opt.rounds import Limits, Proof, Reason, Result, Round
from muri_opt.solve.round import solve_round
from muri_opt.studies.explain.elastic_gap import MOST_JOBS
from muri_opt.studies.explain.followed_rule import follow_rule, followed_policy
from muri_opt.studies.library import CompletionGap, Gap, ValueGap, decided_value, solved
from muri_opt.studies.library.gaps import OrderPrices, SharesHeld
from muri_opt.studies.runner.policy_code import from_elsewhere
from muri_opt.systems import Policy, admit, has_program, policy_from
from muri_opt.systems.afs.optimum.search import branches_in, elastic_optimum
from muri_opt.verify.certificates.elastic_case import elastic_case
from muri_opt.verify.certificates.elastic_optimum import check_elastic_optimum, total_completion

LIMITS: Final = Limits(seconds=10.0)
"""Time to prove the optimum of one candidate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distance:
    """What an algorithm reaches on a round, the optimum, and its proof by name and in words."""

    reached: Fraction
    optimum: Fraction
    gap: Fraction
    proof: str
    how: str


class Measure(ABC):
    """How far a policy's algorithm is from the optimum of a round; more is worse.

    ``raised`` is the first error of a policy from elsewhere: a round on which it fails does not count, and a search
    goes on.
    """

    name: ClassVar[str]
    unit: ClassVar[str]

    def __init__(self, policy: Policy, limits: Limits = LIMITS) -> None:
        self.policy = policy
        self.limits = limits
        self.raised: str | None = None

    def of(self, round_: Round) -> Distance | None:
        """Return the distance on a round; ``None`` where the policy refuses it or its optimum is not proved in time."""
        try:
            admit(self.policy, round_)
            return self._of(round_)
        except InputError:
            return None
        except Exception as error:
            if not from_elsewhere(self.policy):
                raise
            self.raised = self.raised or f"{type(error).__name__}: {error}"
            return None

    @abstractmethod
    def _of(self, round_: Round) -> Distance | None: ...

    @abstractmethod
    def gap(self, round_: Round) -> Gap:
        """Return the gap on a round with its proof, as the library stores it."""

    @abstractmethod
    def result(self, round_: Round) -> Result:
        """Return the answer of the policy's exact program that goes with the gap into the library."""


class ValueMeasure(Measure):
    """The part of the optimal value that the policy's algorithm misses, the program being that of the same policy.

    An optimum counts if the verifier proves it without a solver; the word of one solver, or of two, does not.
    """

    name = "value"
    unit = "of the optimal value is missed"

    def __init__(self, policy: Policy, limits: Limits = LIMITS) -> None:
        super().__init__(policy, limits)
        if not has_program(policy.rules):
            raise RefusalError("policy", repr(policy.spec), "a policy with an exact program to be held against")

    def _of(self, round_: Round) -> Distance | None:
        result = solve_round(round_, self.policy, "auto", self.limits)
        proof = result.certificate.proof
        if result.termination.reason is not Reason.OPTIMAL or proof in (None, Proof.AGREEMENT, Proof.CLAIM_ONLY):
            return None
        optimum = Fraction(result.value or 0)
        if optimum <= 0 or result.certificate.violations:
            return None
        reached = Fraction(decided_value(round_, self.policy))
        gap = (optimum - reached) / optimum
        return Distance(reached=reached, optimum=optimum, gap=gap, proof=str(proof), how=Proof(proof).words)

    def gap(self, round_: Round) -> Gap:
        """Return what algorithm and optimum are worth; the optimum's proof is stored beside it."""
        value = self.result(round_).value
        return ValueGap(policy=self.policy.spec, reached=decided_value(round_, self.policy), optimum=value or 0)

    def result(self, round_: Round) -> Result:
        """Return the optimum of the policy's exact program."""
        return solved(round_, self.policy.spec, self.limits)


class CompletionMeasure(Measure):
    """How much longer jobs take on average, if the rule of an elastic policy decides at every completion.

    The optimum is that of chapter *elastic*: the best schedule with shares that change at any moment.
    """

    name = "completion"
    unit = "more average completion time than the optimum"

    def __init__(self, policy: Policy, limits: Limits = LIMITS) -> None:
        super().__init__(followed_policy(policy), limits)

    def _of(self, round_: Round) -> Distance | None:
        gap = self._proved(round_)
        if gap is None:
            return None
        reached, optimum = Fraction(gap.reached), Fraction(gap.optimum)
        proof = "prices over all finishing orders"
        return Distance(reached=reached, optimum=optimum, gap=gap.relative, proof=proof, how=proof)

    def gap(self, round_: Round) -> Gap:
        """Return the totals of rule and optimum, with the optimal schedule and the prices that prove it."""
        found = self._proved(round_)
        if found is None:
            raise RefusalError("round", "no proved elastic optimum", f"one of at most {MOST_JOBS} jobs, or more time")
        return found

    def _proved(self, round_: Round) -> CompletionGap | None:
        if not 1 <= len(round_.jobs) <= MOST_JOBS:
            return None
        case = elastic_case(round_)
        caps = [len(row) - 1 for row in case.speed]
        limits = self.limits
        branches = None if limits.work is None else branches_in(limits.work, len(caps))
        best = elastic_optimum(case.speed, caps, case.work, case.gpus, seconds=limits.seconds, branches=branches)
        if not best.proved or best.total_completion <= 0:
            return None
        if check_elastic_optimum(case, best.pieces, best.proof) != (best.total_completion, best.bound):
            raise AssertionError("the elastic optimum does not pass its check")
        return CompletionGap(
            policy=self.policy.spec,
            reached=str(total_completion(case, follow_rule(round_, self.policy))),
            optimum=str(best.total_completion),
            schedule=tuple(SharesHeld(seconds=str(time), shares=shares) for time, shares in best.pieces),
            prices=tuple(
                OrderPrices(events=events, work=tuple(map(str, work)), periods=tuple(map(str, periods)))
                for events, (work, periods) in sorted(best.proof.items())
            ),
        )

    def result(self, round_: Round) -> Result:
        """Return what the shares of this moment are worth at best: the program of the round itself."""
        return solved(round_, self.policy.spec, self.limits)


MEASURES: Final[Mapping[str, type[Measure]]] = {kind.name: kind for kind in (ValueMeasure, CompletionMeasure)}


def measure_of(name: str, policy: str | Policy, limits: Limits = LIMITS) -> Measure:
    """Return the measure of that name for a policy; unknown names are refused."""
    if name not in MEASURES:
        raise unknown_name("measure", name, MEASURES)
    return MEASURES[name](policy_from(policy), limits)
