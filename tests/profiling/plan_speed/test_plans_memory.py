"""What a plan keeps in memory, counted by hand."""

import pytest
from hypothesis import given, strategies as st
from plan_cases import LLAMA, SMALL, data_plan, grid_plan

from muri_opt.errors import InputError
from muri_opt.profiling.plan_speed import memory

P = SMALL.parameters
NUMBERS = 512 * 1024  # tokens times hidden of one sample
LAYER = 34 + 5 * 16 * 512 / 1024  # bytes per number and layer
HOST = 1.2 * 2**30


def test_data_parallel_plans():
    plain = memory(SMALL, data_plan(4))
    assert (plain.weights, plain.gradients, plain.optimiser, plain.host) == (2 * P, 2 * P, 12 * P, HOST)
    assert plain.activations == 2 * NUMBERS * 24 * LAYER
    zero = memory(SMALL, data_plan(4, "zero"))
    assert (zero.weights, zero.gradients, zero.optimiser, zero.host) == (2 * P, P / 2, 3 * P, HOST)
    offload = memory(SMALL, data_plan(4, "offload"))
    assert (offload.weights, offload.gradients, offload.optimiser) == (2 * P, P / 2, 0)
    assert offload.host == HOST + 4 * P
    assert offload.gpu_gib == pytest.approx((2.5 * P + 2 * NUMBERS * 24 * LAYER) / 2**30)
    assert offload.host_gib == pytest.approx(1.2 + 4 * P / 2**30)


def test_checkpointing_keeps_inputs_and_one_layer():
    kept = memory(SMALL, data_plan(4, checkpointing=True))
    assert kept.activations == 2 * NUMBERS * (2 * 24 + LAYER)


def test_accumulation_divides_activations():
    assert memory(SMALL, data_plan(2, accumulation=4)).activations == NUMBERS * 24 * LAYER


def test_tensor_and_pipeline_parallelism():
    plan = grid_plan(4, 2, 1, accumulation=8)
    split = memory(SMALL, plan)
    assert (split.weights, split.gradients, split.optimiser) == (P / 4, P / 4, 12 * P / 8)
    # the first of four stages holds six layers of four micro-batches; layer inputs are not split by tensor parallelism
    assert split.activations == 4 * 6 * NUMBERS * (10 + 24 / 2 + 40 / 2)
    short = memory(SMALL, grid_plan(4, 2, 1, accumulation=2))
    assert short.activations == 2 * 6 * 4 * NUMBERS * (10 + 24 / 2 + 40 / 2)


def test_known_sizes():
    """Adam in mixed precision: 16 bytes per parameter, 100 GiB for LLaMA-2-7B, more than a GPU of 80 GB has."""
    states = memory(LLAMA, data_plan(1, accumulation=16))
    assert (states.weights + states.gradients + states.optimiser) / 2**30 == pytest.approx(100.4, abs=0.05)


@given(
    dp=st.sampled_from([1, 2, 4, 8]),
    states=st.sampled_from(["replicated", "zero", "offload"]),
    steps=st.sampled_from([1, 2]),
)
def test_what_saves_memory_saves_memory(dp, states, steps):
    if dp * steps > SMALL.batch:
        steps = 1
    plan = data_plan(dp, states, accumulation=steps)
    again = data_plan(dp, states, accumulation=steps, checkpointing=True)
    assert memory(SMALL, again).gpu_gib < memory(SMALL, plan).gpu_gib
    if states != "replicated":
        assert memory(SMALL, plan).gpu_gib <= memory(SMALL, data_plan(dp, accumulation=steps)).gpu_gib


def test_degrees_that_do_not_divide_are_refused():
    with pytest.raises(InputError, match="accumulation: found 3"):
        memory(SMALL, data_plan(1, accumulation=3))
