"""The loss curve of a job: l(k) = 1 / (b0 k + b1) + b2, fitted to the losses seen so far."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from muri_opt.errors import InputError
from muri_opt.profiling.job_length.curve_fit import HYPERBOLA, Floats, fit_curve
from muri_opt.rounds.error_text import shown
from muri_opt.rounds.field_checks import items
from muri_opt.rounds.quantities import MAX_ITERATIONS, finite, whole

MOST_LOSS: Final = 1e12
FEWEST_POINTS: Final = 3
SEGMENTS: Final = 3
SEGMENT_WEIGHT: Final = 16.0
_LEAST_LOSS: Final = 1e-100
_LEAST_FALL: Final = 1e-9
_MOST_COEFFICIENT: Final = 1e150
_SHAPES: Final = (math.log(1e-9), math.log(1e6))


@dataclass(frozen=True, slots=True, kw_only=True)
class NotPredictable:
    """There is no prediction yet, and why not."""

    reason: str

    def __str__(self) -> str:
        return f"not predictable yet: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LossFit:
    """A fitted loss curve l(k) = 1 / (b0 k + b1) + b2: falls from 1 / b1 + b2 at step 0 towards ``b2``.

    ``points`` is how many losses it was fitted to, ``error`` the root of their weighted mean squared error.
    """

    b0: float
    b1: float
    b2: float
    points: int = 0
    error: float = 0.0

    def __post_init__(self) -> None:
        for name, positive in (("b0", True), ("b1", False), ("b2", False), ("error", False)):
            value = finite(name, getattr(self, name), _MOST_COEFFICIENT, positive=positive)
            object.__setattr__(self, name, value)
        object.__setattr__(self, "points", whole("points", self.points, MAX_ITERATIONS))

    def loss(self, step: float) -> float:
        """Return the fitted loss after so many steps."""
        below = self.b0 * finite("step", step, float(MAX_ITERATIONS)) + self.b1
        if below <= 0:
            raise InputError("step", shown(step), "a step above 0, as the curve has no value at 0 (b1 is 0)")
        return 1 / below + self.b2


def fit_losses(steps: Iterable[int], losses: Iterable[float]) -> LossFit | NotPredictable:
    """Return the curve nearest to the losses, late ones weighing more, or why there is none yet.

    The points are cut into three consecutive segments as equal as can be; the squared errors of a segment weigh 16
    times those of the segment before it (Optimus). Steps are whole numbers that grow, losses are finite and not
    negative; anything else is refused. Too few losses, or losses that do not fall, are no fault: they are not
    predictable yet.
    """
    k, seen = checked_series(steps, losses)
    if k.size < FEWEST_POINTS:
        return NotPredictable(reason=f"{k.size} of the {FEWEST_POINTS} losses that a curve needs")
    segment = np.arange(k.size) * SEGMENTS // k.size
    highest = float(seen.max())
    if highest < _LEAST_LOSS or highest - float(seen.min()) <= _LEAST_FALL * highest:
        return NotPredictable(reason="the losses are constant")
    if seen[segment == SEGMENTS - 1].mean() >= seen[segment == 0].mean():
        return NotPredictable(reason="the losses do not fall: the last third is no lower than the first")
    weights = SEGMENT_WEIGHT**segment
    return _fitted(k, seen / highest, weights / weights.sum(), highest)


def _fitted(k: Floats, y: Floats, weights: Floats, unit: float) -> LossFit | NotPredictable:
    """Return the fit to losses in parts of ``unit``, with steps counted from the first one in parts of their range."""
    first, span = float(k[0]), float(k[-1] - k[0])
    least = max(_SHAPES[0], math.log(first / span)) if first else _SHAPES[0]  # b1 is not negative
    shapes = (least, max(_SHAPES[1], least + 1))
    curve = fit_curve(HYPERBOLA, (k - first) / span, y, weights, shapes)
    if not curve.settled:
        return NotPredictable(reason="the fit did not come to rest")
    u = math.exp(curve.s)
    if curve.c / (1 + u) <= _LEAST_FALL:
        return NotPredictable(reason="the losses do not fall as a loss curve does")
    b0 = 1 / (curve.c * u * unit * span)
    return LossFit(
        b0=b0,
        b1=max(b0 * (u * span - first), 0.0),
        b2=curve.d * unit,
        points=k.size,
        error=math.sqrt(curve.error) * unit,
    )


def checked_series(steps: Iterable[int], losses: Iterable[float]) -> tuple[Floats, Floats]:
    """Return steps and losses as arrays, or refuse what no run can have seen."""
    k: list[int] = []
    for position, step in enumerate(items("steps", steps)):
        k.append(whole(f"steps[{position}]", step, MAX_ITERATIONS))
        if position and k[-1] <= k[-2]:
            raise InputError(f"steps[{position}]", f"{k[-1]} after {k[-2]}", "steps that grow from one to the next")
    seen = [finite(f"losses[{i}]", loss, MOST_LOSS) for i, loss in enumerate(items("losses", losses))]
    if len(k) != len(seen):
        raise InputError("losses", f"{len(seen)} losses for {len(k)} steps", "one loss for every step")
    return np.array(k, dtype=np.float64), np.array(seen, dtype=np.float64)
