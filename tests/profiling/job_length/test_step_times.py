"""Step times on CPUs and GPUs: the formula, its fit, and the curves of cores and GPU shares."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from muri_opt.errors import InputError
from muri_opt.profiling.job_length import (
    Configuration,
    CoreEfficiency,
    GpuShareFactor,
    StepSample,
    StepTime,
    fit_efficiency,
    fit_share_factor,
    fit_step_time,
)

CORES = CoreEfficiency(a=-10.73, b=0.8124, d=9.701)  # published for the workers of vgg11
SHARES = GpuShareFactor(b0=0.5, b1=0.1, b2=0.5454)
TRUE = StepTime(th0=0.01, th1=0.2, th23=0.15, th4=0.03, th5=0.02, th6=0.04, efficiency=CORES, share_factor=SHARES)
CONFIGURATIONS = [Configuration(ps=p, workers=w, cores=c) for p, w, c in ((1, 1, 2), (2, 1, 4), (1, 3, 5), (3, 4, 3))]
CONFIGURATIONS += [
    Configuration(ps=p, workers=w, share=s) for p, w, s in ((1, 1, 1.0), (2, 3, 0.5), (4, 2, 0.25), (3, 4, 0.8))
]


def coefficients(model):
    return [getattr(model, name) for name in StepTime.COEFFICIENTS]


def sampled(model=TRUE, configurations=CONFIGURATIONS, factor=lambda: 1.0):
    return [
        StepSample(configuration=at, batch=batch, seconds=model.seconds_per_step(at, batch) * factor())
        for at in configurations
        for batch in (32, 128)
    ]


def fitted(samples, **options):
    return fit_step_time(samples, efficiency=CORES, share_factor=SHARES, **options)


def test_a_step_by_hand():
    on_cores = Configuration(ps=2, workers=4, cores=3)
    c = 1 / (-10.73 * math.exp(-0.8124 * 3) + 9.701)
    assert TRUE.seconds_per_step(on_cores, 64) == pytest.approx(c * (0.01 * 16 + 0.2) + 0.15 * 2 + 0.03 * 4 + 0.02 * 2)
    on_gpus = Configuration(ps=2, workers=4, share=0.5)
    c = 0.5 / 0.6 + 0.5454
    by_hand = c * (0.01 * 16 + 0.2) + 0.15 * 2 + 0.03 * 4 + 0.02 * 2 + 0.04 * 2
    assert TRUE.seconds_per_step(on_gpus, 64) == pytest.approx(by_hand)
    assert (on_cores.gpus, on_gpus.gpus) == (0.0, 2.0)
    whole = replace(TRUE, share_factor=None)
    by_hand = 0.01 * 16 + 0.2 + 0.15 * 2 + 0.03 * 4 + 0.02 * 2 + 0.04 * 4
    assert whole.seconds_per_step(Configuration(ps=2, workers=4, share=1.0), 64) == pytest.approx(by_hand)


def test_exact_samples_give_their_coefficients_back():
    found = fitted(sampled())
    assert coefficients(found) == pytest.approx(coefficients(TRUE), rel=1e-6)
    assert (found.efficiency, found.share_factor) == (CORES, SHARES)


def fitted_unless_drowned(samples):
    """Return the fit, or nothing where noise drowns all but the slope over GPUs: steps on CPUs would take no time."""
    try:
        return fitted(samples)
    except InputError as error:
        if error.found != "nothing above 0 but th6":
            raise
        return None


@given(st.integers(0, 10**6), st.lists(st.one_of(st.just(0.0), st.floats(1e-3, 10)), min_size=6, max_size=6))
def test_fits_are_no_worse_than_what_made_the_samples(seed, values):
    if not any(values[:5]):
        return
    true = replace(TRUE, **dict(zip(StepTime.COEFFICIENTS, values, strict=True)))
    rng = np.random.default_rng(seed)
    for noise in (0.0, 0.05):
        samples = sampled(true, factor=lambda n=noise: math.exp(rng.normal(0, n)))
        found = fitted_unless_drowned(samples)
        if found is None:
            assert noise
            continue
        assert min(coefficients(found)) >= 0
        errors = [
            math.sqrt(sum((m.seconds_per_step(s.configuration, s.batch) - s.seconds) ** 2 for s in samples))
            for m in (found, true)
        ]
        assert errors[0] <= errors[1] + 1e-9 * max(s.seconds for s in samples)


@pytest.mark.parametrize(
    ("configurations", "missing"),
    [
        (CONFIGURATIONS[:4], "th6"),
        ([Configuration(ps=p, workers=2 * p, share=1.0) for p in range(1, 9)], "th1, th23, th4, th5, th6"),
        ([Configuration(ps=p, workers=w, share=1.0) for p in (1, 2, 3) for w in (1, 2, 3)], "th4, th6"),
        ([Configuration(ps=1, workers=w, share=1.0) for w in (1, 2, 3, 5)], "th1, th23, th4, th5, th6"),
    ],
)
def test_samples_that_leave_coefficients_open(configurations, missing):
    samples = sampled(configurations=configurations)
    with pytest.raises(InputError) as caught:
        fitted(samples)
    assert caught.value.found == f"nothing that tells {missing}"
    fixed = {name: getattr(TRUE, name) for name in missing.split(", ")}
    assert coefficients(fitted(samples, fixed=fixed)) == pytest.approx(coefficients(TRUE), rel=1e-6)


@given(st.floats(0.05, 3), st.floats(0.2, 50), st.floats(0.3, 1.5))
def test_the_curve_of_cores_comes_back(b, d, ratio):
    true = CoreEfficiency(a=-d * ratio * math.exp(b) / 2, b=b, d=d)
    cores = [1, 1.5, 2, 3, 4, 6, 8]
    found = fit_efficiency(cores, [true.efficiency(c) for c in cores])
    assert (found.a, found.b, found.d) == pytest.approx((true.a, true.b, true.d), rel=1e-4)


@given(st.floats(0.05, 5), st.floats(0.0, 2.0), st.floats(0, 2))
def test_the_curve_of_shares_comes_back(b0, b1, b2):
    true = GpuShareFactor(b0=b0, b1=b1, b2=b2)
    shares = [0.1, 0.2, 0.3, 0.5, 0.75, 1.0]
    found = fit_share_factor(shares, [true.factor(share) for share in shares])
    assert (found.b0, found.b1, found.b2) == pytest.approx((b0, b1, b2), rel=1e-4, abs=1e-4)


def test_curves_that_hardly_bend():
    straight = fit_efficiency([1, 2, 3, 4], [1.0, 2.0, 3.0, 4.0])
    assert [straight.efficiency(c) for c in (1, 2, 3, 4)] == pytest.approx([1, 2, 3, 4], rel=1e-2)
    at_once = fit_efficiency([1, 2, 3, 4], [1.0, 5.0, 5.0, 5.0])
    assert [at_once.efficiency(c) for c in (1, 2, 4)] == pytest.approx([1, 5, 5], rel=1e-6)
    falling = fit_share_factor([0.25, 0.5, 1.0], [3.0, 2.0, 0.5])
    assert falling.factor(0.25) > falling.factor(0.5) > falling.factor(1.0) > 0


def fit_or_refusal(fit, amounts, values):
    try:
        return fit(amounts, values)
    except InputError as error:
        return error


@given(st.lists(st.tuples(st.floats(0.01, 1), st.floats(1e-3, 1e3)), min_size=3, max_size=8))
def test_whatever_the_samples_the_curves_are_positive_or_refused(pairs):
    shares, values = zip(*pairs, strict=True)
    found = fit_or_refusal(fit_share_factor, shares, values)
    if isinstance(found, InputError):
        assert "nothing that tells b0, b1" in str(found)
    else:
        assert all(0 < found.factor(share) < math.inf for share in shares)
    found = fit_or_refusal(fit_efficiency, shares, values)
    if isinstance(found, InputError):
        assert "nothing that tells a, b" in str(found)
    else:
        assert found.a <= 0 <= found.b < math.inf
        assert 0 < found.d < math.inf


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Configuration(ps=1, workers=0, share=1.0), "workers: found 0"),
        (lambda: Configuration(ps=0, workers=1, share=1.0), "ps: found 0"),
        (lambda: Configuration(ps=1, workers=1, share=-0.5), "share: found -0.5"),
        (lambda: Configuration(ps=1, workers=1, share=1.5), "share: found 1.5"),
        (lambda: Configuration(ps=1, workers=1, cores=0), "cores: found 0"),
        (lambda: Configuration(ps=1, workers=1), "share: found nothing; allowed: either cores or a GPU share"),
        (lambda: Configuration(ps=1, workers=1, cores=1, share=1), "share: found cores too"),
        (lambda: CORES.efficiency(0.05), "cores: found 0.05; allowed: enough cores"),
        (lambda: CORES.efficiency(-1), "cores: found -1"),
        (lambda: SHARES.factor(0), "share: found 0"),
        (lambda: CoreEfficiency(a=1.0, b=1, d=1), "a: found 1.0"),
        (lambda: CoreEfficiency(a=True, b=1, d=1), "a: found True"),
        (lambda: CoreEfficiency(a=math.nan, b=1, d=1), "a: found nan"),
        (lambda: CoreEfficiency(a=-1, b=1, d=0), "d: found 0"),
        (lambda: GpuShareFactor(b0=0, b1=1, b2=0), "b2: found 0, as is b0"),
        (lambda: GpuShareFactor(b0=-1, b1=1, b2=0), "b0: found -1"),
        (lambda: replace(TRUE, th4=-1.0), "th4: found -1.0"),
        (lambda: StepTime(th0=0, th1=0, th23=0, th4=0, th5=0, th6=1), "coefficients: found nothing above 0 but th6"),
        (lambda: replace(TRUE, efficiency=3), "efficiency: found 3"),
        (lambda: replace(TRUE, share_factor=3), "share_factor: found 3"),
        (lambda: TRUE.seconds_per_step(CONFIGURATIONS[0], 0), "batch: found 0"),
        (lambda: TRUE.seconds_per_step((1, 1), 8), "configuration: found"),
        (lambda: StepSample(configuration=CONFIGURATIONS[0], batch=8, seconds=0), "seconds: found 0"),
        (lambda: fit_step_time([]), "samples: found none"),
        (lambda: fit_step_time([4]), r"samples\[0\]: found 4"),
        (lambda: fit_step_time(sampled()), r"samples\[0\].cores: found 2; allowed: a GPU share"),
        (lambda: fit_step_time(sampled(), efficiency=CORES), r"samples\[10\].share: found 0.5; allowed: 1, as no"),
        (lambda: fit_efficiency([1, 2, 2], [1, 2, 2]), "nothing that tells a, b, d"),
        (lambda: fit_efficiency([1, 2, 3], [2, 2, 2]), "nothing that tells a, b; allowed"),
        (lambda: fit_efficiency([100, 101, 102], [1, 2, 2]), "nothing that tells a, b; allowed"),
        (lambda: fit_efficiency([1, 2, 3], [2, 2]), "speeds: found 2 speeds for 3 cores"),
        (lambda: fit_share_factor([0.5, 0.7, 1], [1, 2, 3]), "nothing that tells b0, b1; allowed"),
        (lambda: fit_share_factor([0.5, 1], [2, 1]), "nothing that tells b0, b1, b2"),
        (lambda: fit_share_factor([0.5, 1.2, 1], [2, 1, 1]), r"shares\[1\]: found 1.2"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()
