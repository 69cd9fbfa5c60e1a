"""``solve_round()``: the one place that ties the parts together."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec

from muri_opt.backends import BACKENDS, FIRST_BACKEND, WorkerError, borrowed_worker
from muri_opt.catalogue import DEFAULT_POLICY, formulation_of, value_unit_of
from muri_opt.errors import RefusalError, unknown_name
from muri_opt.exact import Answer, optimise, prepare, relax_within, search_chapter, solve_directly
from muri_opt.instance import Round
from muri_opt.policies import Policy, policy_from
from muri_opt.solution import (
    Agreement,
    Certificate,
    Decision,
    Evidence,
    Limit,
    Limits,
    Proof,
    Reason,
    Result,
    Stats,
    Termination,
    relative_gap,
)
from muri_opt.verification import decision_value, proved_bound, verify

SECOND_BACKEND = "cp-sat"
"""Confirms what the first backend claims: another algorithm, another code base, integers instead of floats."""
GRACE_SECONDS = 0.25
"""How much longer than its own limit a solver process may take before it is stopped."""


def solve_round(
    round_: Round, policy: str | Policy = DEFAULT_POLICY, method: str = "auto", limits: Limits | None = None
) -> Result:
    """Return the decision of a round with its value, bound, proof and why the solve stopped.

    ``method`` is ``"heuristic"`` (the policy's own algorithm), ``"exact"`` (its exact program, a claim of optimality
    confirmed by a second solver if nothing else proves it), ``"exact@<backend>"`` (that backend only), or ``"auto"``
    (the heuristic, then the exact program from that start until proved or out of time; the better of the two).
    Infeasible and out-of-time are results; only bad input raises. With ``Limits(work=...)`` no clock is asked for
    anything, and the same call gives the same result (but for the seconds in its ``stats``) wherever it runs.
    """
    chosen = policy_from(policy)
    kind, _, backend = method.partition("@")
    if kind not in ("heuristic", "exact", "auto") or (backend and kind != "exact"):
        raise unknown_name("method", method, ["heuristic", "auto", "exact", *(f"exact@{name}" for name in BACKENDS)])
    if "@" in method and backend not in BACKENDS:
        raise unknown_name("backend", backend, BACKENDS)
    chosen.check(round_)
    search = _Search(round_=round_, policy=chosen, method=method, limits=limits or Limits())
    if kind != "exact":
        search.run_heuristic()
    if kind != "heuristic" and not backend and not search.close_enough:
        search.run_directly()
    if kind != "heuristic" and not search.close_enough:
        search.run_exact(*((backend,) if backend else (FIRST_BACKEND, SECOND_BACKEND)))
    result = search.result()
    if method == "exact" and result.certificate.proof is Proof.CLAIM_ONLY and search.claims_optimum:
        result = search.confirmed(result)
    return result


@dataclass(slots=True, kw_only=True)
class _Search:
    """The best answer so far, and what is known of the optimum."""

    round_: Round
    policy: Policy
    method: str
    limits: Limits
    began: float = field(default_factory=time.monotonic)
    decision: Decision | None = None
    value: int | None = None
    bound: int | None = None
    checked: int | None = None
    evidence: tuple[Evidence, ...] = ()
    termination: Termination = field(
        default_factory=lambda: Termination(reason=Reason.NO_SOLUTION, limit=Limit.TIME, detail="nothing was run")
    )
    stats: Stats = field(default_factory=Stats)
    spent: float = 0.0
    """Units of work that the solver process counted."""

    @property
    def proved(self) -> bool:
        """Whether the best value is known to be optimal."""
        return self.value is not None and self.value == self.bound

    @property
    def close_enough(self) -> bool:
        """Whether the best value is known to be as near to the optimum as the caller asks."""
        gap = None if self.value is None or self.checked is None else relative_gap(self.value, self.checked)
        return self.proved or (gap is not None and gap <= self.limits.gap)

    @property
    def claims_optimum(self) -> bool:
        return self.termination.reason is Reason.OPTIMAL

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
        decision = self.policy.decide(self.round_, self.limits.seed)
        self._spend("solve_seconds", began)
        self._offer(decision)
        duals = formulation_of(self.policy).quick_duals(self.round_)
        self._learn(() if duals is None else (duals,))
        self._end(
            Termination(reason=Reason.FEASIBLE, limit=Limit.HEURISTIC, detail=f"{self.policy.spec} ran to its end")
        )

    def run_directly(self) -> None:
        """Take the answer of the chapter's own algorithm, if it has one; what goes wrong there is left to a solver."""
        formulation = formulation_of(self.policy)
        if not (formulation.has_direct or formulation.has_search) or self.left().nothing_left:
            return
        answer: Answer | None = None
        with suppress(WorkerError):
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
            self._take(answer, self.evidence if answer.duals is None else (answer.duals,))
            self._end(self.termination)

    def run_exact(self, *backends: str) -> None:
        """Improve or prove the answer with the exact program on the first backend that takes it.

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
                self.run_exact(*backends[1:])
            elif self.decision is None:
                raise
            else:
                self._fail(str(error), Limit.FAULT)
        else:
            self._end(self.termination)

    def _run_backend(self, backend: str) -> None:
        """Learn from the linear relaxation, then solve if value and bound do not meet yet."""
        self.stats = msgspec.structs.replace(self.stats, backend=backend)
        limits = self._prepared()
        duals, work = self._in_worker(relax_within, self.round_, formulation_of(self.policy), limits)
        self.spent += work
        evidence = () if duals is None else (duals,)
        self._learn(evidence)
        if not self.close_enough:
            self._take(self._optimise(backend), evidence)

    def confirmed(self, result: Result) -> Result:
        """Return the result with the proof ``Agreement`` if a second, independent solver claims the same optimum."""
        first = self.stats.backend or FIRST_BACKEND
        second = SECOND_BACKEND if first != SECOND_BACKEND else FIRST_BACKEND
        try:
            answer = self._optimise(second)
        except WorkerError:
            return result
        if answer.termination.reason is not Reason.OPTIMAL or answer.decision is None:
            return result
        if decision_value(self.round_, self.policy.spec, answer.decision) != self.value:
            self._take(answer, ())
            self.bound = self.checked  # neither claim is believed
            self._fail(f"{first} and {second} claim different optima", Limit.FAULT)
            return self.result()
        self.evidence = (*self.evidence, Agreement(backends=(first, second)))
        certificate = msgspec.structs.replace(result.certificate, proof=Proof.AGREEMENT, evidence=self.evidence)
        return msgspec.structs.replace(result, certificate=certificate, stats=self.stats)

    def result(self) -> Result:
        """Return the answer, verified."""
        began = time.monotonic()
        draft = Result(
            fingerprint=self.round_.fingerprint,
            policy=self.policy.spec,
            method=self.method,
            value=self.value,
            bound=self.bound,
            gap=None if self.value is None or self.bound is None else relative_gap(self.value, self.bound),
            value_unit=value_unit_of(self.policy),
            termination=self.termination,
            decision=self.decision,
            certificate=Certificate(feasible=False, evidence=self.evidence),
        )
        certificate = verify(self.round_, draft)
        self._spend("verify_seconds", began)
        return msgspec.structs.replace(draft, certificate=certificate, stats=self.stats)

    def _optimise(self, backend: str) -> Answer:
        limits, start = self._prepared(), self.decision
        answer: Answer = self._in_worker(optimise, self.round_, formulation_of(self.policy), backend, limits, start)
        self.spent += answer.work
        self.stats = msgspec.structs.replace(
            self.stats,
            build_seconds=self.stats.build_seconds + answer.build_seconds,
            solve_seconds=self.stats.solve_seconds + answer.solve_seconds,
            columns=answer.columns,
            rows=answer.rows,
        )
        return answer

    def _prepared(self) -> Limits:
        """Let the solver process read the round, which it is left to finish; return the limits that are left."""
        with borrowed_worker() as worker:
            worker.prepare(prepare, self.round_, formulation_of(self.policy), seconds=self.seconds_left())
        return self.left()

    def _in_worker(self, function: Any, *arguments: Any) -> Any:
        left = self.seconds_left()
        with borrowed_worker() as worker:
            return worker.call(function, *arguments, seconds=None if left is None else max(0.0, left) + GRACE_SECONDS)

    def _take(self, answer: Answer, evidence: tuple[Evidence, ...]) -> None:
        if answer.decision is not None:
            self._offer(answer.decision)
        if answer.bound is not None:
            self.bound = answer.bound if self.bound is None else min(self.bound, answer.bound)
        self.termination = answer.termination
        self._learn(evidence)

    def _offer(self, decision: Decision) -> None:
        """Keep the decision if it is better than the best so far."""
        value = decision_value(self.round_, self.policy.spec, decision)
        if self.value is None or value > self.value:
            self.decision, self.value = decision, value

    def _learn(self, evidence: tuple[Evidence, ...]) -> None:
        """Keep evidence that proves a better bound for the decision than is proved so far."""
        if self.decision is None:
            return
        began = time.monotonic()
        known = proved_bound(self.round_, self.policy.spec, self.decision, evidence)
        self._spend("verify_seconds", began)
        if known is not None and (self.checked is None or known[0] < self.checked):
            self.checked, self.evidence = known[0], evidence
            self.bound = known[0] if self.bound is None else min(self.bound, known[0])

    def _end(self, termination: Termination) -> None:
        """Set why the search stopped: OPTIMAL wherever value and bound meet, whoever made them meet."""
        if self.proved and termination.reason is not Reason.OPTIMAL:
            termination = Termination(reason=Reason.OPTIMAL, detail=f"value and bound meet; {termination.detail}")
        elif self.close_enough and termination.reason is not Reason.OPTIMAL and self.method != "heuristic":
            termination = Termination(reason=Reason.FEASIBLE, limit=Limit.GAP, detail=termination.detail)
        elif termination.reason is Reason.OPTIMAL and not self.proved:
            detail = "the optimum of the program was not placed: CPUs or memory of single nodes are in the way"
            termination = Termination(reason=Reason.FEASIBLE, limit=Limit.RELAXATION, detail=detail)
        elif termination.reason in (Reason.NO_SOLUTION, Reason.FAILED) and self.decision is not None:
            limit = termination.limit or Limit.FAULT
            termination = Termination(reason=Reason.FEASIBLE, limit=limit, detail=termination.detail)
        self.termination = termination

    def _fail(self, detail: str, limit: Limit) -> None:
        """End without an answer of the solver: what there was before it stands."""
        if self.decision is not None or limit is not Limit.FAULT:
            self._end(Termination(reason=Reason.NO_SOLUTION, limit=limit, detail=detail))
        else:
            self._end(Termination(reason=Reason.FAILED, detail=detail))

    def _spend(self, phase: str, began: float) -> None:
        spent = getattr(self.stats, phase) + time.monotonic() - began
        self.stats = msgspec.structs.replace(self.stats, **{phase: spent})
