"""The shipped form gives the numbers of the authors' released code.

The expected numbers were computed with that code (AlibabaPAI/reconfigurable-dl-scheduler, Apache-2.0) and the
parameters its scheduler ships; the 3D cases use those of its performance model artifact.
"""

import pytest
from plan_cases import coefficients, data_plan, grid_plan, shape

from muri_opt.errors import InputError
from muri_opt.profiling.plan_speed import FORMS, Links, Model, PerformanceModel

# parameters, batch, forward ms, host GB/s, intra GB/s, the seven coefficients
SHIPPED = {
    "vit": (
        (85_952_456, 64, 40, 6.16469012, 29.74512927),
        (1.0, 13.54749258, 0.0978633706, 1e-8, 5.20129816, 15.69268652, 21.64741351),
    ),
    "roberta": (
        (355_412_057, 64, 480, 7.91073854, 50.30364398),
        (1.72262161, 1.20549310, 1e-8, 2.20046213, 15.73715001, 16.63525840, 32.95307671),
    ),
    "bert": (
        (336_297_858, 32, 225, 64.0, 119.48790854),
        (1.77625073, 1.14103910, 1e-8, 4.40060396, 15.25746464, 37.28898300, 26.22188111),
    ),
    "t5": (
        (1_240_809_472, 16, 410, 64.0, 161.02246829),
        (1.27543246, 1.0, 1e-8, 3.45381984, 11.61603089, 224.86968172, 61.68023192),
    ),
    "gpt2": (
        (1_557_686_400, 16, 1100, 59.72096490, 144.83763732),
        (2.29550555, 71.21658540, 0.0521714175, 4.87722692, 1.78648502, 0.02791273, 51.48938819),
    ),
}
GPUS = (1, 2, 4, 8)
BERT_SPLIT = {1: 225.0, 2: 225 / 1.8, 4: 225 / 3.2, 8: 225 / 5.8}  # its forward time shrinks less than evenly

ZERO = {
    "vit": ((557.1485, 114.871), (903.1877, 70.860), (1155.4404, 55.390), (1227.4216, 52.142)),
    "roberta": ((47.2134, 1355.549), (89.5309, 714.837), (160.3545, 399.116), (261.8824, 244.384)),
    "bert": ((48.0383, 666.136), (81.0872, 394.637), (129.4518, 247.196), (196.6691, 162.710)),
    "t5": ((15.9010, 1006.224), (28.1118, 569.155), (45.6333, 350.621), (66.2927, 241.354)),
    "gpt2": ((4.2600, 3755.834), (8.4009, 1904.555), (16.3446, 978.915), (31.0020, 516.096)),
}
OTHERS = [
    ("gpt2", {}, 1, (3755.83, 1943.31, 1037.04, 583.91)),
    ("gpt2", {"checkpointing": True}, 1, (4855.83, 2493.31, 1312.04, 721.41)),
    ("gpt2", {"states": "offload"}, 1, (11122.60, 5587.95, 2820.63, 1436.97)),
    ("gpt2", {"states": "offload"}, 4, (5688.67, 2870.99, 1462.14, 757.72)),
    ("gpt2", {"states": "offload"}, 8, (4783.01, 2418.16, 1235.73, 644.52)),
    ("bert", {}, 1, (666.14, 394.64, 247.20, 162.71)),
    ("bert", {"checkpointing": True}, 1, (891.14, 519.64, 317.51, 201.50)),
    ("bert", {"states": "offload"}, 4, (1096.35, 628.39, 382.72, 249.11)),
]


def predictor(name):
    (parameters, batch, forward, host, intra), values = SHIPPED[name]
    return PerformanceModel(
        model=Model(name=name, parameters=parameters, layers=24, heads=16, hidden=1024, sequence=512, batch=batch),
        links=Links(intra_gb_s=intra, host_gb_s=host),
        form="shipped",
        coefficients=coefficients(values),
        forward_ms=BERT_SPLIT if name == "bert" else {1: forward},
    )


@pytest.mark.parametrize("name", SHIPPED)
def test_zero_plans(name):
    model = predictor(name)
    for gpus, (throughput, milliseconds) in zip(GPUS, ZERO[name], strict=True):
        plan, on = data_plan(gpus, "zero"), model.shape(1, gpus)
        assert model.throughput(plan, on) == pytest.approx(throughput, abs=1e-4)
        assert model.iteration_ms(plan, on) == pytest.approx(milliseconds, abs=1e-3)


@pytest.mark.parametrize(("name", "fields", "cpus", "expected"), OTHERS)
def test_other_data_parallel_plans(name, fields, cpus, expected):
    model = predictor(name)
    for gpus, milliseconds in zip(GPUS, expected, strict=True):
        found = model.iteration_ms(data_plan(gpus, **fields), model.shape(1, gpus, cpus))
        assert found == pytest.approx(milliseconds, abs=6e-3)  # the expected numbers have two decimals


@pytest.mark.parametrize(
    ("forward", "pp", "tp", "nodes", "gpus", "expected"),
    [
        (300, 1, 8, 2, 8, 1116.2945),
        (270, 1, 8, 4, 8, 930.7380),
        (380, 2, 8, 2, 8, 1548.1918),
        (534, 2, 4, 4, 4, 1803.7878),
        (740, 4, 4, 4, 4, 2611.9785),
        (1435, 8, 2, 8, 2, 4741.3518),
    ],
)
def test_plans_with_tensor_and_pipeline_parallelism(forward, pp, tp, nodes, gpus, expected):
    model = Model(name="llama-7b", parameters=6_738_423_808, layers=32, heads=32, hidden=4096, sequence=2048, batch=8)
    k = coefficients((2, 10, 0.03, 4, 1.04927576, 1.119206693, 1000))
    on = shape(gpus, nodes, links=Links(intra_gb_s=150.0))
    times = FORMS["shipped"].times(model, k, grid_plan(pp, tp, nodes * gpus // pp // tp), on, forward)
    assert times.iteration == pytest.approx(expected, abs=1e-4)


def test_the_exchange_between_nodes_has_a_bandwidth_of_its_own():
    model = predictor("bert")
    plan = data_plan(8)
    near, far = (model.iteration_ms(plan, model.shape(nodes, 8 // nodes)) for nodes in (1, 2))
    k, P = model.coefficients, model.model.mebi_parameters
    backward = k.k_bwd * BERT_SPLIT[8]
    over = [(((8 * P * 7 / 8 / gb_s) ** k.k_sync) + backward**k.k_sync) ** (1 / k.k_sync) for gb_s in (119.48790854, 2)]
    assert far - near == pytest.approx(over[1] - over[0])


@pytest.mark.parametrize(
    ("pp", "tp", "dp", "nodes", "gb_s"),
    [(2, 4, 2, 2, 150.0), (2, 4, 2, 4, 20.0), (1, 4, 4, 2, 20.0), (4, 4, 2, 4, 150.0), (1, 4, 2, 1, 150.0)],
)
def test_gradients_stay_on_the_node_only_with_one_stage_per_node(pp, tp, dp, nodes, gb_s):
    model = predictor("gpt2").model
    k = coefficients((1, 1, 0, 0, 0, 0, 0))
    on = shape(pp * tp * dp // nodes, nodes, links=Links(intra_gb_s=150.0))
    found = FORMS["shipped"].times(model, k, grid_plan(pp, tp, dp), on, 1.0).iteration
    samples = model.batch // dp
    tensor = 32 * samples * 512 * 1024 * 24 * (tp - 1) / tp / 2**20 / 150
    stages = 0.0 if pp == 1 else pp * 16 * samples * 512 * 1024 / tp / 2**20 / 20
    gradients = (8 * (dp - 1) / dp * model.mebi_parameters // tp) / pp / gb_s
    assert found == pytest.approx(2 + tensor + stages + gradients)


def test_more_replicas_than_samples_are_refused():
    model = predictor("bert").model
    with pytest.raises(InputError, match=r"^dp: found 64; allowed: at most the model's batch, 32"):
        FORMS["shipped"].times(model, coefficients(), grid_plan(1, 2, 64), shape(128), 1.0)
