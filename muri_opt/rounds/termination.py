"""Why a solve stopped, kept apart from what it found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from muri_opt.errors import InputError


class Reason(StrEnum):
    """What is known at the end.

    >>> solve_round(shipped_round("toy/two-gangs"), "fifo", "exact").termination.reason
    <Reason.OPTIMAL: 'OPTIMAL'>
    """

    OPTIMAL = "OPTIMAL"
    FEASIBLE = "FEASIBLE"
    INFEASIBLE = "INFEASIBLE"
    NO_SOLUTION = "NO_SOLUTION"
    FAILED = "FAILED"


class Limit(StrEnum):
    """What kept a solve from knowing more.

    ``CLAIM``: one solver says that it knows, and nothing proves it. ``SIZE``: the program, or its numbers, are beyond
    what a solver takes.

    >>> Limit.TIME.value
    'TIME'
    """

    TIME = "TIME"
    WORK = "WORK"
    GAP = "GAP"
    HEURISTIC = "HEURISTIC"
    FAULT = "FAULT"
    RELAXATION = "RELAXATION"
    CLAIM = "CLAIM"
    SIZE = "SIZE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Termination:
    """Reason, the limit that was hit (for FEASIBLE and NO_SOLUTION, and only then), and the solver's own words.

    >>> Termination(reason=Reason.FEASIBLE, limit=Limit.TIME).limit
    <Limit.TIME: 'TIME'>
    """

    reason: Reason
    limit: Limit | None = None
    detail: str = ""

    def __post_init__(self) -> None:
        limited = self.reason in (Reason.FEASIBLE, Reason.NO_SOLUTION)
        if limited != (self.limit is not None):
            raise InputError(
                "termination.limit",
                str(self.limit),
                "a limit with FEASIBLE or NO_SOLUTION, and none with OPTIMAL, INFEASIBLE or FAILED",
            )
