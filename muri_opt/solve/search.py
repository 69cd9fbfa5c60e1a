"""The search for an answer to one round: heuristic, chapter's own algorithm, solvers, and what each has shown."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from muri_opt.errors import RefusalError
from muri_opt.rounds import (
    Certificate,
    Decision,
    Evidence,
    Limit,
    Limits,
    Reason,
    Result,
    Termination,
    relative_gap,
)
from muri_opt.rounds.change_costs import cost_of_all
from muri_opt.solve.barred import barred
from muri_opt.solve.exact import Answer, optimise, prepare, relax_within, search_chapter, settle, solve_directly
from muri_opt.solve.first_answer import FirstAnswer
from muri_opt.solve.loading import load_backend, load_program
from muri_opt.solve.solvers import FIRST_BACKEND, WorkerError, borrowed_worker
from muri_opt.solve.solvers.process import GRACE_SECONDS, Worker
from muri_opt.solve.timed import SIZING
from muri_opt.solve.watching import tell
from muri_opt.systems import has_program, unit_of
from muri_opt.verify import Audit, enumerable_optimum
from muri_opt.verify.chapter import UNSAID

if TYPE_CHECKING:
    from muri_opt.systems.capacity.set_apart import SetApart
    from muri_opt.systems.program import Settled


@dataclass(slots=True, kw_only=True)
class Search(FirstAnswer):
    """What is tried for one round, in this order, within its limits."""

    apart: SetApart | None = None
    """What is not to be decided; ``round_`` is then the rest."""
    searched: bool = False
    """Whether the chapter's own search took the place of a program that is too large to write down."""
    sent: bool = False
    """Whether the solver process was handed the round."""

    def _barred(self, work: float = 0.0) -> Termination | None:
        """Return why the solver process is not asked, if it is not."""
        return barred(self.left(), len(self.round_.jobs), answered=self.decision is not None, work=work)

    def _too_large(self) -> Termination | None:
        """Return why the program is not begun for its size, if it is not; that is not asked where it took too long."""
        if self.is_late_for("work", usual=SIZING):
            self.leave_out("work")
            detail = "no time left to tell how large the program is"
            return Termination(reason=Reason.NO_SOLUTION, limit=Limit.TIME, detail=detail)
        with self.step("work", "build_seconds"):
            work = self.program.work(self.round_)
        return self._barred(work)

    def run_directly(self) -> None:
        """Take the answer of the chapter's own algorithm, if it has one; what goes wrong there is left to a solver."""
        formulation = self.program
        if not (formulation.has_direct or formulation.has_search) or self._barred() is not None:
            return
        if self.is_late_for("groups", usual=SIZING):
            self.leave_out("groups")
            return
        with self.step("groups", "build_seconds"):  # of jobs, so many that they are searched and not listed
            whole = formulation.is_searched(self.round_)
        answer: Answer | None = None
        tell("a search of the policy's own", self.value, self.bound)
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
            self.searched = whole
            self.end(self.termination if self.proved or whole else said)

    def run_exact(self, *backends: str) -> None:
        """Improve or prove the answer with the exact program on the first backend that takes it; the next may confirm.

        The solver runs in a process that can be stopped. A refusal by the last backend is an error only where there is
        no answer yet.
        """
        if self.searched:
            return
        try:
            barred = self._barred() or (self._too_large() if self.method == "auto" else None)
        except RefusalError as error:  # told from counts, before the round is handed over
            if self.decision is None:
                raise
            self.fail(str(error), Limit.SIZE)
            return
        if barred is not None:
            self.end(barred)
            return
        try:
            self._run_backend(backends[0])
        except WorkerError as error:
            self.fail(str(error), Limit.FAULT if error.fault else Limit.TIME)
        except RefusalError as error:
            if len(backends) > 1:
                self.unconfirmed = f"{backends[0]} does not take it"
                self.run_exact(*backends[1:])
            elif self.decision is None:
                raise
            else:
                self.fail(str(error), Limit.SIZE)
        else:
            fault = self.termination.limit is Limit.FAULT and not self.left().nothing_left
            if len(backends) > 1 and fault:
                self.run_exact(*backends[1:])  # what the first one claimed is disproved: its answer may be poor, too
                return
            if len(backends) > 1 and self.in_doubt:
                self._confirm(backends[1])
            self.end(self.termination)

    def _run_backend(self, backend: str) -> None:
        """Learn from the linear relaxation, then solve if value and bound do not meet yet."""
        self.stats = msgspec.structs.replace(self.stats, backend=backend)
        limits = self._prepared(backend)
        duals, work = self._in_worker(relax_within, self.round_, self.program, limits)
        self.spent += work
        self._learn(evidence := () if duals is None else (duals,))
        if not self.close_enough:
            self._take(backend, self._optimise(backend), evidence)

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

    def settled(self, decision: Decision, *backends: str) -> Settled | None:
        """Return of the decisions of the same value the one whose changes cost least; ``None``: none is looked for."""
        if not has_program(self.rules) or not self.program.may_settle(self.round_, decision):
            return None
        if self.left().nothing_left:
            return None
        with suppress(WorkerError, RefusalError):  # then the answer stays as it is
            limits = self._prepared(backends[0])
            answer: tuple[Settled | None, float] = self._in_worker(
                settle, self.round_, self.program, backends, limits, decision
            )
            self.spent += answer[1]
            return answer[0]
        return None

    def replace_answer(self, decision: Decision, value: int) -> None:
        """Take another answer, which keeps the rules; what changes cost at least is known of one value only."""
        if value != self.value:
            self.stats = msgspec.structs.replace(self.stats, changes_bound=None)
        self.decision, self.value = decision, value
        self.believed(value)
        self.end(self.termination)

    def result(self) -> Result:
        """Return the answer, verified."""
        with self.step("check", "verify_seconds"):
            draft = self._checked()
        return msgspec.structs.replace(draft, stats=self.stats)

    def _checked(self) -> Result:
        round_ = self.round_ if self.apart is None else self.apart.whole
        decision = self.decision
        if decision is not None and self.apart is not None:
            decision = self._whole(decision, self.apart)
        made = None if decision is None else self.changes_of(round_, decision)
        if made is not None:
            self.stats = msgspec.structs.replace(self.stats, changes_cost=cost_of_all(round_, made))
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
            termination=self.told,
            decision=decision,
            changes=made,
            stats=self.stats,
            certificate=Certificate(feasible=False, evidence=self.all_evidence()),
        )
        audit = self.audit if self.apart is None else Audit(round_, self.rules)
        return msgspec.structs.replace(draft, certificate=audit.certificate(draft, seek_bound=self.bound_in_time))

    def _whole(self, decision: Decision, apart: SetApart) -> Decision:
        """Return a decision of the rest as one of the whole round, with the policy's reasons where it told some."""
        told = all(wait.detail != UNSAID for wait in decision.waiting)
        return self.policy.joined(apart, decision) if told else apart.joined(decision)

    def _optimise(self, backend: str) -> Answer:
        tell(backend, self.value, self.bound)
        limits, start, began = self._prepared(backend), self.decision, time.monotonic()
        try:
            answer: Answer = self._in_worker(optimise, self.round_, self.program, backend, limits, start)
        except WorkerError:
            self.count("solve_seconds", time.monotonic() - began)
            raise
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
        if not self.sent and self._barred() is not None:
            raise WorkerError("no time left to hand the round to the solver process", fault=False)
        with self._worker(backend) as worker:
            self.sent = True
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
            self.put_off(worker.load(load_program, type(self.program), seconds=self.seconds_left()))
            self.put_off(worker.load(load_backend, backend, seconds=self.seconds_left()))
            yield worker

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
        return self.believed(max(self.value, optimum or self.value))

    def _enumerated(self) -> int | None:
        """Learn the optimum of a round that is small enough to go through all its decisions, and return it."""
        with self.step("enumeration", "verify_seconds"):
            optimum = enumerable_optimum(self.round_, self.rules)
        if optimum is not None and (self.checked is None or optimum < self.checked):
            self.checked, self.evidence = optimum, ()
        return optimum
