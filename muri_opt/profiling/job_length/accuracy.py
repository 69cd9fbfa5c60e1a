"""When a job counts as predictable: how well a prediction made earlier has come true."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from muri_opt.errors import InputError
from muri_opt.profiling.job_length.losses import FEWEST_POINTS, NotPredictable, checked_series, fit_losses
from muri_opt.rounds.field_checks import items
from muri_opt.rounds.quantities import finite

PREDICTABLE_FROM: Final = 0.5
"""A job counts as predictable from this accuracy on (the rule of AITurbo's lab)."""
REPEATED_PRIOR: Final = 5926 / 6190
"""Share of predictable jobs among repeated submissions in AITurbo's public job table: 95.7 %."""
FIRST_PRIOR: Final = 1465 / 2502
"""Share of predictable jobs among first submissions in AITurbo's public job table: 58.6 %."""
_MOST: Final = 1e15


def accuracy(predicted: Iterable[float], seen: Iterable[float]) -> float:
    """Return the mean over all predictions of 1 - |predicted - seen| / seen, each clipped to 0..1.

    For losses, times or anything else that is not negative. Where 0 was seen, predicting 0 counts 1, all else 0.
    """
    told = [finite(f"predicted[{i}]", value, _MOST) for i, value in enumerate(items("predicted", predicted))]
    came = [finite(f"seen[{i}]", value, _MOST) for i, value in enumerate(items("seen", seen))]
    if not came or len(told) != len(came):
        raise InputError("predicted", f"{len(told)} values for {len(came)} seen", "one for each seen, at least one")
    return sum(_accuracy(t, c) for t, c in zip(told, came, strict=True)) / len(came)


def loss_accuracy(steps: Iterable[int], losses: Iterable[float]) -> float | NotPredictable:
    """Return how well the curve fitted to the first half of the losses, at least three, predicted the others."""
    k, seen = checked_series(steps, losses)
    first = max(FEWEST_POINTS, k.size // 2)
    if k.size <= first:
        return NotPredictable(
            reason=f"{k.size} of the {FEWEST_POINTS + 1} losses that a prediction and its outcome need"
        )
    fit = fit_losses([int(step) for step in k[:first]], seen[:first])
    if isinstance(fit, NotPredictable):
        return NotPredictable(reason=f"in the first {first} losses {fit.reason}")
    return accuracy((fit.loss(float(step)) for step in k[first:]), seen[first:])


def is_predictable(found: float | NotPredictable) -> bool:
    """Return whether a job of this accuracy counts as predictable."""
    return not isinstance(found, NotPredictable) and finite("accuracy", found, 1.0) >= PREDICTABLE_FROM


def prior(*, repeated: bool) -> float:
    """Return how likely a job is predictable before it has run, by the public job table; nothing here uses it unasked.

    It is a prior, no classifier: the table's rows are predictable more often (85.0 %) than "repeated means
    predictable" is right about them (80.1 %).
    """
    return REPEATED_PRIOR if repeated else FIRST_PRIOR


def _accuracy(predicted: float, seen: float) -> float:
    if seen <= 0:
        return float(predicted <= 0)
    return max(0.0, 1.0 - abs(predicted - seen) / seen)
