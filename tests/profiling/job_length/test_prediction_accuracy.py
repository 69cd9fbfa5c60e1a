"""When a job counts as predictable."""

import math

import pytest
from hypothesis import given, strategies as st
from loss_curves import drawn_curves

from muri_opt.errors import InputError
from muri_opt.profiling.job_length import (
    FIRST_PRIOR,
    PREDICTABLE_FROM,
    REPEATED_PRIOR,
    NotPredictable,
    accuracy,
    is_predictable,
    loss_accuracy,
    prior,
)


def test_by_hand():
    assert accuracy([90.0], [100.0]) == pytest.approx(0.9)
    assert accuracy([110, 50, 300], [100, 100, 100]) == pytest.approx((0.9 + 0.5 + 0.0) / 3)
    assert accuracy([0.0, 1.0], [0.0, 0.0]) == 0.5


def test_curves_are_predictable_and_jumps_are_not():
    for _, steps, losses in drawn_curves(5, 20, noise=0.02):
        assert loss_accuracy(steps, losses) > 0.9
    steps = list(range(1, 41))
    losses = [10 / k if k <= 20 else 0.01 for k in steps]
    found = loss_accuracy(steps, losses)
    assert found == 0
    assert not is_predictable(found)


def test_too_little_to_tell():
    assert loss_accuracy([1, 2, 3], [3, 2, 1]) == NotPredictable(
        reason="3 of the 4 losses that a prediction and its outcome need"
    )
    assert 0 <= loss_accuracy([1, 2, 3, 4], [3.0, 2.0, 1.5, 1.3]) <= 1
    found = loss_accuracy(range(8), [1, 1, 1, 1, 0.9, 0.8, 0.7, 0.6])
    assert found == NotPredictable(reason="in the first 4 losses the losses are constant")
    assert not is_predictable(found)


def test_the_limit_and_the_prior():
    assert PREDICTABLE_FROM == 0.5
    assert is_predictable(0.5)
    assert not is_predictable(0.4999)
    assert (round(REPEATED_PRIOR, 3), round(FIRST_PRIOR, 3)) == (0.957, 0.586)
    assert (prior(repeated=True), prior(repeated=False)) == (REPEATED_PRIOR, FIRST_PRIOR)


@given(st.lists(st.tuples(st.floats(0, 1e12), st.floats(0, 1e12)), min_size=1), st.integers(-20, 5))
def test_always_from_0_to_1_in_any_unit(pairs, power):
    predicted, seen = zip(*pairs, strict=True)
    found = accuracy(predicted, seen)
    assert 0 <= found <= 1
    normal = [x for x in (*predicted, *seen) if 0 < x < 1e-300]
    if not normal:
        unit = 2.0**power
        assert accuracy([x * unit for x in predicted], [x * unit for x in seen]) == found


@given(st.lists(st.floats(0, 1e6), max_size=20))
def test_any_series_has_an_accuracy_or_a_reason(losses):
    found = loss_accuracy(range(len(losses)), losses)
    if isinstance(found, NotPredictable):
        assert found.reason
    else:
        assert 0 <= found <= 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: accuracy([], []), "predicted: found 0 values for 0 seen"),
        (lambda: accuracy([1], [1, 2]), "predicted: found 1 values for 2 seen"),
        (lambda: accuracy([math.nan], [1]), r"predicted\[0\]: found nan"),
        (lambda: accuracy([1], [-1]), r"seen\[0\]: found -1"),
        (lambda: is_predictable(1.5), "accuracy: found 1.5"),
        (lambda: loss_accuracy([1, 1], [1, 1]), r"steps\[1\]: found 1 after 1"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()
