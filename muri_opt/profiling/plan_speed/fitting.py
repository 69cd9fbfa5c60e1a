"""From a handful of profiled runs to the seven coefficients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from muri_opt.errors import InputError, unknown_name
from muri_opt.profiling.plan_speed.coefficients import COEFFICIENTS, Coefficients
from muri_opt.profiling.plan_speed.formulas import Form, form_named
from muri_opt.profiling.plan_speed.identification import check_identified, unidentified
from muri_opt.profiling.plan_speed.number_checks import within
from muri_opt.profiling.plan_speed.residuals import Floats, Residuals
from muri_opt.profiling.plan_speed.sample import Sample
from muri_opt.profiling.plan_speed.shape import Links
from muri_opt.profiling.plan_speed.transformer import Model

_ROUNDS: Final = 60
_SETTLED: Final = 1e-9
_LEAST_WEIGHT: Final = 1e-6
_STARTS: Final = (
    (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
    (0.75, 0.9, 0.02, 0.3, 0.1, 0.9, 0.9),
    (1.0, 6.0, 0.2, 1.0, 1.0, 2.0, 2.0),
    (0.75, 20.0, 0.2, 1.0, 1.0, 0.9, 1.0),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Coefficients and how good they are.

    ``loss`` is the sum over the measured parts of the root mean square of log(predicted / measured). ``errors`` are the
    relative errors of the iteration times of the samples, in their order; ``held_out`` the same when each is predicted
    from the others, ``None`` where the others cannot identify the coefficients. ``at_bounds`` are coefficients that
    would have gone further.
    """

    coefficients: Coefficients
    loss: float
    errors: tuple[float, ...]
    held_out: tuple[float | None, ...]
    at_bounds: tuple[str, ...]


def fit(
    model: Model,
    links: Links,
    samples: Sequence[Sample],
    *,
    form: str = "published",
    fixed: Mapping[str, float] | None = None,
) -> Fit:
    """Return the coefficients that minimise the loss, within their bounds; the same input gives the same answer.

    ``fixed`` coefficients keep the value given. Samples that leave a free one open are refused, with its name.
    """
    chosen, held = form_named(form), _checked(form, fixed or {})
    if not samples:
        raise InputError("samples", "none", "at least one sample")
    for position, sample in enumerate(samples):
        _check_sample(model, sample, position)
    whole = Residuals(model, links, chosen, samples, held)
    check_identified(whole, chosen)
    best, loss = _search(whole, chosen, _starts(whole, chosen))
    best, loss = _search(whole, chosen, [best, *_brought_back(whole, chosen, best)])
    k = whole.coefficients(best)
    return Fit(
        coefficients=k,
        loss=loss,
        errors=tuple(_error(model, links, chosen, k, sample) for sample in samples),
        held_out=tuple(_left_out(model, links, chosen, samples, held, i, best) for i in range(len(samples))),
        at_bounds=tuple(
            name
            for name, value in zip(COEFFICIENTS, k.values(), strict=True)
            if name not in held and any(abs(value - bound) < 1e-6 for bound in chosen.bounds(name))
        ),
    )


def sample_errors(
    model: Model, links: Links, coefficients: Coefficients, samples: Sequence[Sample], form: str = "published"
) -> tuple[float, ...]:
    """Return the relative errors of the predicted iteration times of samples that had no part in a fit."""
    return tuple(_error(model, links, form_named(form), coefficients, sample) for sample in samples)


def _error(model: Model, links: Links, form: Form, k: Coefficients, sample: Sample) -> float:
    predicted = form.times(model, k, sample.plan, sample.shape(links), sample.forward_ms).iteration
    return abs(predicted - sample.iteration_ms) / sample.iteration_ms


def _left_out(
    model: Model,
    links: Links,
    form: Form,
    samples: Sequence[Sample],
    fixed: Mapping[str, float],
    position: int,
    start: Floats,
) -> float | None:
    """Return the error of one sample predicted from the others, whose fit is near that of all of them."""
    rest = [sample for i, sample in enumerate(samples) if i != position]
    residuals = Residuals(model, links, form, rest, fixed)
    if not rest or unidentified(residuals, form):
        return None
    best, _ = _search(residuals, form, [start])
    return _error(model, links, form, residuals.coefficients(best), samples[position])


def _search(residuals: Residuals, form: Form, starts: Sequence[Floats]) -> tuple[Floats, float]:
    """Return the best free coefficients found from the starts, and their loss.

    The loss is a sum of roots, which a least-squares solver does not take. But a root lies below the straight line that
    touches it, so least squares with each part weighed by one over its present root never makes the loss larger, and
    repeated from where it stopped comes to rest at a minimum of the loss.
    """
    from scipy.optimize import least_squares

    if not residuals.free:
        return starts[0], _loss(residuals, starts[0])
    chosen = [COEFFICIENTS.index(name) for name in residuals.free]
    least, most, usual = (np.array(values)[chosen] for values in (form.least, form.most, form.usual))
    found: list[tuple[float, Floats]] = []
    for start in starts:
        point = np.clip(start, least, most)
        loss = np.inf
        for _ in range(_ROUNDS):
            weights = _weights(residuals, point) if np.isfinite(loss) else np.ones(residuals.part.size)
            answer = least_squares(
                lambda x, w: w * residuals(np.clip(x, least, most)),
                point,
                bounds=(least, most),
                x_scale=np.maximum(usual, 1e-3),
                xtol=1e-10,
                ftol=1e-10,
                gtol=1e-10,
                args=(weights,),
            )
            before, loss = loss, _loss(residuals, answer.x)
            if loss > before - _SETTLED:
                break
            point = answer.x
        found.append((_loss(residuals, point), point))
    loss, point = min(found, key=lambda pair: pair[0])
    return point, loss


def _starts(residuals: Residuals, form: Form) -> list[Floats]:
    """Return where the search begins: usual values, and some that let local minima be told from the best."""
    chosen = [COEFFICIENTS.index(name) for name in residuals.free]
    return [np.array(form.usual)[chosen] * np.array(factors)[chosen] for factors in _STARTS]


def _brought_back(residuals: Residuals, form: Form, best: Floats) -> list[Floats]:
    """Return what was found with its overlaps as usual, or twice that: far out, nothing tells one from another."""
    starts = []
    for factor in (1.0, 2.0):
        start = best.copy()
        for place, name in enumerate(residuals.free):
            if name in ("k_sync", "k_off", "k_swap"):
                start[place] = factor * form.usual[COEFFICIENTS.index(name)]
        starts.append(start)
    return starts


def _roots(residuals: Residuals, point: Floats) -> Floats:
    """Return the root mean square of the residuals of each part; 0 for a part nobody measured."""
    squares = residuals(point) ** 2
    counts = np.bincount(residuals.part, minlength=3)
    totals = np.bincount(residuals.part, weights=squares, minlength=3)
    roots: Floats = np.sqrt(totals / np.maximum(counts, 1))
    return roots


def _loss(residuals: Residuals, point: Floats) -> float:
    return float(_roots(residuals, point).sum())


def _weights(residuals: Residuals, point: Floats) -> Floats:
    """Return the weight of each residual under which least squares lies above the loss and touches it here."""
    counts = np.bincount(residuals.part, minlength=3)
    each = 1 / np.sqrt(np.maximum(_roots(residuals, point), _LEAST_WEIGHT) * np.maximum(counts, 1))
    weights: Floats = each[residuals.part]
    return weights


def _checked(form: str, fixed: Mapping[str, float]) -> dict[str, float]:
    held: dict[str, float] = {}
    for name, value in fixed.items():
        if name not in COEFFICIENTS:
            raise unknown_name("fixed", name, COEFFICIENTS)
        held[name] = within(f"fixed[{name}]", value, *form_named(form).bounds(name))
    return held


def _check_sample(model: Model, sample: Sample, position: int) -> None:
    try:
        sample.plan.micro_batch(model)
    except InputError as error:
        raise error.inside(f"samples[{position}]") from None
