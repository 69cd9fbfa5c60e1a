"""Models and plans as values: names, and everything they refuse."""

import pytest
from plan_cases import SMALL, data_plan, grid_plan, shape

from muri_opt.errors import InputError
from muri_opt.profiling.plan_speed import ExecutionPlan, Model, Shape


def test_names():
    assert data_plan(8).name == "dp8"
    assert data_plan(1, "offload", checkpointing=True).name == "offload-dp1+gc"
    assert data_plan(8, "zero", accumulation=2).name == "zero-dp8+ga2"
    assert grid_plan(2, 4, 1, accumulation=4, checkpointing=True).name == "pp2-tp4-dp1+ga4+gc"


def test_the_samples_of_a_micro_step():
    assert data_plan(2, accumulation=2).micro_batch(SMALL) == 2


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"gpus": 8, "dp": 4}, r"^gpus: found 8; allowed: pp x tp x dp = 1 x 1 x 4 = 4"),
        ({"gpus": 0, "dp": 0}, r"^gpus: found 0; allowed: a whole number from 1"),
        ({"gpus": 2, "dp": 2.0}, r"^dp: found 2.0; allowed: a whole number"),
        ({"gpus": 2, "tp": 2, "states": "zero"}, r"^states: found 'zero' with pp 1 and tp 2; allowed: pp 1 and tp 1"),
        ({"gpus": 2, "pp": 2, "states": "offload"}, r"^states: found 'offload' with pp 2"),
        ({"gpus": 1, "states": "zer"}, r"^states: found 'zer' \(did you mean 'zero'\?\)"),
        ({"gpus": 1, "accumulation": 0}, r"^accumulation: found 0"),
        ({"gpus": 1, "checkpointing": 1}, r"^checkpointing: found 1; allowed: a bool"),
    ],
)
def test_bad_plans(fields, message):
    with pytest.raises(InputError, match=message):
        ExecutionPlan(**fields)


@pytest.mark.parametrize(
    ("field", "value"), [("name", ""), ("parameters", 0), ("layers", -1), ("heads", 1.5), ("batch", None)]
)
def test_bad_models(field, value):
    good = {"name": "m", "parameters": 1, "layers": 1, "heads": 1, "hidden": 1, "sequence": 1, "batch": 1}
    assert Model(**good).mebi_parameters == 2**-20
    with pytest.raises(InputError, match=rf"^{field}: found"):
        Model(**(good | {field: value}))


@pytest.mark.parametrize(("field", "value"), [("nodes", 0), ("gpus_per_node", 0), ("cpus_per_gpu", 0), ("links", None)])
def test_bad_shapes(field, value):
    good = {"nodes": 1, "gpus_per_node": 1, "cpus_per_gpu": 1.0, "links": shape(1).links}
    assert Shape(**good) == shape(1)
    with pytest.raises(InputError, match=rf"^{field}: found"):
        Shape(**(good | {field: value}))
