"""How far a set of coefficients is from the samples: logarithms of predicted over measured times, part by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from muri_opt.profiling.plan_speed.coefficients import COEFFICIENTS, Coefficients
from muri_opt.profiling.plan_speed.formulas import Form
from muri_opt.profiling.plan_speed.sample import Sample
from muri_opt.profiling.plan_speed.shape import Links
from muri_opt.profiling.plan_speed.transformer import Model

Floats = NDArray[np.float64]


class Residuals:
    """The residuals of samples as a function of the coefficients that are free.

    ``part[i]`` says which part of an iteration residual i belongs to.
    """

    def __init__(
        self, model: Model, links: Links, form: Form, samples: Sequence[Sample], fixed: Mapping[str, float]
    ) -> None:
        self.free = tuple(name for name in COEFFICIENTS if name not in fixed)
        self._fixed = dict(fixed)
        self._model, self._form = model, form
        self._runs = [(sample.plan, sample.shape(links), sample.forward_ms) for sample in samples]
        measured = [[t is not None for t in sample.times] for sample in samples]
        self._measured: NDArray[np.bool_] = np.array(measured, dtype=bool).reshape(-1, 3)
        logs = [[np.log(t) if t is not None else 0.0 for t in sample.times] for sample in samples]
        self._logs: Floats = np.array(logs, dtype=np.float64).reshape(-1, 3)
        self.part: NDArray[np.int64] = np.broadcast_to(np.arange(3), self._logs.shape)[self._measured]

    def coefficients(self, free: Floats) -> Coefficients:
        """Return all seven coefficients, of which the free ones have these values."""
        return Coefficients(**self._fixed, **{name: float(x) for name, x in zip(self.free, free, strict=True)})

    def __call__(self, free: Floats) -> Floats:
        """Return log(predicted / measured) of everything that was measured."""
        k = self.coefficients(free)
        times = [self._form.times(self._model, k, plan, shape, forward) for plan, shape, forward in self._runs]
        # A part may be predicted to take no time at all, with all its coefficients at 0; a logarithm cannot say that.
        predicted = np.maximum(np.array(times, dtype=np.float64).reshape(-1, 3), 1e-9)
        found: Floats = (np.log(predicted) - self._logs)[self._measured]
        return found
