"""Optimus' speed functions: fits that are exact on exact points, measured pairs, and what points cannot tell."""

import math
from dataclasses import replace
from itertools import cycle

import numpy as np
import pytest
from hypothesis import given, strategies as st

from muri_opt.errors import InputError
from muri_opt.profiling.job_length import AsyncSpeed, SpeedPoint, SyncSpeed, fit_async, fit_sync

ASYNC = AsyncSpeed(a=2.0, b=0.5, c=0.1, d=0.05)
SYNC = SyncSpeed(batch=128, a=0.02, b=0.4, c=0.3, d=0.01, e=0.02)
PAIRS = [(1, 1), (1, 3), (2, 2), (2, 5), (4, 3), (5, 8), (8, 4), (9, 10)]
AMOUNTS = st.one_of(st.just(0.0), st.floats(1e-4, 1e3))


def points(model, pairs=PAIRS, factors=(1.0,)):
    return [SpeedPoint(ps=p, workers=w, speed=model.speed(p, w) * f) for (p, w), f in zip(pairs, cycle(factors))]


def coefficients(model):
    return [getattr(model, name) for name in model.COEFFICIENTS]


def test_speeds_by_hand():
    assert ASYNC.speed(2, 4) == pytest.approx(4 / (2 + 0.5 * 2 + 0.4 + 0.1))
    assert SYNC.speed(2, 4) == pytest.approx(1 / (0.02 * 32 + 0.4 + 0.3 * 2 + 0.04 + 0.04))
    assert SYNC.seconds_per_step(2, 4) == pytest.approx(0.64 + 0.4 + 0.6 + 0.08)
    assert ASYNC.seconds_per_step(2, 4) == pytest.approx(3.5 / 4)


def test_exact_points_give_their_coefficients_back():
    assert coefficients(fit_async(points(ASYNC))) == pytest.approx(coefficients(ASYNC))
    assert coefficients(fit_sync(points(SYNC), batch=128)) == pytest.approx(coefficients(SYNC))
    assert coefficients(fit_async(points(ASYNC, PAIRS[:4]))) == pytest.approx(coefficients(ASYNC))
    assert coefficients(fit_sync(points(SYNC, PAIRS[:5]), batch=128)) == pytest.approx(coefficients(SYNC))


def test_what_was_measured_is_not_computed():
    fit = fit_async(points(ASYNC, factors=(0.95, 1.05)))
    assert fit.speed(1, 1) == ASYNC.speed(1, 1) * 0.95
    assert replace(fit, measured=()).speed(1, 1) != fit.speed(1, 1)
    assert fit.speed(3, 3) == replace(fit, measured=()).speed(3, 3)
    twice = fit_sync([*points(SYNC), SpeedPoint(ps=1, workers=1, speed=1.0)], batch=128)
    assert twice.speed(1, 1) == pytest.approx((1.0 + SYNC.speed(1, 1)) / 2)


@given(AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS, st.integers(1, 4096))
def test_exact_points_are_met_and_no_coefficient_is_negative(a, b, c, d, e, batch):
    if not any((a, b, c, d, e)):
        return
    for true, fit in (
        (sync := SyncSpeed(batch=batch, a=a, b=b, c=c, d=d, e=e), fit_sync(points(sync), batch=batch)),
        (alone := AsyncSpeed(a=a, b=b, c=c, d=d + e), fit_async(points(alone))),
    ):
        assert min(coefficients(fit)) >= 0
        computed = replace(fit, measured=())
        most = max(true.seconds_per_step(p, w) for p, w in PAIRS)
        for p, w in PAIRS:  # as good as what the points were made with, to rounding
            assert abs(computed.seconds_per_step(p, w) - true.seconds_per_step(p, w)) <= 1e-9 * most


@given(st.integers(0, 10**6))
def test_noisy_points_are_met_better_than_by_the_truth(seed):
    rng = np.random.default_rng(seed)
    made = points(SYNC, factors=np.exp(rng.normal(0, 0.1, len(PAIRS))))
    fit = replace(fit_sync(made, batch=128), measured=())

    def squares(model):
        return sum((model.seconds_per_step(q.ps, q.workers) - 1 / q.speed) ** 2 for q in made)

    assert min(coefficients(fit)) >= 0
    assert squares(fit) <= squares(SYNC) * (1 + 1e-9)
    doubled = fit_sync([replace(q, speed=2 * q.speed) for q in made], batch=128)
    assert coefficients(doubled) == pytest.approx([value / 2 for value in coefficients(fit)], rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(
    ("fit", "pairs", "missing"),
    [
        (fit_async, [(k, k) for k in range(1, 9)], "a, b, c, d"),  # equal numbers tell two sums only
        (fit_async, [(2, 1), (2, 3), (2, 5), (2, 9)], "a, b, c, d"),
        (fit_async, PAIRS[:3], "a, b, c, d"),
        (lambda p: fit_sync(p, batch=64), PAIRS[:4], "a, b, c, d, e"),
        (lambda p: fit_sync(p, batch=64), [(p, 3) for p in range(1, 8)], "a, b, d"),
    ],
)
def test_points_that_leave_coefficients_open(fit, pairs, missing):
    with pytest.raises(InputError) as caught:
        fit(points(ASYNC, pairs))
    assert caught.value.field == "samples"
    assert caught.value.found == f"nothing that tells {missing}"
    assert all(f"{name} shows in runs with several" in caught.value.allowed for name in missing.split(", "))


def test_fixed_coefficients_make_up_for_it():
    fit = fit_async(points(ASYNC, [(k, k) for k in range(1, 9)]), fixed={"b": 0.5, "d": 0.05})
    assert coefficients(fit) == pytest.approx(coefficients(ASYNC))
    assert (fit.b, fit.d) == (0.5, 0.05)
    whole = fit_async(points(ASYNC, [(1, 1)]), fixed={"a": 2, "b": 0.5, "c": 0.1, "d": 0.05})
    assert coefficients(whole) == coefficients(ASYNC)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SpeedPoint(ps=1, workers=0, speed=1.0), "workers: found 0"),
        (lambda: SpeedPoint(ps=0, workers=1, speed=1.0), "ps: found 0"),
        (lambda: SpeedPoint(ps=1, workers=1, speed=0.0), "speed: found 0.0"),
        (lambda: SpeedPoint(ps=1, workers=1, speed=math.nan), "speed: found nan"),
        (lambda: ASYNC.speed(1, 0), "workers: found 0"),
        (lambda: SYNC.speed(-1, 1), "ps: found -1"),
        (lambda: AsyncSpeed(a=-1.0, b=1, c=1, d=1), "a: found -1.0"),
        (lambda: AsyncSpeed(a=0, b=0, c=0, d=0), "coefficients: found nothing but 0"),
        (lambda: AsyncSpeed(a=1, b=0, c=0, d=0, measured=[3]), r"measured\[0\]: found 3; allowed: a SpeedPoint"),
        (lambda: replace(SYNC, batch=0), "batch: found 0"),
        (lambda: fit_sync(points(SYNC), batch=0), "batch: found 0"),
        (lambda: fit_async([]), "samples: found none"),
        (lambda: fit_async([(1, 1, 2.0)]), r"samples\[0\]: found \(1, 1, 2.0\); allowed: a SpeedPoint"),
        (lambda: fit_async(points(ASYNC), fixed={"e": 1.0}), "fixed: found 'e'"),
        (lambda: fit_async(points(ASYNC), fixed={"a": -1.0}), r"fixed\[a\]: found -1.0"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()
