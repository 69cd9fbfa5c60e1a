"""How long a solve may take, how good it must be, and what makes it repeat itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from muri_opt.rounds.quantities import finite, whole

DEFAULT_SECONDS: Final = 10.0
"""Seconds of a call that names neither seconds nor work."""
LEAST_WORK: Final = 1e-6
"""The least work there is; whoever has no more than this does not begin."""
_NOT_SAID: Final = float("nan")
"""Default of ``seconds``, told from all else by identity: it depends on whether work is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds and units of work for the whole call (``None``: no limit), gap to stop at, solver threads and seed.

    ``gap`` is relative. Without seconds and work a call has 10 seconds; with work and no word on seconds it has the
    work only. A unit of work is about a second of one core, but it is counted in steps of the searches and not by a
    clock: with work, no seconds and one thread, the same call gives the same answer on a slow machine and a fast one.
    Where both are given the first to be used up ends the call, and only if that was the work is the answer repeatable.

    >>> Limits(work=2).work
    2.0
    """

    seconds: float | None = _NOT_SAID
    work: float | None = None
    gap: float = 0.0
    threads: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if self.seconds is _NOT_SAID:
            object.__setattr__(self, "seconds", DEFAULT_SECONDS if self.work is None else None)
        elif self.seconds is not None:
            object.__setattr__(self, "seconds", finite("limits.seconds", self.seconds, 1e9))
        if self.work is not None:
            work = finite("limits.work", self.work, 1e9, positive=True)
            object.__setattr__(self, "work", max(LEAST_WORK, work))
        object.__setattr__(self, "gap", finite("limits.gap", self.gap, 1e9))
        object.__setattr__(self, "threads", whole("limits.threads", self.threads, 1024, least=1))
        object.__setattr__(self, "seed", whole("limits.seed", self.seed, 2**31 - 1))

    def with_seconds(self, seconds: float | None) -> Limits:
        """Return the same limits with another time."""
        return replace(self, seconds=seconds)

    def less(self, spent: float) -> Limits:
        """Return the same limits after so much of the work."""
        return self if self.work is None else replace(self, work=max(LEAST_WORK, self.work - spent))

    @property
    def nothing_left(self) -> bool:
        """Whether a call with these limits cannot begin."""
        return self.seconds == 0 or (self.work is not None and self.work <= LEAST_WORK)


def relative_gap(value: int, bound: int) -> float | None:
    """Return |bound - value| / max(1, |value|), the share still open; ``None`` where no float can hold it."""
    try:
        return abs(bound - value) / max(1, abs(value))
    except OverflowError:
        return None
