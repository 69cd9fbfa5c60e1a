"""Figure 7 of the Rubick paper: the best plan for LLaMA-2-7B changes with the resources.

Settings and plans are those of the authors' micro-benchmark (AlibabaPAI/reconfigurable-dl-scheduler): global batch 16,
the parameters they set by hand, and the plans they allow on each placement.
"""

import pytest
from plan_cases import LLAMA, cluster, coefficients, data_plan, grid_plan

from muri_opt.profiling.plan_speed import Links, Measurement, PerformanceModel, enumerate_plans

FIGURE = PerformanceModel(
    model=LLAMA,
    links=Links(intra_gb_s=110.0, host_gb_s=0.96),
    form="shipped",
    coefficients=coefficients((2, 10, 0.03, 4, 1.049, 1.119, 1000)),
    forward_ms={1: 500.0},
)
CPUS = 2


def digits(text):
    return grid_plan(*map(int, text))


@pytest.mark.parametrize(
    ("nodes", "gpus", "plans", "best", "throughput"),
    [
        (4, 8, "184 228 148 244 418", "244", 8.0946),
        (4, 4, "144 224 242 441", "441", 13.0764),
        (1, 4, "221 141", "221", 12.1716),
    ],
)
def test_the_best_plan_of_a_placement(nodes, gpus, plans, best, throughput):
    on = FIGURE.shape(nodes, gpus, CPUS)
    found = {plan: FIGURE.throughput(digits(plan), on) for plan in plans.split()}
    assert max(found, key=found.get) == best
    assert found[best] == pytest.approx(throughput, abs=1e-4)
    assert found[best] > FIGURE.throughput(data_plan(16, "offload", checkpointing=True), FIGURE.shape(1, 16, CPUS))


@pytest.mark.parametrize(("gpus", "throughput"), [(16, 2.8303), (4, 0.8789), (1, 0.2305)])
def test_offload_with_checkpointing(gpus, throughput):
    plan = data_plan(gpus, "offload", checkpointing=True)
    assert FIGURE.throughput(plan, FIGURE.shape(1, gpus, CPUS)) == pytest.approx(throughput, abs=1e-4)


def test_one_gpu_leaves_only_offload():
    placed = enumerate_plans(LLAMA, cluster((1, 96, 1600)), gpu_memory_gib=80)
    assert {item.plan.states for item in placed} == {"offload"}
    assert data_plan(1, "offload", checkpointing=True) in {item.plan for item in placed}
    assert data_plan(1, "offload") not in {item.plan for item in placed}  # 16 samples of activations at once


def test_the_measured_times_of_the_figure_choose_the_same_plans():
    """Iteration seconds as the figure has them: TP+DP, TP+PP, Megatron 3D, Rubick's choice; offload on one GPU."""
    seconds = {
        (4, 8): {"184": 1.306, "481": 1.36, "228": 1.269, "244": 1.165},
        (4, 4): {"144": 2.372, "224": 2.084, "441": 1.803},
        (1, 4): {"141": 5.704, "221": 5.107},
    }
    table = tuple(
        Measurement(plan=digits(plan), nodes=nodes, throughput=16 / time)
        for (nodes, _), times in seconds.items()
        for plan, time in times.items()
    )
    lone = data_plan(1, "offload", checkpointing=True)
    lone_runs = tuple(Measurement(plan=lone, cpus_per_gpu=c, throughput=16 / t) for c, t in ((2, 66), (4, 46)))
    model = PerformanceModel(
        model=LLAMA,
        links=FIGURE.links,
        coefficients=FIGURE.coefficients,
        forward_ms=FIGURE.forward_ms,
        measured=table + lone_runs,
    )
    winners = {}
    for (nodes, gpus), times in seconds.items():
        found = {plan: model.throughput(digits(plan), model.shape(nodes, gpus)) for plan in times}
        assert found == {plan: 16 / time for plan, time in times.items()}
        winners[nodes * gpus] = max(found, key=found.get)
    assert winners == {32: "244", 16: "441", 4: "221"}
    assert model.throughput(lone, model.shape(1, 1, 4)) / model.throughput(lone, model.shape(1, 1, 2)) == 66 / 46
