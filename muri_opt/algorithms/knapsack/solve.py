"""The whole way: multipliers, an answer, a better answer, and the proof that it is best, as far as limits allow.

In the usual words: Lagrangian bound, Lagrangian heuristic, large neighbourhood search, fixing by reduced costs, and
then the core by enumeration or, where that is too large, by a solver.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from muri_opt.algorithms.knapsack.local_search import enumerated, polished
from muri_opt.algorithms.knapsack.multipliers import Priced, lagrangian
from muri_opt.algorithms.knapsack.options import Ints, Options
from muri_opt.algorithms.knapsack.repair import feasible_choice
from muri_opt.algorithms.knapsack.residual_program import rest_program
from muri_opt.errors import RefusalError
from muri_opt.modelling import Solve
from muri_opt.rounds import Budget, Limit, Limits, Reason, Termination, relative_gap

_WIDTHS = (1_000, 10_000)
_STATES = 5_000_000
"""Widths of the enumeration, and the most states times candidates that jobs have beyond one, for which it is tried."""


class Basis(StrEnum):
    """What the bound of an answer rests on.

    ``MULTIPLIERS``: the prices alone; anybody can check them in one pass over the options. ``ENUMERATION``: the prices
    exclude all but some options, and all combinations of those that could be better were gone through here, in exact
    integers. ``SOLVER``: the prices exclude all but some options, and for those a solver's claim is taken.

    >>> [basis.name for basis in Basis]
    ['MULTIPLIERS', 'ENUMERATION', 'SOLVER']
    """

    MULTIPLIERS = "multipliers"
    ENUMERATION = "enumeration"
    SOLVER = "solver"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answer:
    """An option per job (-1: it waits), what they are worth, a bound on that, and what the bound rests on.

    ``priced`` has the multipliers: whatever ``basis`` is, they prove ``priced.bound`` on their own. Its losses are
    those of ``considered``, the options that are worth something and fit alone. ``left`` is how many columns the
    program for a solver had, 0 if there was none.

    >>> options = Options.of([0, 0, 1], [5, 7, 4], [[1], [2], [1]], [2], jobs=2)
    >>> found = quick_answer(options, Limits())
    >>> found.value, found.bound
    (9, 9)
    """

    choice: Ints
    value: int
    bound: int
    basis: Basis
    termination: Termination
    priced: Priced
    considered: Ints
    left: int = 0
    work: float = 0.0


def quick_answer(options: Options, limits: Limits) -> Answer:
    """Return a good answer and the bound of its multipliers; no solver is needed.

    >>> options = Options.of([0, 0, 1], [5, 7, 4], [[1], [2], [1]], [2], jobs=2)
    >>> quick_answer(options, Limits()).choice
    array([0, 2])
    """
    return _Solve(options, limits).quick()


def solve_options(options: Options, solve_rest: Solve, limits: Limits) -> Answer:
    """Return the best answer, proved, unless a limit ends the search earlier.

    ``solve_rest`` is called at most once, with what multipliers and enumeration leave open; the ``solve`` of a backend
    fits.

    >>> from muri_opt.solve.solvers import backend_named
    >>> options = Options.of([0, 0, 1], [5, 7, 4], [[1], [2], [1]], [2], jobs=2)
    >>> solve_options(options, backend_named("highs").solve, Limits()).value
    9
    """
    return _Solve(options, limits).prove(solve_rest)


class _Solve:
    def __init__(self, options: Options, limits: Limits) -> None:
        self.limits, self.budget = limits, Budget(limits=limits)
        self.considered = options.worthwhile()
        self.options = options.only(self.considered)
        self.priced = lagrangian(self.options)
        self.choice = feasible_choice(self.options, self.priced)
        if self.priced.exact:
            self.choice = polished(self.options, self.priced, self.choice, self.budget)

    def quick(self) -> Answer:
        return self._answer(self.priced.bound, Basis.MULTIPLIERS, Limit.HEURISTIC, "multipliers and local search")

    def prove(self, solve_rest: Solve) -> Answer:
        for width in (None, *_WIDTHS) if self.priced.exact else (None,):
            if width is not None and self._enumerated(width):
                value = self.options.worth(self.choice)
                return self._answer(value, Basis.ENUMERATION, None, "all that could be better was enumerated")
            known = self._within()
            if known is not None:
                return known
        return self._solved(solve_rest)

    def _enumerated(self, width: int) -> bool:
        """Return whether the best choice is known now; where too much is open, look for a better one instead."""
        limit = self.priced.gap(self.options.worth(self.choice))
        spare = int((self.priced.loss <= limit).sum() + (self.priced.idle <= limit).sum()) - self.options.jobs
        if width * spare > _STATES:
            self.choice = polished(self.options, self.priced, self.choice, self.budget, width)
            return False
        found = enumerated(self.options, self.priced, self.choice, width, self.budget)
        self.choice = self.choice if found.choice is None else found.choice
        return found.proved

    def _solved(self, solve_rest: Solve) -> Answer:
        rest = rest_program(self.options, self.priced, self.choice)
        size = rest.model.column_count
        try:
            outcome = solve_rest(rest.model, self.budget.left(), rest.start)
        except RefusalError as refusal:
            detail = f"the rest was refused: {refusal}"
            return self._answer(self.priced.bound, Basis.MULTIPLIERS, Limit.SIZE, detail, size)
        self.budget.spend(outcome.work)
        if outcome.values is not None:
            found = rest.choice(outcome.values.astype(np.int64))
            if self.options.fits(found) and self.options.worth(found) > self.options.worth(self.choice):
                self.choice = found
        said = outcome.termination
        detail = f"{size} columns were left; solver said: {said.detail}"
        if outcome.bound is None or said.limit is Limit.FAULT:
            return self._answer(self.priced.bound, Basis.MULTIPLIERS, said.limit or Limit.FAULT, detail, size)
        bound = max(int(outcome.bound) + rest.worth, self.options.worth(self.choice))
        if bound >= self.priced.bound:
            return self._answer(self.priced.bound, Basis.MULTIPLIERS, said.limit or Limit.FAULT, detail, size)
        return self._answer(bound, Basis.SOLVER, said.limit or Limit.FAULT, detail, size)

    def _within(self) -> Answer | None:
        """Return the answer there is if its gap is small enough already, or the budget is."""
        value, bound = self.options.worth(self.choice), self.priced.bound
        open_ = relative_gap(value, bound)
        if value == bound or (open_ is not None and open_ <= self.limits.gap):
            return self._answer(bound, Basis.MULTIPLIERS, Limit.GAP, "the multipliers prove it")
        if self.budget.over():
            limit = self.budget.limit
            return self._answer(bound, Basis.MULTIPLIERS, limit, "the limit came before the rest was solved")
        return None

    def _answer(self, bound: int, basis: Basis, limit: Limit | None, detail: str, left: int = 0) -> Answer:
        value = self.options.worth(self.choice)
        reason = Reason.OPTIMAL if value == bound else Reason.FEASIBLE
        return Answer(
            choice=np.where(self.choice >= 0, self.considered[self.choice], -1)
            if len(self.considered)
            else self.choice,
            value=value,
            bound=bound,
            basis=basis,
            termination=Termination(reason=reason, limit=None if value == bound else limit, detail=detail),
            priced=self.priced,
            considered=self.considered,
            left=left,
            work=self.budget.spent,
        )
