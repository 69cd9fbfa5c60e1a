"""What is left of the limits of a search, and how long its next steps are expected to take."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import msgspec

from muri_opt.rounds import Budget, Limits, Round
from muri_opt.solve.known import Known
from muri_opt.solve.pace import PACE
from muri_opt.solve.watching import tell
from muri_opt.systems import Policy

CHECKING: Final = 3e-5
"""Seconds for each job that the check of an answer is expected to take before one was checked."""
SIZING: Final = 1e-4
"""Seconds for each job that telling the size of a program may take where that was never told."""
ALWAYS_SECONDS: Final = 0.02
"""An algorithm or a bound that takes no more than these is begun however little time is left."""
BOUND_SECONDS: Final = 0.2
"""By how much a first bound may be late under longer limits: an answer without any is worth less."""
LATE_PART: Final = 0.05
"""Of a limit, by how much what only makes an answer better may be late."""
LEAST_LATE: Final = 0.005
"""Seconds by which it may be late however short the limit."""
LEAST_PART: Final = 0.25
"""Of the time that is left an algorithm has this part at least, whatever is still to be done after it."""
_AFTERWARDS: Final = ("rules", "unchanged")
"""What comes between the end of an algorithm and the first bound."""


@dataclass(slots=True, kw_only=True)
class Timed(Known):
    """What is known of an answer, and what is left of its limits."""

    round_: Round
    """What is decided: the round, or what is left of it beside what is set apart."""
    policy: Policy
    spent: float = 0.0
    """Units of work that the algorithm and the solver process counted."""

    def seconds_left(self) -> float | None:
        """Time until the limit, less what checking the answer once more is expected to take."""
        if self.limits.seconds is None:
            return None
        return self.limits.seconds - (time.monotonic() - self.began) - self.expected("check", usual=CHECKING)

    def left(self) -> Limits:
        """Return the limits with the time and the work that are left."""
        seconds = self.seconds_left()
        return self.limits.with_seconds(None if seconds is None else max(0.0, seconds)).less(self.spent)

    def left_for_algorithm(self) -> Limits:
        """Return the limits less the time that all is expected to take which follows the algorithm.

        That is what it took beyond its budget before, the check of its answer and a first bound.
        """
        left = self.left()
        if left.seconds is None:
            return left
        after = self.expected("overrun") + self.expected_after()
        return left.with_seconds(max(LEAST_PART * left.seconds, left.seconds - after))

    def expected_after(self) -> float:
        """Return the seconds that all is expected to take which follows an algorithm, but for the check in the end."""
        return self.expected_bound() + sum(self.expected(step) for step in _AFTERWARDS)

    def lateness(self) -> float:
        """Return by how many seconds an answer may be late for what only makes it better."""
        return max(LEAST_LATE, min(BOUND_SECONDS, LATE_PART * (self.limits.seconds or 0.0)))

    def bound_lateness(self) -> float:
        """Return by how many seconds an answer may be late for a first bound: by no more than the limit itself."""
        return max(ALWAYS_SECONDS, min(BOUND_SECONDS, self.limits.seconds or 0.0))

    def expected(self, step: str, *, usual: float = 0.0) -> float:
        """Return the seconds that a step is expected to take."""
        return PACE.expected(step, self.policy.paced_as, len(self.round_.jobs), usual=usual)

    def expected_bound(self) -> float:
        """Return the seconds that a first bound is expected to take."""
        return self.expected("hurried bound") or self.expected("bound")

    def is_late_for(self, step: str, *, by: float = 0.0, usual: float = 0.0) -> bool:
        """Return whether a step is expected to end after the limit, by more than so many seconds."""
        seconds = self.seconds_left()
        return seconds is not None and self.expected(step, usual=usual) > max(seconds, 0.0) + by

    def may_be_late_for(self, step: str) -> bool:
        """Return whether a step would end after the limit if it took twice as long as is expected."""
        seconds = self.seconds_left()
        return seconds is not None and 2 * self.expected(step) > max(seconds, 0.0)

    def leave_out(self, step: str) -> None:
        """Expect less of a step the next time, as it is left out."""
        PACE.left_out(step, self.policy.paced_as, len(self.round_.jobs))

    def remember_stop(self, step: str) -> None:
        """Remember that a step was stopped, as it had used up all the time that was left."""
        PACE.remember_stop(step, self.policy.paced_as, len(self.round_.jobs), self.limits.seconds or 0.0)

    def was_stopped(self, step: str) -> bool:
        """Return whether a step was stopped the last time that it was begun."""
        return PACE.was_stopped(step, self.policy.paced_as, len(self.round_.jobs))

    def remember_overrun(self, budget: Budget, used: float) -> None:
        """Remember by how much an algorithm that used so many seconds went beyond its budget."""
        given = budget.limits.seconds
        if given is not None and used > given:
            PACE.took("overrun", self.policy.paced_as, len(self.round_.jobs), used - given)

    @contextmanager
    def step(self, step: str, phase: str) -> Iterator[None]:
        """Count the time of a step in a phase, and remember how much of the processor it took if it came to its end."""
        tell(step, self.value, self.bound)
        began, used = time.monotonic(), time.thread_time()
        try:
            yield
            PACE.took(step, self.policy.paced_as, len(self.round_.jobs), time.thread_time() - used)
        finally:
            self.count(phase, time.monotonic() - began)

    def count(self, phase: str, seconds: float) -> None:
        """Count seconds in a phase of the search."""
        self.stats = msgspec.structs.replace(self.stats, **{phase: getattr(self.stats, phase) + seconds})
