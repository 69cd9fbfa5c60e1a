"""How many steps a job has left, from its fitted loss curve: to a target loss, or until it hardly falls any more."""

from __future__ import annotations

import math
from dataclasses import dataclass

from muri_opt.profiling.job_length.losses import MOST_LOSS, LossFit, NotPredictable
from muri_opt.rounds.quantities import MAX_ITERATIONS, finite, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvergenceRule:
    """When a job counts as converged, as Optimus says it.

    That is after the first epoch at whose end the fitted loss has fallen by less than ``fall`` over the last ``window``
    epochs. A job that has not converged after ``most`` epochs is not predictable yet. An epoch has ``epoch`` steps.
    """

    fall: float = 0.05
    window: int = 10
    most: int = 100
    epoch: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "fall", finite("fall", self.fall, MOST_LOSS, positive=True))
        for name in ("window", "most", "epoch"):
            object.__setattr__(self, name, whole(name, getattr(self, name), 10**6, 1))


OPTIMUS_RULE = ConvergenceRule()
"""Optimus' own numbers, with losses seen once an epoch."""


def remaining_steps(
    fit: LossFit, at: int, *, target: float | None = None, rule: ConvergenceRule = OPTIMUS_RULE
) -> int | NotPredictable:
    """Return how many steps are left after step ``at``: a whole number, 0 where the end is passed already.

    With a ``target`` the end is the first step with a fitted loss of at most that; without one, the rule says.
    """
    start = whole("at", at, MAX_ITERATIONS)
    end = _converged(fit, rule) if target is None else _reached(fit, finite("target", target, MOST_LOSS))
    return end if isinstance(end, NotPredictable) else max(end - start, 0)


def _reached(fit: LossFit, target: float) -> int | NotPredictable:
    """Return the first step whose fitted loss is at most the target: the curve solved for k, and rounded up."""
    above = target - fit.b2
    if above <= 0:
        return NotPredictable(reason=f"the fitted loss stays above {fit.b2:.6g} and never falls to {target:.6g}")
    if 1 / above > fit.b0 * MAX_ITERATIONS + fit.b1:
        return NotPredictable(
            reason=f"the fitted loss needs more than {MAX_ITERATIONS:,} steps to fall to {target:.6g}"
        )
    exact = max((1 / above - fit.b1) / fit.b0, 0.0)
    near = round(exact)
    return near if abs(exact - near) <= 1e-9 * max(exact, 1.0) else math.ceil(exact)


def _converged(fit: LossFit, rule: ConvergenceRule) -> int | NotPredictable:
    """Return the last step of the first epoch that fulfils the rule; the falls shrink, so it is found by halving."""
    if rule.most < rule.window or not _flat(fit, rule, rule.most):
        return NotPredictable(reason=f"the fitted loss still falls after {rule.most} epochs")
    low, high = rule.window, rule.most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _flat(fit, rule, middle) else (middle + 1, high)
    return low * rule.epoch


def _flat(fit: LossFit, rule: ConvergenceRule, epoch: int) -> bool:
    """Return whether the fitted loss falls by less than the rule's amount over the window that ends with the epoch."""
    before = fit.b0 * (epoch - rule.window) * rule.epoch + fit.b1
    after = fit.b0 * epoch * rule.epoch + fit.b1
    return before > 0 and 1 / before - 1 / after < rule.fall
