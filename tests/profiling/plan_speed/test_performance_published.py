"""The published form: what its formula must reduce to, and the links it needs."""

import math

import pytest
from hypothesis import given, strategies as st
from plan_cases import LLAMA, SMALL, coefficients, data_plan, grid_plan, performance, shape

from muri_opt.errors import InputError
from muri_opt.profiling.plan_speed import FORMS, Links, Measurement
from muri_opt.profiling.plan_speed.coefficients import overlap

published, shipped = FORMS["published"].times, FORMS["shipped"].times
times_ms = st.floats(0.0, 1e6)


@given(times_ms, times_ms, st.floats(1.0, 1e4))
def test_an_overlap_lies_between_the_larger_and_the_sum(x, y, k):
    found = overlap(k, x, y)
    assert max(x, y) <= found <= (x + y) * (1 + 1e-12)
    assert overlap(1.0, x, y) == pytest.approx(x + y)
    assert overlap(k, x, y) == overlap(k, y, x)


def test_an_overlap_is_the_power_mean():
    assert overlap(2.0, 3.0, 4.0) == pytest.approx(5.0)
    assert overlap(1e6, 3.0, 4.0) == pytest.approx(4.0)
    assert overlap(80.0, 1e5, 1e5) == pytest.approx(1e5 * 2 ** (1 / 80))  # 1e5**80 alone is no float


@given(
    gpus=st.sampled_from([1, 2, 4, 8]),
    states=st.sampled_from(["replicated", "zero"]),
    again=st.booleans(),
    steps=st.sampled_from([1, 2]),
    forward=st.floats(1.0, 1e4),
)
def test_without_offload_on_one_node_both_forms_agree(gpus, states, again, steps, forward):
    """The shipped form differs by the constant it charges for a swap that does not happen."""
    plan = data_plan(gpus, states, checkpointing=again, accumulation=steps)
    k = coefficients(k_swap=0.0)
    assert published(LLAMA, k, plan, shape(gpus), forward) == pytest.approx(
        shipped(LLAMA, k, plan, shape(gpus), forward)
    )


def test_offload_overlaps_with_the_exchange_and_with_the_optimiser():
    k = coefficients(k_off=1.0, k_swap=1.0)
    plan, on = data_plan(2, "offload"), shape(2, cpus_per_gpu=4)
    P = SMALL.mebi_parameters
    swap = 4 * P / 2 / 8
    sync = overlap(k.k_sync, 2 * 100.0, 8 * P / 2 / 100)
    found = published(SMALL, k, plan, on, 100.0)
    assert found.exchange == pytest.approx(sync + swap)
    assert found.step == pytest.approx(3.0 * P / 8 + swap)
    assert found.iteration == pytest.approx(100 + found.exchange + found.step + 10)
    full = published(SMALL, coefficients(k_off=1e4, k_swap=1e4), plan, on, 100.0)
    assert full.exchange == pytest.approx(max(sync, swap), rel=1e-3)
    assert full.step == pytest.approx(max(3.0 * P / 8, swap), rel=1e-3)


def test_accumulation_repeats_passes_and_exchange():
    """GA(a): a forward passes, a - 1 backward passes, and the last overlapping with a exchanges."""
    plan, on = data_plan(4, "zero", accumulation=2), shape(4)
    k, P = coefficients(), SMALL.mebi_parameters
    expected = 2 * 50 + 100 + overlap(k.k_sync, 100.0, 2 * 8 * P * 3 / 4 / 100) + k.k_opt * P / 4 + k.k_const
    assert published(SMALL, k, plan, on, 100.0).iteration == pytest.approx(expected)


def test_a_pipeline_has_a_bubble_that_micro_batches_shrink():
    k = coefficients(k_opt=0.0, k_const=0.0)
    fast = Links(intra_gb_s=1e6, inter_gb_s=1e6)
    for stages in (2, 4):
        for steps in (1, 2, 8):
            plan = grid_plan(stages, 1, 1, accumulation=steps)
            found = published(SMALL, k, plan, shape(stages, links=fast), 120.0).iteration
            assert found == pytest.approx(3 * 120 * (steps + stages - 1) / steps, rel=1e-4)


def test_where_traffic_goes():
    """Tensor parallelism inside the node; gradients inside it too if a stage fits; stages between nodes."""
    k = coefficients(k_opt=0.0, k_const=0.0, k_sync=1.0)
    P, numbers = LLAMA.mebi_parameters, 8.0
    plan = grid_plan(2, 2, 2, accumulation=8)
    compute = 9 * 10 * (1 + k.k_bwd)
    gradients = 8 * P / 4 / 2
    tensor, stages = 9 * 32 * numbers * 16 / 2 / 100, 9 * 16 * numbers / 2
    for on, slow, between in ((shape(8), 100, 100), (shape(4, 2), 100, 10), (shape(2, 4), 10, 10)):
        found = published(LLAMA, k, plan, on, 80.0).iteration
        assert found == pytest.approx(compute + gradients / slow + tensor + stages / between)


def test_checkpointing_adds_a_forward_pass():
    k = coefficients()
    for plan, slots in ((data_plan(2), 1), (data_plan(2, accumulation=4), 4), (grid_plan(2, 1, 1, accumulation=4), 5)):
        again = type(plan)(gpus=2, pp=plan.pp, dp=plan.dp, accumulation=plan.accumulation, checkpointing=True)
        more = (
            published(SMALL, k, again, shape(2), 80.0).iteration - published(SMALL, k, plan, shape(2), 80.0).iteration
        )
        assert more == pytest.approx(slots * 80 / plan.accumulation)


def test_forward_times_are_scaled_from_the_nearest_smaller_number_of_gpus():
    model = performance(forward_ms={2: 300.0, 4: 160.0}, coefficients=coefficients((1, 1, 0, 0, 0, 1, 1)))
    fast = Links(intra_gb_s=1e6)
    for gpus, forward in ((1, 600), (2, 300), (4, 160), (8, 80)):
        found = model.iteration_ms(data_plan(gpus), shape(gpus, links=fast))
        assert found == pytest.approx(2 * forward, abs=0.01)


def test_a_measured_throughput_takes_precedence():
    plan = data_plan(4, "offload")
    table = (
        Measurement(plan=plan, cpus_per_gpu=4, throughput=7.0),
        Measurement(plan=plan, nodes=2, throughput=5.0),
    )
    model = performance(measured=table)
    assert model.throughput(plan, model.shape(1, 4, 4)) == 7.0
    assert model.throughput(plan, model.shape(2, 2, 4)) == 5.0
    predicted = model.throughput(plan, model.shape(1, 4, 2))
    assert predicted == pytest.approx(8000 / model.iteration_ms(plan, model.shape(1, 4, 2)))
    assert predicted not in (5.0, 7.0)
    with pytest.raises(InputError, match=r"shape: found 2 x 4 = 8 GPUs; allowed: the 4 GPUs of the plan"):
        model.throughput(plan, model.shape(2, 4))


def test_links_that_do_not_say_what_a_plan_needs():
    model = performance(links=Links(intra_gb_s=100.0))
    for plan, nodes in ((data_plan(2), 2), (grid_plan(2, 1, 1), 2)):
        with pytest.raises(InputError, match=r"^inter_gb_s: found nothing; allowed: a bandwidth between nodes"):
            model.throughput(plan, model.shape(nodes, 1))
    with pytest.raises(InputError, match=r"^host_gb_s: found nothing; allowed: a bandwidth to host memory"):
        model.throughput(data_plan(2, "offload"), model.shape(1, 2))
    assert model.throughput(data_plan(2), model.shape(1, 2)) > 0


@pytest.mark.parametrize("value", [-1.0, 0.0, math.nan, math.inf, "fast"])
@pytest.mark.parametrize("link", ["intra_gb_s", "inter_gb_s", "host_gb_s"])
def test_bandwidths_are_positive_numbers(link, value):
    with pytest.raises(InputError, match=rf"^{link}: found .*; allowed: a finite number above 0"):
        Links(**({"intra_gb_s": 100.0} | {link: value}))


def test_the_bandwidth_inside_a_node_is_required():
    with pytest.raises(InputError, match=r"^intra_gb_s: found nothing"):
        Links(intra_gb_s=None)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"form": "publised"}, r"^form: found 'publised' \(did you mean 'published'\?\)"),
        ({"form": ["published"]}, r"^form: found \['published'\]; allowed: a string"),
        ({"forward_ms": {}}, r"^forward_ms: found an empty table"),
        ({"forward_ms": {0: 1.0}}, r"^forward_ms key: found 0"),
        ({"forward_ms": {1: -1.0}}, r"^forward_ms\[1\]: found -1.0"),
        ({"measured": ("fast",)}, r"^measured\[0\]: found 'fast'; allowed: a Measurement"),
        ({"coefficients": None}, r"^coefficients: found None"),
    ],
)
def test_bad_performance_models(fields, message):
    with pytest.raises(InputError, match=message):
        performance(**fields)


@pytest.mark.parametrize(
    ("plan", "nodes", "message"),
    [
        (data_plan(16), 1, r"^dp: found 16; allowed: a divisor of the model's batch, 8"),
        (data_plan(2, accumulation=3), 1, r"^accumulation: found 3; .* batch per replica, 4"),
        (grid_plan(5, 1, 1), 1, r"^pp: found 5; allowed: a divisor of the model's layers, 24"),
        (grid_plan(1, 3, 1), 1, r"^tp: found 3; allowed: a divisor of the model's heads, 16"),
        (grid_plan(1, 4, 1), 2, r"^tp: found 4; allowed: a divisor of the 2 GPUs on each node"),
    ],
)
def test_plans_that_do_not_divide_evenly(plan, nodes, message):
    model = performance()
    with pytest.raises(InputError, match=message):
        model.throughput(plan, model.shape(nodes, plan.gpus // nodes))


@pytest.mark.parametrize(("name", "value"), [("k_sync", 0.5), ("k_opt", -1.0), ("k_const", math.inf), ("k_bwd", True)])
def test_coefficients_have_ranges(name, value):
    with pytest.raises(InputError, match=rf"^{name}: found .*; allowed: a finite number from"):
        coefficients(**{name: value})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"nodes": 3}, r"^nodes: found 3 for 4 GPUs; allowed: a divisor"),
        ({"throughput": 0.0}, r"^throughput: found 0.0"),
        ({"cpus_per_gpu": -2}, r"^cpus_per_gpu: found -2"),
    ],
)
def test_bad_measurements(fields, message):
    with pytest.raises(InputError, match=message):
        Measurement(**({"plan": data_plan(4), "throughput": 1.0} | fields))
