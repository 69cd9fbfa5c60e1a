"""What is left of the limits of a call while it runs: seconds by the clock, work by counting.

Searches ask :meth:`Budget.over` instead of a clock, and say with :meth:`Budget.spend` what each step costs. The cost is
an estimate in seconds of one core, made from counts alone (states, cells, iterations), so that it is the same wherever
the step is done. It need not be exact: it only has to grow with the time that the step takes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from math import inf

from muri_opt.rounds.limits import LEAST_WORK, Limits
from muri_opt.rounds.termination import Limit


def _now() -> float:
    return time.monotonic()


@dataclass(slots=True)
class _Meter:
    """Work spent by all budgets that came from one."""

    spent: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The limits of a call and how much of them is used; ``Budget(limits=...)`` begins now.

    Parts of a budget (:meth:`until`, :meth:`share`) end earlier and count into the same meter.
    """

    limits: Limits
    began: float = field(default_factory=_now)
    before: float = 0.0
    meter: _Meter = field(default_factory=_Meter)

    @property
    def spent(self) -> float:
        """Units of work spent since the beginning."""
        return self.meter.spent - self.before

    @property
    def limited(self) -> bool:
        """Whether it can ever be used up."""
        return self.limits.seconds is not None or self.limits.work is not None

    @property
    def deadline(self) -> float:
        """The moment of ``time.monotonic`` at which its seconds are over; infinity where it has no limit in seconds."""
        return inf if self.limits.seconds is None else self.began + self.limits.seconds

    @property
    def limit(self) -> Limit:
        """What a search that ends because the budget is over says."""
        return Limit.WORK if self.limits.work is not None and self.spent >= self.limits.work else Limit.TIME

    def spend(self, units: float) -> None:
        """Count a step."""
        self.meter.spent += units

    def over(self) -> bool:
        """Return whether nothing is left. Without a limit of seconds no clock is looked at."""
        seconds, work = self.limits.seconds, self.limits.work
        if work is not None and work - self.spent <= LEAST_WORK:
            return True
        return seconds is not None and _now() - self.began >= seconds

    def left(self) -> Limits:
        """Return the limits of a call that may use up all that is left."""
        limits = self.limits.less(self.spent)
        if limits.seconds is None:
            return limits
        return limits.with_seconds(max(0.0, limits.seconds - (_now() - self.began)))

    def until(self, part: float) -> Budget:
        """Return the budget that ends when this part of the whole is used up, whoever used it."""
        return replace(self, limits=_scaled(self.limits, part))

    def share(self, part: float) -> Budget:
        """Return a budget of this part of what is left; it begins now."""
        return Budget(limits=_scaled(self.left(), part), before=self.meter.spent, meter=self.meter)


def unlimited() -> Budget:
    """Return a budget that is never over."""
    return Budget(limits=Limits(seconds=None))


def _scaled(limits: Limits, part: float) -> Limits:
    return replace(
        limits,
        seconds=None if limits.seconds is None else part * limits.seconds,
        work=None if limits.work is None else max(LEAST_WORK, part * limits.work),
    )
