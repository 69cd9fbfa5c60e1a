"""What is known of the answer to a round: the best decision so far, what bounds the optimum, and why a search stops."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import msgspec

from muri_opt.rounds import (
    Agreement,
    Changes,
    Claims,
    Decision,
    Evidence,
    Limit,
    Limits,
    Reason,
    Round,
    Stats,
    Termination,
    changes,
    relative_gap,
)


@dataclass(slots=True, kw_only=True)
class Known:
    """The best answer so far, and what is known of the optimum."""

    method: str
    limits: Limits
    decision: Decision | None = None
    value: int | None = None
    checked: int | None = None
    evidence: tuple[Evidence, ...] = ()
    claims: Claims = field(default_factory=Claims)
    no_decision: tuple[str, ...] = ()
    unconfirmed: str = "no second solver was asked"
    termination: Termination = field(
        default_factory=lambda: Termination(reason=Reason.NO_SOLUTION, limit=Limit.TIME, detail="nothing was run")
    )
    stats: Stats = field(default_factory=Stats)
    began: float = field(default_factory=time.monotonic)
    cuts: tuple[str, ...] = ()
    """What was left undone for lack of time or work, before a solver was asked."""
    bound_in_time: bool = True
    """Whether there was time for a first bound; if not, the last check looks for none either."""
    made: tuple[Round, Decision, Changes] | None = None
    """The decision whose changes were asked for last, with them."""

    @property
    def agreement(self) -> Agreement | None:
        """What two solvers agree upon, where it says more than was checked."""
        found = self.claims.agreement
        agreed = None if found is None else found.bound
        return found if agreed is not None and (self.checked is None or agreed < self.checked) else None

    @property
    def bound(self) -> int | None:
        """The best bound that was checked or agreed upon; the word of one solver does not count."""
        return self.checked if self.agreement is None else self.agreement.bound

    @property
    def claimed(self) -> int | None:
        """What one solver claims beyond that."""
        least = self.claims.least
        return least if least is not None and (self.bound is None or least < self.bound) else None

    @property
    def proved(self) -> bool:
        """Whether the best value is known to be optimal."""
        return self.value is not None and self.value == self.bound

    @property
    def close_enough(self) -> bool:
        """Whether the best value is known to be as near to the optimum as the caller asks."""
        return self.proved or self._near(self.bound)

    def _near(self, bound: int | None) -> bool:
        gap = None if self.value is None or bound is None else relative_gap(self.value, bound)
        return gap is not None and gap <= self.limits.gap

    @property
    def in_doubt(self) -> bool:
        """Whether a solver ran to its end and says more than is proved."""
        said = self.termination
        ended = said.reason is Reason.OPTIMAL or said.limit is Limit.GAP
        return (ended and self.claimed is not None) or said.reason is Reason.INFEASIBLE

    @property
    def told(self) -> Termination:
        """Why the search stopped, with what was left undone on its way; of no matter once the optimum is proved."""
        if self.proved or not self.cuts:
            return self.termination
        return replace(self.termination, detail="; ".join((*self.cuts, self.termination.detail)))

    def put_off(self, seconds: float) -> None:
        """Let the limit begin later by what a start took, and tell it apart."""
        self.began += seconds
        spent = self.stats.startup_seconds + seconds
        self.stats = msgspec.structs.replace(self.stats, startup_seconds=spent)

    def leave_out_bound(self) -> None:
        """Say that there was no time for prices, or for any bound: then the last check looks for none either."""
        self.bound_in_time = self.checked is not None
        self.cuts += ("no time was left for prices" if self.bound_in_time else "no time was left for a bound",)

    def changes_of(self, round_: Round, decision: Decision) -> Changes:
        """Return what a decision changes; the last one that was asked for is known."""
        if self.made is None or self.made[0] is not round_ or self.made[1] is not decision:
            self.made = round_, decision, changes(round_, decision)
        return self.made[2]

    def all_evidence(self) -> tuple[Evidence, ...]:
        """Return what the bound follows from, or that there is no decision."""
        if self.termination.reason is Reason.INFEASIBLE:
            return (*self.evidence, Agreement(backends=self.no_decision))
        return self.evidence if self.agreement is None else (*self.evidence, self.agreement)

    def believed(self, reached: int) -> bool:
        """Drop every claim, and say so, if one is disproved by a decision of this value."""
        claims = self.claims
        if not claims.contradicted_by(reached):
            return True
        self.claims = Claims()
        detail = f"{' and '.join(claims.solvers)} claim different optima"
        if len(claims.solvers) == 1:
            claim = f"{claims.solvers[0]} claims that nothing is worth more than {claims.least}"
            detail = f"{claim}; a decision is worth {reached}"
        self.termination = Termination(reason=Reason.NO_SOLUTION, limit=Limit.FAULT, detail=detail)
        return False

    def end(self, said: Termination) -> None:
        """Set why the search stopped: no stronger than what is proved, whatever a solver said."""
        if self.proved:
            met = "" if said.reason is Reason.OPTIMAL else "value and bound meet; "
            self.termination = Termination(reason=Reason.OPTIMAL, detail=met + said.detail)
        elif self.close_enough and self.method != "heuristic":
            self.termination = Termination(reason=Reason.FEASIBLE, limit=Limit.GAP, detail=said.detail)
        elif self._only_said(said):
            self._end_without_proof(said)
        elif said.reason in (Reason.NO_SOLUTION, Reason.FAILED) and self.decision is not None:
            limit = said.limit or Limit.FAULT
            self.termination = Termination(reason=Reason.FEASIBLE, limit=limit, detail=said.detail)
        else:
            self.termination = said

    def _only_said(self, said: Termination) -> bool:
        """Return whether a solver says that it ran to its end, while nothing is proved by it."""
        if said.reason is Reason.INFEASIBLE:
            return self.decision is not None or len(self.no_decision) < 2
        return said.reason is Reason.OPTIMAL or said.limit is Limit.GAP

    def _end_without_proof(self, said: Termination) -> None:
        """Set that a solver ran to its end, and that what it says is not proved."""
        solver = self.stats.backend or "a solver"
        if said.reason is Reason.INFEASIBLE and self.decision is not None:
            limit, detail = Limit.FAULT, f"{solver} says that there is no decision"
        elif said.reason is Reason.OPTIMAL and self.claimed != self.value:
            limit = Limit.RELAXATION
            detail = "the optimum of the program was not placed: it leaves out rules of single nodes, as their CPUs"
        else:
            limit, detail = Limit.CLAIM, f"{solver} alone says {said.reason}: {said.detail} ({self.unconfirmed})"
        reason = Reason.NO_SOLUTION if self.decision is None else Reason.FEASIBLE
        self.termination = Termination(reason=reason, limit=limit, detail=detail)

    def fail(self, detail: str, limit: Limit) -> None:
        """End without an answer of the solver: what there was before it stands."""
        if self.decision is not None or limit is not Limit.FAULT:
            self.end(Termination(reason=Reason.NO_SOLUTION, limit=limit, detail=detail))
        else:
            self.end(Termination(reason=Reason.FAILED, detail=detail))
