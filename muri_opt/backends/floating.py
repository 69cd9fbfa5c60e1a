"""What the solvers that compute in floating point have in common: their limits, tolerances and infinities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from muri_opt.backends.answer import Outcome, nothing, rounded, something
from muri_opt.backends.base import Capabilities
from muri_opt.modelling import INFINITY, Ints, Model, Number
from muri_opt.solution import Limit, Reason

_ROWS = 2**50
"""Largest sum of a row: a float of this size still counts in quarters."""


def floating(largest_objective: int) -> Capabilities:
    """Return the capabilities of a floating-point solver that tells objective values apart up to ``largest_objective``.

    Coefficients end at 10**9 because tolerances end at 1e-9 (see :func:`row_tolerance`). Held against CP-SAT at that
    size, none of 318 packings and knapsacks came out wrong on any solver. At 10**10 CBC and SCIP called three and four
    of 25 wrong answers optimal (in the rows), and HiGHS two of 600 (in the objective).
    """
    return Capabilities(
        continuous=True,
        unbounded_columns=True,
        native_logic=False,
        largest_coefficient=10**9,
        largest_objective=largest_objective,
        largest_sum=_ROWS,
    )


def with_infinities(bounds: Ints) -> NDArray[np.float64]:
    """Return bounds as floats, with true infinities for missing ones."""
    floats = bounds.astype(np.float64)
    floats[bounds >= INFINITY] = np.inf
    floats[bounds <= -INFINITY] = -np.inf
    return floats


def row_tolerance(model: Model) -> float:
    """Return the integrality tolerance at which rounding the integer columns cannot break a row of whole numbers.

    A broken row of whole numbers is broken by at least 1, and rounding moves it by at most the tolerance times the sum
    of its coefficients (and of its right side, for SCIP's tolerance is relative to that): half of 1 over the largest
    such sum is safe. Solvers work between 1e-6 (their default) and
    1e-9; beyond that the exact check of the answer is the only guard.
    """
    matrix = model.matrix
    owner = np.repeat(np.arange(len(matrix.lower)), np.diff(matrix.starts))
    sums = np.bincount(owner, weights=np.abs(matrix.coefficients), minlength=len(matrix.lower))
    sides = np.abs(np.where(np.abs(matrix.lower) < INFINITY, matrix.lower, matrix.upper))
    return float(np.clip(0.5 / max(1.0, (sums + sides).max(initial=0.0)), 1e-9, 1e-6))


def claimed(
    model: Model, values: NDArray[np.float64], detail: str, limit: Limit | None, bound: Number | None
) -> Outcome:
    """Return the outcome for a solver's floating values; integer columns that are not whole are a failure."""
    whole = rounded(model, values)
    if whole is None:
        return nothing(Reason.FAILED, f"integer columns are not whole; solver said: {detail}")
    return something(whole, detail, limit, bound)
