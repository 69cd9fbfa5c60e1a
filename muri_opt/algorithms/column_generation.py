"""Column generation with smoothed multipliers, for linear programs with more columns than can be written down.

The program maximises. It is split by multipliers of the rows that its parts have in common (Dantzig and Wolfe 1960).
At any multipliers the best column of every part gives a bound on all solutions (the Lagrangian bound), and those that
are better than what the known columns pay are taken up. The program over the known columns, the restricted master,
tells the next multipliers. These jump from turn to turn, so a share of the best ones so far is mixed in (the smoothing
of Wentges 1997); the share falls when it leads to few new columns, at last to nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from muri_opt.rounds import Budget

M = TypeVar("M")
MOST_TURNS: Final = 10_000


class Turn(NamedTuple):
    """What no solution is worth more than, by some multipliers, and how many columns were new at them."""

    bound: float | Fraction
    new: int


class Told(NamedTuple, Generic[M]):
    """The multipliers of the restricted master, and its value: no multipliers bound the known columns by less."""

    multipliers: M
    value: float


class Columns(Protocol[M]):
    """The columns known so far: what a problem supplies."""

    def price(self, multipliers: M) -> Turn:
        """Take up the columns that are better at these multipliers than the known ones; return the bound."""

    def solve_master(self, budget: Budget) -> Told[M] | None:
        """Return what the program over the known columns tells, or ``None`` if the budget was over before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Smoothing(Generic[M]):
    """How multipliers are mixed: ``between(best, told, share)`` has ``share`` of the best ones.

    The share is halved when fewer than ``few`` columns are new; from ``least`` on it is nothing.
    """

    between: Callable[[M, M, float], M]
    share: float
    few: float = 1
    least: float


class Best(NamedTuple, Generic[M]):
    """The multipliers with the smallest bound that were found."""

    multipliers: M
    bound: float | Fraction


def generate_columns(
    columns: Columns[M],
    start: M,
    budget: Budget,
    *,
    smoothing: Smoothing[M] | None = None,
    close: float = 0.0,
    enough: Callable[[float | Fraction], bool] = lambda _: False,
    turns: int = MOST_TURNS,
) -> Best[M]:
    """Return the best multipliers found from ``start`` on.

    The search ends when there are no new columns at the master's own multipliers, when bound and master are as
    ``close`` as this part of the bound, when the bound is ``enough``, or with the budget.
    """
    best, tried = Best(start, float("inf")), start
    share = 0.0 if smoothing is None else smoothing.share
    told: Told[M] | None = None
    for _ in range(turns):
        priced = columns.price(tried)
        if priced.bound < best.bound:
            best = Best(tried, priced.bound)
        if enough(best.bound) or (not priced.new and told is not None and tried is told.multipliers):
            break
        if smoothing is not None and priced.new < smoothing.few:
            share = share / 2 if share > smoothing.least else 0.0
        told = None if budget.over() else columns.solve_master(budget)
        if told is None or best.bound - told.value <= close * max(1.0, abs(float(best.bound))):
            break
        tried = told.multipliers
        if smoothing is not None and share:
            tried = smoothing.between(best.multipliers, tried, share)
    return best
