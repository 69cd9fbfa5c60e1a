"""Can the samples tell the coefficients apart? Which of them not, and why."""

from __future__ import annotations

from typing import Final

import numpy as np

from muri_opt.errors import InputError
from muri_opt.profiling.plan_speed.coefficients import COEFFICIENTS
from muri_opt.profiling.plan_speed.formulas import Form
from muri_opt.profiling.plan_speed.residuals import Floats, Residuals

_STEP: Final = 1e-5
_RANK: Final = 1e-7
_PRESENT: Final = 1e-3

_SEEN_IN: Final = {
    "k_bwd": "any plan, with exchange_ms or at several numbers of GPUs",
    "k_sync": "plans on several GPUs, at two numbers of them",
    "k_opt": "replicated and zero plans at several numbers of GPUs, with step_ms",
    "k_opt_offload": "offload plans with several numbers of CPUs per GPU",
    "k_const": "any plan, with exchange_ms and step_ms",
    "k_off": "offload plans, with exchange_ms",
    "k_swap": "offload plans with several numbers of CPUs per GPU, with step_ms",
}


def check_identified(residuals: Residuals, form: Form) -> None:
    """Refuse samples that leave some coefficient open, and name every one they leave open.

    Looks at how the residuals change with each coefficient at usual values: a direction in which nothing changes is a
    combination of coefficients the samples are silent about. Noise has no part in it.
    """
    unknown = unidentified(residuals, form)
    if unknown:
        wanted = "; ".join(f"{name} shows in {_SEEN_IN[name]}" for name in unknown)
        raise InputError(
            "samples",
            f"nothing that tells {', '.join(unknown)}",
            f"samples that identify every coefficient, or a fixed value for it ({wanted})",
        )


def unidentified(residuals: Residuals, form: Form) -> tuple[str, ...]:
    """Return the free coefficients that the samples cannot tell, in order."""
    usual = np.array([dict(zip(COEFFICIENTS, form.usual, strict=True))[name] for name in residuals.free])
    if not usual.size:
        return ()
    jacobian = _relative_jacobian(residuals, usual)
    _, sizes, directions = np.linalg.svd(jacobian, full_matrices=True)
    padded = np.zeros(usual.size)
    padded[: sizes.size] = sizes
    silent = directions[padded <= _RANK * max(1.0, padded.max())]
    involved = np.abs(silent).max(axis=0, initial=0.0) > _PRESENT
    return tuple(name for name, found in zip(residuals.free, involved, strict=True) if found)


def _relative_jacobian(residuals: Residuals, point: Floats) -> Floats:
    """Return the change of every residual per relative change of every coefficient, by central differences."""
    columns = []
    for position in range(point.size):
        step = np.zeros(point.size)
        step[position] = _STEP * point[position]
        columns.append((residuals(point + step) - residuals(point - step)) / (2 * _STEP))
    jacobian: Floats = np.stack(columns, axis=1)
    return jacobian
