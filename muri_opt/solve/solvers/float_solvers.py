"""What the solvers that compute in floating point have in common: their limits, their infinities, their answers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import INFINITY, Ints, Model, Number
from muri_opt.rounds import Limit, Reason
from muri_opt.solve.solvers.base import Capabilities
from muri_opt.solve.solvers.outcome import Outcome, nothing, rounded, something

_LARGEST_SUM = 2**50
"""Of a row or a column: a float of this size still counts in quarters."""


def floating(*, largest_coefficient: int, largest_objective: int) -> Capabilities:
    """Return the capabilities of a solver that computes in floating point.

    The limits are where answers were seen to go wrong when held against exhaustive search and CP-SAT, on small random
    models made to be off by one. Below them answers are seldom wrong, not never: with coefficients of 10**6, HiGHS
    called one of 5,965 optimal that was not, and CBC two of 2,099. At 10**7 CBC was wrong, or broke a row, in one of
    200. Weights of 10**9 in the objective came out right in all of 318 models, of 10**10 wrong in two of 600 on HiGHS.
    """
    return Capabilities(
        continuous=True,
        unbounded_columns=True,
        largest_coefficient=largest_coefficient,
        largest_weight=10**9,
        largest_objective=largest_objective,
        largest_sum=_LARGEST_SUM,
    )


def with_infinities(bounds: Ints) -> NDArray[np.float64]:
    """Return bounds as floats, with true infinities for missing ones."""
    floats = bounds.astype(np.float64)
    floats[bounds >= INFINITY] = np.inf
    floats[bounds <= -INFINITY] = -np.inf
    return floats


def claimed(
    model: Model, values: NDArray[np.float64], detail: str, limit: Limit | None, bound: Number | None
) -> Outcome:
    """Return the outcome for a solver's floating values; integer columns that are not whole are a failure."""
    whole = rounded(model, values)
    if whole is None:
        return nothing(Reason.FAILED, f"integer columns are not whole; solver said: {detail}")
    return something(whole, detail, limit, bound)
