"""Fitting: known coefficients come back, held-out errors are honest, and silent samples are refused by name."""

from dataclasses import replace

import pytest
from hypothesis import example, given, settings, strategies as st
from plan_cases import LINKS, SMALL, coefficients, data_plan, grid_plan

from muri_opt.errors import InputError
from muri_opt.profiling.plan_speed import (
    COEFFICIENTS,
    FORMS,
    Measurement,
    Sample,
    SampleSet,
    fit,
    fit_profile,
    sample_errors,
)

TRUE = {
    "published": coefficients((1.9, 2.2, 0.06, 4.0, 9.0, 1.8, 1.3)),
    "shipped": coefficients((1.9, 2.2, 0.06, 4.0, 9.0, 25.0, 30.0)),
}
RUNS = [("replicated", 2, 1), ("replicated", 8, 1), ("zero", 4, 1), ("zero", 8, 1)] + [
    ("offload", gpus, cpus) for gpus in (1, 4) for cpus in (2, 8)
]

OFFLOAD = [("offload", gpus, cpus) for gpus in (1, 2, 4) for cpus in (2, 8)]


def sampled(form, runs=RUNS, k=None, forward=600.0, factor=lambda number: 1.0 + 0 * number):
    """Samples whose times are what the form says."""
    made = []
    for number, (states, gpus, cpus) in enumerate(runs):
        sample = Sample(plan=data_plan(gpus, states), cpus_per_gpu=cpus, forward_ms=forward / gpus, iteration_ms=1.0)
        found = FORMS[form].times(SMALL, k or TRUE[form], sample.plan, sample.shape(LINKS), sample.forward_ms)
        exchange, step, iteration = (time * factor(number) for time in found)
        made.append(replace(sample, exchange_ms=exchange, step_ms=step, iteration_ms=iteration))
    return made


@pytest.mark.parametrize("form", FORMS)
def test_exact_samples_give_their_coefficients_back(form):
    found = fit(SMALL, LINKS, sampled(form), form=form)
    assert found.coefficients.values() == pytest.approx(TRUE[form].values(), rel=1e-4)
    assert found.loss < 1e-6
    assert max(found.errors) < 1e-6
    assert found.at_bounds == ()
    assert all(error is None or error < 1e-6 for error in found.held_out)
    assert sum(error is not None for error in found.held_out) >= 6


@settings(max_examples=8, deadline=None)
@given(
    form=st.sampled_from(sorted(FORMS)),
    k_bwd=st.floats(1.2, 4.0),
    k_sync=st.floats(1.2, 6.0),
    k_opt=st.floats(0.01, 0.5),
    k_opt_offload=st.floats(1.0, 10.0),
    k_const=st.floats(2.0, 40.0),
)
@example(form="published", k_bwd=1.21875, k_sync=3.0, k_opt=0.25, k_opt_offload=1.0, k_const=2.0)
def test_whatever_they_are_the_samples_are_reproduced(form, **values):
    k = replace(TRUE[form], **values)
    samples = sampled(form, k=k)
    found = fit(SMALL, LINKS, samples, form=form)
    assert max(found.errors) < 1e-4
    assert max(sample_errors(SMALL, LINKS, found.coefficients, sampled(form, [("zero", 2, 1)], k=k), form)) < 1e-3


def test_noise_shows_in_the_errors():
    samples = sampled("shipped", factor=lambda i: 1 + 0.03 * (-1) ** i)
    found = fit(SMALL, LINKS, samples, form="shipped")
    assert 0.001 < sum(found.errors) / len(samples) < 0.05
    assert found.loss > 0.01
    held = [error for error in found.held_out if error is not None]
    assert sum(held) / len(held) > sum(found.errors) / len(found.errors)
    assert found == fit(SMALL, LINKS, samples, form="shipped")  # the same samples, the same answer
    truth = fit(
        SMALL, LINKS, samples, form="shipped", fixed=dict(zip(COEFFICIENTS, TRUE["shipped"].values(), strict=True))
    )
    assert found.loss < truth.loss


def test_a_held_out_error_is_the_error_of_a_fit_without_the_sample():
    samples = sampled("shipped", factor=lambda i: 1 + 0.02 * (i % 3))
    found = fit(SMALL, LINKS, samples, form="shipped")
    rest = fit(SMALL, LINKS, samples[1:], form="shipped")
    alone = sample_errors(SMALL, LINKS, rest.coefficients, samples[:1], "shipped")[0]
    assert found.held_out[0] == pytest.approx(alone, rel=1e-3)


def test_fixed_coefficients_keep_their_value():
    fixed = {"k_swap": 1.0, "k_off": 1.0}
    found = fit(SMALL, LINKS, sampled("published"), fixed=fixed)
    assert (found.coefficients.k_swap, found.coefficients.k_off) == (1.0, 1.0)
    assert found.at_bounds == ()  # it was put there


def test_a_coefficient_that_would_go_further_is_named():
    k = replace(TRUE["shipped"], k_opt=0.0)
    found = fit(SMALL, LINKS, sampled("shipped", k=k), form="shipped")
    assert "k_opt" in found.at_bounds


OPEN = [
    ("published", [run for run in RUNS if run[0] != "offload"], ["k_opt_offload", "k_off", "k_swap"]),
    ("published", OFFLOAD[2:], ["k_bwd", "k_sync", "k_opt", "k_off"]),  # two exchanges for three coefficients
    ("published", [run for run in RUNS if run[2] != 8], ["k_opt_offload", "k_swap"]),
    ("shipped", OFFLOAD, ["k_opt"]),
    ("shipped", [run for run in RUNS if run[0] == "replicated"], ["k_opt", "k_opt_offload", "k_off", "k_swap"]),
    ("published", [("replicated", 1, 1), ("offload", 1, 2), ("offload", 1, 8)], ["k_sync"]),
]
LONG = ("published", OFFLOAD, ["k_opt"])
"""Open coefficients, too; the others are searched for longer than in all other cases together."""


@pytest.mark.parametrize(("form", "runs", "missing"), [*OPEN, LONG])
def test_samples_that_leave_coefficients_open(form, runs, missing):
    with pytest.raises(InputError) as caught:
        fit(SMALL, LINKS, sampled(form, runs), form=form)
    error = caught.value
    assert error.field == "samples"
    assert error.found == f"nothing that tells {', '.join(missing)}"
    assert all(f"{name} shows in" in error.allowed for name in missing)


@pytest.mark.parametrize(("form", "runs", "missing"), [*OPEN, pytest.param(*LONG, marks=pytest.mark.slow)])
def test_where_open_coefficients_are_told_the_others_are_found(form, runs, missing):
    fixed = {name: getattr(TRUE[form], name) for name in missing}
    found = fit(SMALL, LINKS, sampled(form, runs), form=form, fixed=fixed)
    assert max(found.errors) < 1e-6


def test_iteration_times_alone_cannot_tell_constants_apart():
    """In the shipped form every plan pays k_const and k_swap, and only step_ms tells one from the other."""
    bare = [replace(sample, exchange_ms=None, step_ms=None) for sample in sampled("shipped")]
    with pytest.raises(InputError, match=r"^samples: found nothing that tells k_const, k_swap; allowed"):
        fit(SMALL, LINKS, bare, form="shipped")
    found = fit(SMALL, LINKS, bare, form="shipped", fixed={"k_swap": 30.0})
    assert found.coefficients.values() == pytest.approx(TRUE["shipped"].values(), rel=1e-3)


def test_plans_with_tensor_parallelism_are_samples_too():
    plan = grid_plan(2, 2, 2, accumulation=4)
    sample = Sample(plan=plan, nodes=2, forward_ms=75.0, iteration_ms=1.0)
    time = FORMS["published"].times(SMALL, TRUE["published"], plan, sample.shape(LINKS), 75.0).iteration
    found = fit(SMALL, LINKS, [*sampled("published"), replace(sample, iteration_ms=time)])
    assert found.coefficients.values() == pytest.approx(TRUE["published"].values(), rel=1e-4)
    assert len(found.errors) == len(RUNS) + 1


def test_a_profile_becomes_a_performance_model():
    measured = (Measurement(plan=data_plan(2), throughput=3.0),)
    samples = (*sampled("published"), *sampled("published", [("zero", 8, 1)], forward=640.0))
    profile = SampleSet(model=SMALL, links=LINKS, samples=samples, measured=measured)
    performance, found = fit_profile(profile)
    assert performance.coefficients == found.coefficients
    assert performance.measured == measured
    assert performance.forward_ms == {1: 600.0, 2: 300.0, 4: 150.0, 8: pytest.approx((75 + 75 + 80) / 3)}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"samples": []}, r"^samples: found none; allowed: at least one sample"),
        ({"form": "old"}, r"^form: found 'old'"),
        ({"fixed": {"k_syn": 1.0}}, r"^fixed: found 'k_syn' \(did you mean 'k_sync'\?\)"),
        ({"fixed": {"k_sync": 0.5}}, r"^fixed\[k_sync\]: found 0.5; allowed: a finite number from 1 to 100"),
        (
            {"samples": [Sample(plan=data_plan(3), forward_ms=1.0, iteration_ms=1.0)]},
            r"^samples\[0\].dp: found 3; allowed: a divisor of the model's batch, 8",
        ),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InputError, match=message):
        fit(SMALL, LINKS, **({"samples": sampled("published")} | arguments))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"nodes": 3}, r"^nodes: found 3 for 4 GPUs"),
        ({"plan": grid_plan(1, 4, 1), "nodes": 2}, r"^tp: found 4; allowed: a divisor of the 2 GPUs on each node"),
        ({"iteration_ms": None}, r"^iteration_ms: found None"),
        ({"step_ms": -1.0}, r"^step_ms: found -1.0"),
        ({"forward_ms": 0}, r"^forward_ms: found 0"),
        ({"plan": "dp4"}, r"^plan: found 'dp4'"),
    ],
)
def test_bad_samples(fields, message):
    with pytest.raises(InputError, match=message):
        Sample(**({"plan": data_plan(4), "forward_ms": 1.0, "iteration_ms": 4.0} | fields))
