"""Least squares for curves c g(x; s) + d with c and d not negative: a search in one dimension, so no start to guess.

For a given shape ``s`` the other two coefficients follow in closed form. So the shape is scanned over its whole range,
refined between the neighbours of the best point, and the three together are polished by scipy's bounded least squares.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

_SCANNED: Final = 241
_MOST_EVALUATIONS: Final = 1000
_TOLERANCE: Final = 1e-15
_FLAT: Final = 1e-24


class Family(NamedTuple):
    """Curves g(x; s) and their derivative by s, for x in 0..1."""

    value: Callable[[Floats, float], Floats]
    slope: Callable[[Floats, float], Floats]


class Curve(NamedTuple):
    """The curve c g(x; s) + d nearest to some points, its mean squared error, and whether the search came to rest."""

    c: float
    s: float
    d: float
    error: float
    settled: bool


def _hyperbola(x: Floats, s: float) -> Floats:
    u = math.exp(s)
    value: Floats = u / (x + u)
    return value


def _hyperbola_slope(x: Floats, s: float) -> Floats:
    u = math.exp(s)
    slope: Floats = (u / (x + u)) * (x / (x + u))
    return slope


def _saturation(x: Floats, s: float) -> Floats:
    value: Floats = -np.exp(-math.exp(s) * x)
    return value


def _saturation_slope(x: Floats, s: float) -> Floats:
    b = math.exp(s)
    slope: Floats = b * x * np.exp(-b * x)
    return slope


HYPERBOLA: Final = Family(_hyperbola, _hyperbola_slope)
"""u / (x + u) with u = exp(s): falls from 1 towards 0."""
SATURATION: Final = Family(_saturation, _saturation_slope)
"""-exp(-b x) with b = exp(s): rises from -1 towards 0."""


def fit_curve(family: Family, x: Floats, y: Floats, weights: Floats, shapes: tuple[float, float]) -> Curve:
    """Return the curve with the least weighted squared error whose shape lies within ``shapes``.

    The values of ``y`` are not negative and of the size of 1; the weights add up to 1.
    """
    from scipy.optimize import least_squares, minimize_scalar

    least, most = shapes

    def error(s: float) -> float:
        return _best_given(family.value(x, s), y, weights)[2]

    scanned = np.linspace(least, most, _SCANNED)
    best = int(np.argmin([error(s) for s in scanned]))
    between = (scanned[max(best - 1, 0)], scanned[min(best + 1, _SCANNED - 1)])
    refined = minimize_scalar(error, bounds=between, method="bounded", options={"xatol": 1e-12})
    s = min((float(scanned[best]), float(refined.x)), key=error)
    c, d, _ = _best_given(family.value(x, s), y, weights)
    roots = np.sqrt(weights)

    def residuals(p: Floats) -> Floats:
        away: Floats = roots * (p[0] * family.value(x, p[1]) + p[2] - y)
        return away

    def jacobian(p: Floats) -> Floats:
        columns = (family.value(x, p[1]), p[0] * family.slope(x, p[1]), np.ones(x.size))
        slopes: Floats = roots[:, None] * np.stack(columns, axis=1)
        return slopes

    polished = least_squares(
        residuals,
        (c, s, d),
        jac=jacobian,
        bounds=((0.0, least, 0.0), (np.inf, most, np.inf)),
        xtol=_TOLERANCE,
        ftol=_TOLERANCE,
        gtol=_TOLERANCE,
        max_nfev=_MOST_EVALUATIONS,
    )
    if 2 * polished.cost < error(s):
        c, s, d = (float(value) for value in polished.x)
        d = d if d > _TOLERANCE else 0.0  # the solver keeps off a bound by less than y is rounded
    return Curve(c, s, d, float(np.sum(residuals(np.array((c, s, d))) ** 2)), bool(polished.success))


def _best_given(g: Floats, y: Floats, weights: Floats) -> tuple[float, float, float]:
    """Return the best c and d that are not negative, for a curve of this shape, and the weighted squared error."""
    mean_g, mean_y = float(weights @ g), float(weights @ y)
    away = g - mean_g
    spread = float(weights @ away**2)
    c = max(float(weights @ (away * (y - mean_y))) / spread, 0.0) if spread > _FLAT else 0.0
    d = mean_y - c * mean_g
    if d < 0:
        c, d = float(weights @ (g * y)) / float(weights @ g**2), 0.0
    return c, d, float(weights @ (c * g + d - y) ** 2)
