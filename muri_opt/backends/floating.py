"""What the solvers that compute in floating point have in common: their limits, their infinities, their answers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from muri_opt.backends.answer import Outcome, nothing, rounded, something
from muri_opt.backends.base import Capabilities
from muri_opt.modelling import INFINITY, Ints, Model, Number
from muri_opt.solution import Limit, Reason

_LARGEST_SUM = 2**50
"""Of a row or a column: a float of this size still counts in quarters."""


def floating(largest_objective: int) -> Capabilities:
    """Return the capabilities of a floating-point solver that tells objective values apart up to ``largest_objective``.

    The numbers are where answers held against exhaustive search and CP-SAT were seen to go wrong, on small models made
    to be off by one. Coefficients of rows end at 10**6, the inverse of the solvers' tolerance: up to there HiGHS and
    SCIP were right in all of 3,000 and 1,700 models, CBC in all but two of 2,000; at 10**7 HiGHS took four in a hundred
    wrong. Tighter tolerances are no way out: they make HiGHS wrong where it was right, and near 1e-9 crash. Weights of
    the objective end at 10**9: 318 models were right on every solver; at 10**10 HiGHS was wrong in two of 600.
    """
    return Capabilities(
        continuous=True,
        unbounded_columns=True,
        native_logic=False,
        largest_coefficient=10**6,
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
