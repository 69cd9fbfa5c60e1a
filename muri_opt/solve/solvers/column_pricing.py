"""Packing programs with far more columns than rows: price the columns, and solve over the few that matter.

For a maximisation with rows of sense <= only, any multipliers y >= 0 of the rows bound the optimum by b.y plus what the
reduced costs c - A'y of columns at their upper bounds add. Columns are taken in by reduced cost until the linear
relaxation over all of them is solved. A column whose reduced cost is below minus the gap between that bound and a known
value is 0 in every better solution, so that the program over the others has the same optimum.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import INFINITY, Columns, Ints, Model, Rows, Values
from muri_opt.rounds import Budget, Limits, Reason, unlimited
from muri_opt.rounds.memoise import last_recalled
from muri_opt.solve.solvers.base import Backend
from muri_opt.solve.solvers.highs import relaxation_duals
from muri_opt.solve.solvers.outcome import Outcome

Floats = NDArray[np.float64]
WIDE = 2_000
"""Columns from which, and times the rows by which, a program counts as wide."""
_TIMES_ROWS = 10
_BATCH = 400
_OF_A_ROW = 10
"""Columns of every row that pricing begins with."""
_TOLERANCE = 1e-6
_PRICING = 1e-8
"""Work to price a coefficient."""


def is_wide(model: Model) -> bool:
    """Return whether the model is a packing program with far more columns than rows."""
    packing = model.maximise and bool((model.lower == 0).all())
    packing = packing and all(family.sense == "<=" and bool((family.rhs >= 0).all()) for family in model.rows)
    plain = len(model.columns) == 1 and model.columns[0].integer
    size = model.column_count
    return (
        packing and plain and size >= max(WIDE, _TIMES_ROWS * model.row_count) and bool((model.upper < INFINITY).all())
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Priced:
    """The linear relaxation of a wide program: row duals, reduced costs, its value, and the columns it needed."""

    duals: Floats
    reduced: Floats
    bound: float
    columns: Ints


def priced(model: Model, budget: Budget | None) -> Priced | None:
    """Return the solved linear relaxation, or ``None`` if the budget was used up.

    A round asks twice, for a bound and before it solves. The second time is the answer of the first, and counts as the
    same work, so that what is decided within a budget of work does not depend on what is remembered.
    """
    return _pricing(model).within(unlimited() if budget is None else budget)


@dataclass(slots=True)
class _Pricing:
    """The columns of a program, priced once."""

    model: Model
    found: Priced | None = None
    work: float = 0.0

    def within(self, budget: Budget) -> Priced | None:
        """Return what was found before, if its work is left in the budget, else price them now."""
        left = budget.left().work
        if self.found is not None and (left is None or left > self.work):
            budget.spend(self.work)
            return self.found
        before = budget.spent
        found = _priced(self.model, budget)
        if found is not None:
            self.found, self.work = found, budget.spent - before
        return found


@last_recalled
def _pricing(model: Model) -> _Pricing:
    return _Pricing(model)


def _priced(model: Model, within: Budget) -> Priced | None:
    matrix = _matrix(model)
    cost = model.objective.astype(np.float64)
    rhs = model.matrix.upper.astype(np.float64)
    use = np.asarray(matrix.sum(axis=0)).ravel()
    taken = np.zeros(model.column_count, dtype=np.bool_)
    taken[np.argsort(-cost / np.maximum(use, 1), kind="stable")[: 4 * _BATCH]] = True
    taken[_dearest_of_rows(model, cost)] = True  # some columns of every row, or it has no price to begin with
    while True:
        columns = np.flatnonzero(taken)
        within.spend(_PRICING * len(matrix.data))
        duals = relaxation_duals(restricted(model, columns), within)
        if duals is None:
            return None
        duals = np.maximum(duals, 0.0)
        reduced = cost - matrix.T @ duals
        better = np.flatnonzero((reduced > _TOLERANCE * max(1.0, float(cost.max(initial=0.0)))) & ~taken)
        if not len(better):
            value = float(rhs @ duals + np.maximum(reduced, 0.0) @ np.where(reduced > 0, model.upper, 0))
            return Priced(duals=duals, reduced=reduced, bound=value, columns=columns)
        taken[better[np.argsort(-reduced[better], kind="stable")[:_BATCH]]] = True


def _dearest_of_rows(model: Model, cost: Floats) -> Ints:
    """Return of every row the columns that are worth most, of equal ones the first."""
    rank = np.empty(len(cost), dtype=np.int64)
    rank[np.argsort(-cost, kind="stable")] = np.arange(len(cost))
    matrix = model.matrix
    found = []
    for first, end in pairwise(matrix.starts.tolist()):
        inside = matrix.columns[first:end]
        if len(inside) > _OF_A_ROW:
            inside = inside[np.argpartition(rank[inside], _OF_A_ROW)[:_OF_A_ROW]]
        found.append(inside)
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)


def solve_wide(backend: Backend, model: Model, limits: Limits, start: Values | None) -> Outcome:
    """Return the outcome of a wide program: first over the priced columns, then over all that could still matter."""
    began, budget = time.monotonic(), Budget(limits=limits)
    relaxation = priced(model, budget)
    if relaxation is None:
        outcome = backend.solve(model, budget.left(), start)
        return replace(outcome, work=budget.spent + outcome.work)
    bound = int(np.floor(relaxation.bound + _TOLERANCE * max(1.0, abs(relaxation.bound))))
    first = relaxation.columns if start is None else np.union1d(relaxation.columns, np.flatnonzero(start))
    outcome = _over(backend, model, first, budget.share(0.3).left(), start)
    budget.spend(outcome.work)
    if outcome.value is not None and outcome.value < bound and outcome.values is not None:
        gap = bound - int(outcome.value) + 1
        matter = np.union1d(np.flatnonzero(relaxation.reduced >= -gap), np.flatnonzero(outcome.values))
        outcome = _over(backend, model, matter, budget.left(), outcome.values)
        budget.spend(outcome.work)
        bound = min(bound, int(outcome.bound)) if outcome.bound is not None else bound
    outcome = replace(outcome, solve_seconds=time.monotonic() - began, work=budget.spent)
    if outcome.value is None:  # a bound over some columns says nothing of the others
        return replace(outcome, bound=bound if outcome.termination.reason is Reason.NO_SOLUTION else None)
    if outcome.termination.reason is Reason.OPTIMAL:
        return outcome
    return replace(outcome, bound=max(bound, int(outcome.value)))


def restricted(model: Model, columns: Ints) -> Model:
    """Return the model over some of its columns, those of a family beside each other; the others are 0."""
    matrix = _matrix(model)[:, columns].tocsr()
    matrix.sort_indices()
    rows, offset = [], 0
    for part in model.rows:
        starts = matrix.indptr[offset : offset + len(part) + 1].astype(np.int64)
        span = slice(starts[0], starts[-1]) if len(part) else slice(0, 0)
        rows.append(
            Rows(
                label=part.label,
                index=part.index,
                sense=part.sense,
                rhs=part.rhs,
                starts=starts - (starts[0] if len(starts) else 0),
                columns=matrix.indices[span].astype(np.int64),
                coefficients=np.rint(matrix.data[span]).astype(np.int64),
            )
        )
        offset += len(part)
    families, offset = [], 0
    for family in model.columns:
        own = columns[(columns >= offset) & (columns < offset + len(family))] - offset
        families.append(
            Columns(
                label=family.label,
                index=family.index[own],
                lower=family.lower[own],
                upper=family.upper[own],
                integer=family.integer,
            )
        )
        offset += len(family)
    return replace(model, columns=tuple(families), objective=model.objective[columns], rows=tuple(rows))


def _over(backend: Backend, model: Model, columns: Ints, limits: Limits, start: Values | None) -> Outcome:
    outcome = backend.solve(restricted(model, columns), limits, None if start is None else start[columns])
    if outcome.values is None:
        return outcome
    values = np.zeros(model.column_count, dtype=np.int64)
    values[columns] = outcome.values
    return replace(outcome, values=values)


@last_recalled
def _matrix(model: Model) -> Any:
    """Return the rows as a sparse matrix by columns."""
    from scipy.sparse import csr_matrix

    matrix = model.matrix
    shape = (model.row_count, model.column_count)
    return csr_matrix((matrix.coefficients.astype(np.float64), matrix.columns, matrix.starts), shape=shape).tocsc()
