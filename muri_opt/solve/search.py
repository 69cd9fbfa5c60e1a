"""The search for an answer to one round: heuristic, chapter's own algorithm, solvers, and what each has shown."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from muri_opt.errors import RefusalError
from muri_opt.rounds import (
    Agreement,
    Certificate,
    Claims,
    Decision,
    Evidence,
    Limit,
    Limits,
    Reason,
    Result,
    Round,
    Stats,
    Termination,
    changes,
    relative_gap,
)
from muri_opt.rounds.change_costs import changes_cost
from muri_opt.solve.decided import decided
from muri_opt.solve.exact import Answer, optimise, prepare, relax_within, search_chapter, settle, solve_directly
from muri_opt.solve.loading import load_backend, load_here, load_program
from muri_opt.solve.solvers import FIRST_BACKEND, WorkerError, borrowed_worker
from muri_opt.solve.solvers.process import Worker
from muri_opt.systems import Policy, Rules, has_program, program_of, unit_of
from muri_opt.verify import broken_rules, decision_value, enumerable_optimum, proved_bound, verify

if TYPE_CHECKING:
    from muri_opt.systems import Formulation
    from muri_opt.systems.capacity.set_apart import SetApart
    from muri_opt.systems.program import Settled

GRACE_SECONDS = 0.25
"""How much longer than its own limit a solver process may take before it is stopped."""


@dataclass(slots=True, kw_only=True)
class Search:
    """The best answer so far, and what is known of the optimum."""

    round_: Round
    """What is decided: the round, or what is left of it beside what is set ``apart``."""
    policy: Policy
    method: str
    limits: Limits
    apart: SetApart | None = None
    began: float = field(default_factory=time.monotonic)
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
    spent: float = 0.0
    """Units of work that the solver process counted."""
    rules: Rules = field(init=False)
    """By which the answer is checked."""

    def __post_init__(self) -> None:
        self.rules = self.policy.rules

    @property
    def program(self) -> Formulation:
        """The exact program of the round."""
        return program_of(self.rules)

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

    def start_up(self) -> None:
        """Import what the policy needs in this process; the clock stands still meanwhile."""
        began = time.monotonic()
        load_here(self.policy)
        self._put_off(time.monotonic() - began)

    def _put_off(self, seconds: float) -> None:
        """Let the limit begin later by what a start took, and tell it apart."""
        self.began += seconds
        spent = self.stats.startup_seconds + seconds
        self.stats = msgspec.structs.replace(self.stats, startup_seconds=spent)

    def seconds_left(self) -> float | None:
        """Time until the limit, less what checking the answer once more is expected to take."""
        if self.limits.seconds is None:
            return None
        return self.limits.seconds - (time.monotonic() - self.began) - 2 * self.stats.verify_seconds

    def left(self) -> Limits:
        """Return the limits with the time and the work that are left."""
        seconds = self.seconds_left()
        return self.limits.with_seconds(None if seconds is None else max(0.0, seconds)).less(self.spent)

    def run_heuristic(self) -> None:
        """Take the policy's own answer, with the bound that needs no solver."""
        began = time.monotonic()
        decision = decided(self.policy, self.round_, self.limits.seed)
        self._spend("solve_seconds", began)
        broken = [] if self.method == "heuristic" else broken_rules(self.round_, self.rules, decision)
        if broken:
            detail = f"{self.policy.spec} broke the rule {broken[0].rule}: {broken[0].where}: {broken[0].detail}"
            self._end(Termination(reason=Reason.NO_SOLUTION, limit=Limit.HEURISTIC, detail=detail))
            return
        self._offer(decision)
        duals = self.program.quick_duals(self.round_) if has_program(self.rules) else None
        self._learn(() if duals is None else (duals,))
        self._end(
            Termination(reason=Reason.FEASIBLE, limit=Limit.HEURISTIC, detail=f"{self.policy.spec} ran to its end")
        )

    def run_directly(self) -> None:
        """Take the answer of the chapter's own algorithm, if it has one; what goes wrong there is left to a solver."""
        formulation = self.program
        if not (formulation.has_direct or formulation.has_search) or self.left().nothing_left:
            return
        answer: Answer | None = None
        with suppress(WorkerError, RefusalError):
            limits = self._prepared()
            if formulation.has_direct:
                answer = self._in_worker(solve_directly, self.round_, formulation)
            else:
                answer = self._in_worker(search_chapter, self.round_, formulation, limits, self.decision)
        if answer is not None:
            self.spent += answer.work
            self.stats = msgspec.structs.replace(
                self.stats, solve_seconds=self.stats.solve_seconds + answer.solve_seconds
            )
            said = self.termination
            self._take(None, answer, self.evidence if answer.duals is None else (answer.duals,))
            self._end(self.termination if self.proved else said)

    def run_exact(self, *backends: str) -> None:
        """Improve or prove the answer with the exact program on the first backend that takes it; the next may confirm.

        The solver runs in a process that can be stopped. A refusal by the last backend is an error only where there is
        no answer yet.
        """
        left = self.left()
        if left.nothing_left:
            limit = Limit.TIME if left.seconds == 0 else Limit.WORK
            detail = f"no {limit.lower()} left for a solver"
            self._end(Termination(reason=Reason.NO_SOLUTION, limit=limit, detail=detail))
            return
        try:
            self._run_backend(backends[0])
        except WorkerError as error:
            self._fail(str(error), Limit.FAULT if error.fault else Limit.TIME)
        except RefusalError as error:
            if len(backends) > 1:
                self.unconfirmed = f"{backends[0]} does not take it"
                self.run_exact(*backends[1:])
            elif self.decision is None:
                raise
            else:
                self._fail(str(error), Limit.SIZE)
        else:
            if len(backends) > 1 and self._in_doubt:
                self._confirm(backends[1])
            self._end(self.termination)

    def _run_backend(self, backend: str) -> None:
        """Learn from the linear relaxation, then solve if value and bound do not meet yet."""
        self.stats = msgspec.structs.replace(self.stats, backend=backend)
        limits = self._prepared(backend)
        duals, work = self._in_worker(relax_within, self.round_, self.program, limits)
        self.spent += work
        evidence = () if duals is None else (duals,)
        self._learn(evidence)
        if not self.close_enough:
            self._take(backend, self._optimise(backend), evidence)

    @property
    def _in_doubt(self) -> bool:
        """Whether a solver ran to its end and says more than is proved."""
        said = self.termination
        ended = said.reason is Reason.OPTIMAL or said.limit is Limit.GAP
        return (ended and self.claimed is not None) or said.reason is Reason.INFEASIBLE

    def _confirm(self, second: str) -> None:
        """Put what one solver says to a second, independent one, while time is left.

        What both say counts; where they contradict each other neither is believed.
        """
        said = self.termination
        if self.left().nothing_left:
            self.unconfirmed = f"nothing is left to ask {second}"
            return
        try:
            answer = self._optimise(second)
        except (WorkerError, RefusalError) as error:
            self.unconfirmed = f"{second}: {error}"
            return
        self.unconfirmed = f"{second} says {answer.termination.reason}: {answer.termination.detail}"
        if self._take(second, answer, ()):
            self.termination = said

    def settled(self, decision: Decision) -> Settled | None:
        """Return of the decisions of the same value the one whose changes cost least; ``None``: none is looked for."""
        if not (has_program(self.rules) and self.program.has_settling) or self.left().nothing_left:
            return None
        with suppress(WorkerError, RefusalError):  # then the answer stays as it is
            limits = self._prepared()
            found, work = self._in_worker(settle, self.round_, self.program, limits, decision)
            self.spent += work
            return found
        return None

    def result(self) -> Result:
        """Return the answer, verified."""
        began = time.monotonic()
        round_ = self.round_ if self.apart is None else self.apart.whole
        decision = self.decision if self.apart is None or self.decision is None else self.apart.joined(self.decision)
        if decision is not None:
            self.stats = msgspec.structs.replace(self.stats, changes_cost=changes_cost(round_, decision))
        draft = Result(
            fingerprint=round_.fingerprint,
            policy=self.policy.spec,
            rules=dict(self.rules),
            method=self.method,
            value=self.value,
            bound=self.bound if self.decision is not None else None,
            gap=None if self.value is None or self.bound is None else relative_gap(self.value, self.bound),
            claimed_bound=self.claimed if self.decision is not None else self.claims.least,
            value_unit=unit_of(self.rules),
            termination=self.termination,
            decision=decision,
            changes=None if decision is None else changes(round_, decision),
            stats=self.stats,
            certificate=Certificate(feasible=False, evidence=self._all_evidence()),
        )
        certificate = verify(round_, draft)
        self._spend("verify_seconds", began)
        return msgspec.structs.replace(draft, certificate=certificate, stats=self.stats)

    def _optimise(self, backend: str) -> Answer:
        limits, start = self._prepared(backend), self.decision
        answer: Answer = self._in_worker(optimise, self.round_, self.program, backend, limits, start)
        self.spent += answer.work
        self.stats = msgspec.structs.replace(
            self.stats,
            build_seconds=self.stats.build_seconds + answer.build_seconds,
            solve_seconds=self.stats.solve_seconds + answer.solve_seconds,
            columns=answer.columns,
            rows=answer.rows,
        )
        return answer

    def _prepared(self, backend: str = FIRST_BACKEND) -> Limits:
        """Let the solver process read the round, which it is left to finish; return the limits that are left."""
        with self._worker(backend) as worker:
            worker.prepare(prepare, self.round_, self.program, seconds=self.seconds_left())
        return self.left()

    def _in_worker(self, function: Any, *arguments: Any) -> Any:
        with self._worker() as worker:
            left = self.seconds_left()
            return worker.call(function, *arguments, seconds=None if left is None else max(0.0, left) + GRACE_SECONDS)

    @contextmanager
    def _worker(self, backend: str = FIRST_BACKEND) -> Iterator[Worker]:
        """Lend a solver process that has loaded what it needs; the clock stands still until it has."""
        with borrowed_worker() as worker:
            self._put_off(worker.load(load_program, type(self.program), seconds=self.seconds_left()))
            self._put_off(worker.load(load_backend, backend, seconds=self.seconds_left()))
            yield worker

    def _all_evidence(self) -> tuple[Evidence, ...]:
        """Return what the bound follows from, or that there is no decision."""
        if self.termination.reason is Reason.INFEASIBLE:
            return (*self.evidence, Agreement(backends=self.no_decision))
        return self.evidence if self.agreement is None else (*self.evidence, self.agreement)

    def _take(self, solver: str | None, answer: Answer, evidence: tuple[Evidence, ...]) -> bool:
        """Keep what an answer adds; return whether what is claimed, by this solver and others, can be true.

        A chapter's own algorithm is no ``solver``: what it says counts where it is checked.
        """
        if answer.decision is not None:
            self._offer(answer.decision)
        self.termination = answer.termination
        self._learn(evidence)
        if solver is not None and answer.bound is not None:
            self.claims = self.claims.with_claim(solver, answer.bound)
        if solver is not None and answer.termination.reason is Reason.INFEASIBLE:
            self.no_decision = (*self.no_decision, solver)
        if self.value is None:
            return True
        optimum = None if self.claimed is None else self._enumerated()
        return self._believed(max(self.value, optimum or self.value))

    def _enumerated(self) -> int | None:
        """Learn the optimum of a round that is small enough to go through all its decisions, and return it."""
        began = time.monotonic()
        optimum = enumerable_optimum(self.round_, self.rules)
        self._spend("verify_seconds", began)
        if optimum is not None and (self.checked is None or optimum < self.checked):
            self.checked, self.evidence = optimum, ()
        return optimum

    def _believed(self, reached: int) -> bool:
        """Drop every claim, and say so, if one is disproved by a decision of this value."""
        claims = self.claims
        if not claims.contradicted_by(reached):
            return True
        self.claims = Claims()
        detail = f"{' and '.join(claims.solvers)} claim different optima"
        if len(claims.solvers) == 1:
            detail = f"{claims.solvers[0]} claims that nothing is worth more than {claims.least}; {reached} is reached"
        self.termination = Termination(reason=Reason.NO_SOLUTION, limit=Limit.FAULT, detail=detail)
        return False

    def _offer(self, decision: Decision) -> None:
        """Keep the decision if it is better than the best so far, and than leaving all that runs as it is."""
        if self.decision is None and self.method != "heuristic":
            unchanged = self.policy.unchanged(self.round_)
            if unchanged is not None:
                self.decision, self.value = unchanged, decision_value(self.round_, self.rules, unchanged)
        value = decision_value(self.round_, self.rules, decision)
        if self.value is None or value > self.value:
            self.decision, self.value = decision, value

    def _learn(self, evidence: tuple[Evidence, ...]) -> None:
        """Keep evidence that proves a better bound for the decision than is proved so far."""
        if self.decision is None:
            return
        began = time.monotonic()
        known = proved_bound(self.round_, self.rules, self.decision, evidence)
        self._spend("verify_seconds", began)
        if known is not None and (self.checked is None or known[0] < self.checked):
            self.checked, self.evidence = known[0], evidence

    def _end(self, said: Termination) -> None:
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
            detail = "the optimum of the program was not placed: CPUs or memory of single nodes are in the way"
        else:
            limit, detail = Limit.CLAIM, f"{solver} alone says {said.reason}: {said.detail} ({self.unconfirmed})"
        reason = Reason.NO_SOLUTION if self.decision is None else Reason.FEASIBLE
        self.termination = Termination(reason=reason, limit=limit, detail=detail)

    def _fail(self, detail: str, limit: Limit) -> None:
        """End without an answer of the solver: what there was before it stands."""
        if self.decision is not None or limit is not Limit.FAULT:
            self._end(Termination(reason=Reason.NO_SOLUTION, limit=limit, detail=detail))
        else:
            self._end(Termination(reason=Reason.FAILED, detail=detail))

    def _spend(self, phase: str, began: float) -> None:
        spent = getattr(self.stats, phase) + time.monotonic() - began
        self.stats = msgspec.structs.replace(self.stats, **{phase: spent})
