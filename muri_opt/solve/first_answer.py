"""The first answer to a round: that of the policy's algorithm or a simple one in its place, and what bounds it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from muri_opt.rounds import Budget, Decision, Evidence, Limit, Prices, Reason, Termination, Violation
from muri_opt.rounds.stopping import TooLate, stopped_after
from muri_opt.solve.decided import decided
from muri_opt.solve.simple_decision import changes_anybody, simple_decisions, without_wrong_starts
from muri_opt.solve.timed import ALWAYS_SECONDS, BOUND_SECONDS, LEAST_PART, Timed
from muri_opt.systems import Rules, has_program, program_of
from muri_opt.verify import Audit

if TYPE_CHECKING:
    from muri_opt.systems import Formulation

LEAST_SECONDS: Final = 0.25
"""An algorithm that was begun has these however little time is left: before it is stopped, it is late by them."""
LEFT_OUT: Final = "and was left out"
"""How the detail of an answer ends that names an algorithm which was not begun, as it would have been late."""
SIMPLE: Final = Termination(reason=Reason.FEASIBLE, limit=Limit.TIME, detail="who runs goes on, and who fits starts")


@dataclass(slots=True, kw_only=True)
class FirstAnswer(Timed):
    """What is known of a round without a solver."""

    rules: Rules = field(init=False)
    audit: Audit = field(init=False)
    """By which rules, and by whom, decisions of ``round_`` are checked."""

    def __post_init__(self) -> None:
        self.rules = self.policy.rules
        self.audit = Audit(self.round_, self.rules)

    @property
    def program(self) -> Formulation:
        """The exact program of the round."""
        return program_of(self.rules)

    def run_heuristic(self) -> None:
        """Take the policy's own answer, or a simple one where that cannot be in time; and a bound without a solver.

        What is asked for by its name, the published algorithm, runs to its end however long that takes.
        """
        takes = self.expected("algorithm")
        named = self.method == "heuristic"
        if not named and self._is_too_long(takes) and self._take_simple():
            self.leave_out("algorithm")
            self.cuts += (f"{self.policy.spec} takes about {takes:.2g} s {LEFT_OUT}",)
            said = SIMPLE
        elif (decision := self._own_decision(named=named)) is None:
            said = SIMPLE
        else:
            broken = [] if named else self._broken(decision)
            if broken:
                detail = f"{self.policy.spec} broke the rule {broken[0].rule}: {broken[0].where}: {broken[0].detail}"
                self.end(Termination(reason=Reason.NO_SOLUTION, limit=Limit.HEURISTIC, detail=detail))
                return
            self._offer(decision)
            ended = f"{self.policy.spec} ran to its end"
            said = Termination(reason=Reason.FEASIBLE, limit=Limit.HEURISTIC, detail=ended)
        if not self._take_first_bound():
            self.leave_out_bound()
        self.end(said)

    def _is_too_long(self, takes: float) -> bool:
        """Return whether an algorithm that takes so many seconds would end after the limit, and a simple answer sooner.

        It may by a little. One that looks at the clock takes less where it is given less: it may
        have taken twice the time that is left before, unless it takes too long however little it is given. A bound
        that must follow does not count: the policy's own answer without any is worth more than a simple one with it.
        """
        seconds = self.seconds_left()
        if seconds is None or takes <= ALWAYS_SECONDS or self.policy.answers_early:
            return False
        if self.policy.looks_at_clock and takes <= 2 * seconds:
            takes = min(takes, self.expected("overrun") + LEAST_PART * max(seconds, 0.0))
        late = takes + self.expected("rules") > seconds + self.lateness()
        return late and takes > self.expected("simple")

    def _own_decision(self, *, named: bool) -> Decision | None:
        """Return the decision of the policy's algorithm; ``None`` if it was stopped and a simple one has its place."""
        if named:
            return self._decided(None)
        budget = Budget(limits=self.left_for_algorithm())
        try:
            with stopped_after(self._most_seconds()):
                decision = self._decided(budget)
        except TooLate:
            self.remember_stop("algorithm")
            if self._take_simple():
                self.cuts += (f"{self.policy.spec} was stopped, as its time was over",)
                return None
            decision = self._decided(budget)  # nothing simple keeps the rules
        if budget.over():
            self.cuts += (f"{self.policy.spec} had used up its {budget.limit.lower()} when it ended",)
        return decision

    def _most_seconds(self) -> float | None:
        """Return after how many seconds of the processor the algorithm is stopped.

        That is the time that is left; if it was stopped before, so early that a simple answer and its bound are not
        late either. One that looks at the clock ends by itself, and is stopped later only if it always did.
        """
        seconds = self.seconds_left()
        if seconds is None or self.policy.answers_early:
            return None
        if self.was_stopped("algorithm"):
            seconds += BOUND_SECONDS - self.expected("simple") - self.expected_bound()
        elif self.policy.looks_at_clock:
            seconds += LEAST_SECONDS
        return max(seconds, LEAST_SECONDS)

    def _take_simple(self) -> bool:
        """Take a decision that needs no search, if one keeps the rules."""
        with self.step("simple", "solve_seconds"):
            drafts = simple_decisions(self.policy, self.round_)
            found = next(filter(None, map(self.kept_to_rules, drafts)), None)
            if found is not None:
                self.decision, self.value = found, self.audit.value(found)
        return found is not None

    def kept_to_rules(self, draft: Decision) -> Decision | None:
        """Return a simple decision, without those who may not start as it says; ``None`` where it breaks rules then."""
        decision = draft if draft.waiting else self.audit.completed(draft)
        breaches = self.audit.breaches(decision)
        if not breaches:
            return decision
        fewer = without_wrong_starts(self.round_, decision, breaches)
        if len(fewer.assignments) == len(decision.assignments):
            return None
        decision = self.audit.completed(fewer)
        return None if self.audit.breaches(decision) else decision

    def _decided(self, budget: Budget | None) -> Decision:
        """Return the decision of the policy's algorithm, and remember what it took."""
        used = time.thread_time()
        with self.step("algorithm", "solve_seconds"):
            decision = decided(self.policy, self.round_, self.limits.seed, budget)
        if budget is not None:
            self.spent += budget.spent
            self.remember_overrun(budget, time.thread_time() - used)
        return decision

    def _broken(self, decision: Decision) -> list[Violation]:
        with self.step("rules", "verify_seconds"):
            return self.audit.breaches(decision)

    def _take_first_bound(self) -> bool:
        """Learn a bound from prices that need no solver, or from counting; return whether there was time for prices.

        Where those of the program may be late, prices that are found faster take their place.
        """
        asks = self.method != "heuristic"
        program = self.program if has_program(self.rules) else None
        hurries = asks and program is not None and program.has_hurried_duals and self.may_be_late_for("bound")
        step = "hurried bound" if hurries else "bound"
        if asks and self.is_late_for(step, by=self.bound_lateness()):
            self.leave_out(step)
            if not hurries:
                self._learn(())  # what can be counted the check of the answer asks for in any case
            return False  # where prices are found in a hurry, counting would take longer than they do
        with self.step(step, "verify_seconds"):
            duals: Prices | None = None
            if program is not None:
                duals = program.hurried_duals(self.round_) if hurries else program.quick_duals(self.round_)
            evidence = () if duals is None else (duals,)
            if hurries and self.decision is not None:
                self.audit.quick_bound(self.decision, evidence)
            self._learn(evidence)
        return True

    def _offer(self, decision: Decision) -> None:
        """Keep the decision if it is better than the best so far, and than leaving all that runs as it is."""
        value = self.audit.value(decision)
        asks = self.decision is None and self.method != "heuristic" and changes_anybody(self.round_, decision)
        if asks and (unchanged := self._unchanged(value)) is not None:
            self.decision, self.value = unchanged, self.audit.value(unchanged)
        if self.value is None or value > self.value:
            self.decision, self.value = decision, value

    def _unchanged(self, value: int) -> Decision | None:
        """Return the policy's decision that changes nobody, if it has one of that value and time to ask for it.

        Time for a first bound is left, if there is any: an answer without a bound is worth less than one that changes
        somebody at no loss.
        """
        seconds, takes = self.seconds_left(), self.expected("unchanged") or self.expected("algorithm")
        if seconds is not None and takes > max(seconds - self.expected_bound(), 0.0) + self.lateness():
            self.leave_out("unchanged")
            self.cuts += ("no time was left to look whether all may go on as it is",)
            return None
        with self.step("unchanged", "solve_seconds"):
            if not self.policy.unchanged_may_reach(self.round_, value):
                return None
            draft = self.policy.unchanged_draft(self.round_)
            if draft is None or self.audit.value(draft) < value:
                return None
            return draft if draft.waiting else self.policy.unchanged(self.round_)

    def _learn(self, evidence: tuple[Evidence, ...]) -> None:
        """Keep evidence that proves a better bound for the decision than is proved so far."""
        if self.decision is None:
            return
        known = self.audit.bound(self.decision, evidence)
        if known is not None and (self.checked is None or known[0] < self.checked):
            self.checked, self.evidence = known[0], evidence
