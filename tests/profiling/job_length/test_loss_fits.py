"""Loss curves: known coefficients come back, the minimum is one, and bad series are refused or not predictable."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from loss_curves import drawn_curves, loss_at, weighted_error

from muri_opt.errors import InputError
from muri_opt.profiling.job_length import LossFit, NotPredictable, curve_fit as separable, fit_losses

MADE = [4.4, 3.0, 2.3, 1.9, 1.7, 1.5, 1.4, 1.3]


def coefficients(fit):
    return fit.b0, fit.b1, fit.b2


def test_exact_losses_give_their_coefficients_back():
    """Far within 1 %, over a wider range than that of the test with noise."""
    curves = list(drawn_curves(1, 150, points=(5, 200), halved=(0.02, 2.0), floor=0.5))
    for true, steps, losses in curves:
        fit = fit_losses(steps, losses)
        assert coefficients(fit) == pytest.approx(true, rel=1e-6)
        assert fit.points == len(steps)
        assert fit.error < 1e-9 * losses[0]
        assert fit.loss(2 * steps[-1]) == pytest.approx(loss_at(true, 2 * steps[-1]))
    assert len(curves) == 150


@pytest.mark.parametrize("true", [(0.02, 0.0, 0.4), (0.02, 0.25, 0.0), (0.02, 0.0, 0.0)])
def test_coefficients_may_be_nothing(true):
    steps = range(1, 31)
    fit = fit_losses(steps, [loss_at(true, k) for k in steps])
    assert coefficients(fit) == pytest.approx(true, rel=1e-6, abs=1e-6)


def test_three_points_on_a_curve_are_met():
    fit = fit_losses([0, 10, 40], [loss_at((0.1, 0.5, 0.2), k) for k in (0, 10, 40)])
    assert coefficients(fit) == pytest.approx((0.1, 0.5, 0.2), rel=1e-6)


def test_noisy_losses_have_no_better_curve_nearby_nor_at_the_truth():
    for true, steps, losses in drawn_curves(2, 25, noise=0.02):
        fit = fit_losses(steps, losses)
        found = weighted_error(coefficients(fit), steps, losses)
        n = len(steps)
        assert fit.error == pytest.approx(math.sqrt(found / sum(16 ** (3 * i // n) for i in range(n))))
        assert found <= weighted_error(true, steps, losses)
        for position in range(3):
            for factor in (0.999, 1.001):
                moved = [b * (factor if i == position else 1) for i, b in enumerate(coefficients(fit))]
                assert found <= weighted_error(moved, steps, losses) * (1 + 1e-12)


def test_late_losses_weigh_more():
    """A curve that is slower from the middle on is followed where it is now."""
    steps = list(range(1, 91))
    losses = [loss_at((0.05, 0.2, 0.1), k) if k <= 30 else loss_at((0.01, 0.7, 0.2), k) for k in steps]
    fit = fit_losses(steps, losses)
    early = max(abs(fit.loss(k) / loss - 1) for k, loss in zip(steps[:30], losses[:30], strict=True))
    late = max(abs(fit.loss(k) / loss - 1) for k, loss in zip(steps[60:], losses[60:], strict=True))
    assert late < 0.05 < 0.2 < early


@pytest.mark.parametrize(
    ("losses", "reason"),
    [
        ([], "0 of the 3 losses"),
        ([3.0, 2.0], "2 of the 3 losses"),
        ([2.0] * 6, "constant"),
        ([0.0] * 4, "constant"),
        ([1.0, 1.5, 2.0, 2.5], "do not fall"),
        ([2.0, 1.0, 1.5, 1.6, 2.0, 2.2], "do not fall"),
        ([0.0, 0.0, 0.0, 0.0, 9.0, 0.0, 0.0, 8.0, 0.0], "do not fall"),
    ],
)
def test_series_that_are_not_predictable_yet(losses, reason):
    found = fit_losses(range(len(losses)), losses)
    assert isinstance(found, NotPredictable)
    assert reason in found.reason
    assert str(found) == f"not predictable yet: {found.reason}"


def test_a_fall_that_no_curve_from_step_0_on_can_have():
    """So late, the curve can hardly fall any more."""
    found = fit_losses([10**12 - 2, 10**12 - 1, 10**12], [3.0, 2.0, 1.0])
    assert found == NotPredictable(reason="the losses do not fall as a loss curve does")


def test_a_search_cut_short_is_no_fit(monkeypatch):
    monkeypatch.setattr(separable, "_MOST_EVALUATIONS", 1)
    assert fit_losses(range(8), MADE) == NotPredictable(reason="the fit did not come to rest")


@pytest.mark.parametrize(
    ("steps", "losses", "field", "found"),
    [
        ([0, 2, 1], [3, 2, 1], "steps[2]", "1 after 2"),
        ([0, 1, 1], [3, 2, 1], "steps[2]", "1 after 1"),
        ([-1, 1, 2], [3, 2, 1], "steps[0]", "-1"),
        ([0.5, 1, 2], [3, 2, 1], "steps[0]", "0.5"),
        ([0, 1, 2], [3, math.nan, 1], "losses[1]", "nan"),
        ([0, 1, 2], [3, 2, math.inf], "losses[2]", "inf"),
        ([0, 1, 2], [3, -2.0, 1], "losses[1]", "-2.0"),
        ([0, 1, 2], [3, 2, "low"], "losses[2]", "'low'"),
        ([0, 1, 2], [3, 2], "losses", "2 losses for 3 steps"),
        (7, [3, 2], "steps", "7"),
    ],
)
def test_bad_series(steps, losses, field, found):
    with pytest.raises(InputError) as caught:
        fit_losses(steps, losses)
    assert (caught.value.field, caught.value.found) == (field, found)


def test_bad_coefficients():
    for wrong in ({"b0": 0.0}, {"b1": -1.0}, {"b2": math.nan}, {"points": -1}, {"error": -0.5}):
        with pytest.raises(InputError, match=f"{next(iter(wrong))}: found"):
            LossFit(**({"b0": 1.0, "b1": 1.0, "b2": 0.0} | wrong))
    with pytest.raises(InputError, match="step: found 0; allowed: a step above 0"):
        LossFit(b0=1.0, b1=0.0, b2=0.0).loss(0)
    with pytest.raises(InputError, match="step: found -1"):
        LossFit(b0=1.0, b1=1.0, b2=0.0).loss(-1)


@given(st.integers(-30, 30), st.integers(0, 20), st.integers(0, 10**6))
def test_units_do_not_matter(power, doubled, seed):
    """Losses in another unit, and steps counted otherwise, give the same curve; powers of two give it exactly."""
    (_, steps, losses) = next(drawn_curves(seed, 1, points=(3, 20), noise=0.02))
    fit = fit_losses(steps, losses)
    scaled = fit_losses([k * 2**doubled for k in steps], [loss * 2.0**power for loss in losses])
    if isinstance(fit, NotPredictable):
        assert scaled == fit
    else:
        assert scaled.b0 == fit.b0 / 2.0**power / 2**doubled
        assert (scaled.b1, scaled.b2) == (fit.b1 / 2.0**power, fit.b2 * 2.0**power)


@given(
    st.lists(
        st.tuples(st.integers(1, 10**9), st.one_of(st.floats(0, 1e12), st.floats(0, 1), st.sampled_from([0.0, 1.0]))),
        max_size=12,
    )
)
def test_whatever_the_losses_the_answer_is_a_curve_or_a_reason(pairs):
    steps = [int(k) for k in np.cumsum([gap for gap, _ in pairs])]
    found = fit_losses(steps, [loss for _, loss in pairs])
    if isinstance(found, NotPredictable):
        assert found.reason
    else:
        assert found.b0 > 0
        assert min(found.b1, found.b2, found.error) >= 0
        assert all(math.isfinite(value) for value in (*coefficients(found), found.error))
        assert found.loss(steps[0]) > found.loss(steps[-1]) >= found.b2
