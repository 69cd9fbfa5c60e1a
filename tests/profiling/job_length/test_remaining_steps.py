"""The steps left: the curve solved for the step, Optimus' rule, and how far noise moves them."""

import math
import statistics

import pytest
from hypothesis import given, strategies as st
from loss_curves import drawn_curves, loss_at

from muri_opt.errors import InputError
from muri_opt.profiling.job_length import (
    OPTIMUS_RULE,
    ConvergenceRule,
    LossFit,
    NotPredictable,
    fit_losses,
    remaining_steps,
)

FIT = LossFit(b0=0.02, b1=0.25, b2=0.4)


def test_the_inverse_by_hand():
    """l = 1.4 at 0.02 k + 0.25 = 1, k = 37.5: step 38 is the first at or below."""
    assert remaining_steps(FIT, 0, target=1.4) == 38
    assert remaining_steps(FIT, 30, target=1.4) == 8
    assert remaining_steps(FIT, 38, target=1.4) == 0
    assert remaining_steps(FIT, 10**6, target=1.4) == 0
    assert remaining_steps(FIT, 0, target=100.0) == 0
    assert remaining_steps(FIT, 0, target=1 / 1.25 + 0.4) == 50  # a whole number is not rounded up


def test_targets_out_of_reach():
    for target in (0.4, 0.39, 0.0):
        found = remaining_steps(FIT, 5, target=target)
        assert found == NotPredictable(reason=f"the fitted loss stays above 0.4 and never falls to {target:g}")
    found = remaining_steps(FIT, 5, target=0.4 + 1e-14)
    assert "more than 1,000,000,000,000 steps" in found.reason


def by_counting(fit, rule):
    for epoch in range(rule.window, rule.most + 1):
        if fit.loss((epoch - rule.window) * rule.epoch) - fit.loss(epoch * rule.epoch) < rule.fall:
            return epoch * rule.epoch
    return None


def test_the_rule_by_hand():
    """1 / (k + 1): over ten epochs it falls by 10 / ((e - 9)(e + 1)), below 0.05 once (e - 9)(e + 1) > 200, e = 20."""
    fit = LossFit(b0=1.0, b1=1.0, b2=3.0)
    assert remaining_steps(fit, 0) == 20
    assert remaining_steps(fit, 15) == 5
    assert remaining_steps(fit, 21) == 0
    assert remaining_steps(fit, 0, rule=ConvergenceRule(epoch=500)) == 5500  # ten epochs from step 500 on


def test_the_rule_gives_up():
    fit = LossFit(b0=1e-4, b1=0.01, b2=0.0)
    assert remaining_steps(fit, 3) == NotPredictable(reason="the fitted loss still falls after 100 epochs")
    assert remaining_steps(LossFit(b0=1, b1=0, b2=0), 3, rule=ConvergenceRule(window=10, most=9)) == NotPredictable(
        reason="the fitted loss still falls after 9 epochs"
    )
    assert remaining_steps(LossFit(b0=1e-30, b1=0.0, b2=0.0), 0, rule=ConvergenceRule(window=10, most=10)) == (
        NotPredictable(reason="the fitted loss still falls after 10 epochs")
    )


@given(
    st.floats(1e-4, 10),
    st.floats(1e-3, 10),
    st.integers(1, 12),
    st.integers(1, 60),
    st.integers(1, 50),
    st.floats(1e-3, 1),
)
def test_the_rule_is_the_first_epoch_by_counting(b0, b1, window, most, epoch, fall):
    fit = LossFit(b0=b0, b1=b1, b2=0.5)
    rule = ConvergenceRule(fall=fall, window=window, most=most, epoch=epoch)
    found = remaining_steps(fit, 0, rule=rule)
    assert (None if isinstance(found, NotPredictable) else found) == by_counting(fit, rule)


def test_two_per_cent_of_noise():
    """Half way to a loss, from 20 to 200 losses: the median error over 200 curves is below 10 %."""
    errors = []
    for true, steps, losses in drawn_curves(2, 200, noise=0.02):
        at = steps[-1]
        fit = fit_losses(steps, losses)
        found = remaining_steps(fit, at, target=loss_at(true, 2 * at))
        errors.append(math.inf if isinstance(found, NotPredictable) else abs(found - at) / at)
    assert len(errors) == 200
    assert statistics.median(errors) < 0.1


def test_without_noise_hardly_any_error():
    for true, steps, losses in drawn_curves(3, 40):
        at = steps[-1]
        found = remaining_steps(fit_losses(steps, losses), at, target=loss_at(true, 2 * at))
        assert abs(found - at) <= 1


@given(
    st.floats(1e-9, 1e6), st.floats(0, 1e6), st.floats(0, 1e3), st.integers(0, 10**12), st.floats(0, 1e6) | st.none()
)
def test_never_negative_and_always_the_first_step(b0, b1, b2, at, target):
    fit = LossFit(b0=b0, b1=b1, b2=b2)
    found = remaining_steps(fit, at, target=target)
    if isinstance(found, NotPredictable):
        assert found.reason
        return
    assert type(found) is int
    assert found >= 0
    if target is not None and found > 0 and at + found <= 10**12:
        assert fit.loss(at + found) <= target * (1 + 1e-9)
        if at + found > 1:
            assert fit.loss(at + found - 1) >= target * (1 - 1e-9)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: remaining_steps(FIT, -1), "at"),
        (lambda: remaining_steps(FIT, 1.5), "at"),
        (lambda: remaining_steps(FIT, 1, target=math.nan), "target"),
        (lambda: remaining_steps(FIT, 1, target=-1.0), "target"),
        (lambda: ConvergenceRule(fall=0.0), "fall"),
        (lambda: ConvergenceRule(window=0), "window"),
        (lambda: ConvergenceRule(most=0), "most"),
        (lambda: ConvergenceRule(epoch=0), "epoch"),
    ],
)
def test_bad_questions(call, field):
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.field == field


def test_the_rule_has_the_published_numbers():
    assert (OPTIMUS_RULE.fall, OPTIMUS_RULE.window, OPTIMUS_RULE.most, OPTIMUS_RULE.epoch) == (0.05, 10, 100, 1)
