"""Which plans there are: everything that divides evenly and fits, nothing else, and why there is none."""

import itertools

import pytest
from hypothesis import given, strategies as st
from more_examples import more_examples
from plan_cases import LLAMA, SMALL, cluster, data_plan

from muri_opt.errors import InputError
from muri_opt.profiling.plan_speed import ExecutionPlan, Model, enumerate_plans, memory
from muri_opt.rounds import Cluster, Node

MODELS = st.builds(
    Model,
    name=st.just("drawn"),
    parameters=st.sampled_from([10**8, 10**9, 7 * 10**9]),
    layers=st.sampled_from([3, 12, 24]),
    heads=st.sampled_from([5, 12, 16]),
    hidden=st.just(960),
    sequence=st.just(512),
    batch=st.sampled_from([4, 6, 16]),
)
NODES = st.tuples(st.integers(1, 4), st.sampled_from([2, 8, 32]), st.sampled_from([8, 64, 512]))


def brute_force(model, nodes, gpu_gib):
    """Every combination of numbers, kept if it obeys the rules one by one."""
    found = set()
    total = sum(gpus for gpus, _, _ in nodes)
    steps = range(1, model.batch + 1)
    for tp, pp, dp in itertools.product(range(1, total + 1), repeat=3):
        n = tp * pp * dp
        if n > total or model.heads % tp or model.layers % pp or model.batch % dp:
            continue
        for states, ga, gc in itertools.product(("replicated", "zero", "offload"), steps, (False, True)):
            if model.batch % (dp * ga) or (states != "replicated" and tp * pp > 1) or (states == "zero" and dp == 1):
                continue
            plan = ExecutionPlan(gpus=n, pp=pp, tp=tp, dp=dp, states=states, accumulation=ga, checkpointing=gc)
            need = memory(model, plan)
            if need.gpu_gib > gpu_gib:
                continue
            for width in range(1, n + 1):
                if n % width or width % tp:
                    continue
                for cpus in (1, 2, 4, 8, 16) if states == "offload" else (1,):
                    hosts = sum(
                        g >= width and c >= cpus * width and m >= round(need.host_gib * width * 1024) / 1024
                        for g, c, m in nodes
                    )
                    if hosts >= n // width:
                        found.add((plan, n // width, width, cpus))
    return found


@more_examples(40)
@given(model=MODELS, nodes=st.lists(NODES, min_size=1, max_size=3), gpu_gib=st.sampled_from([4, 16, 80]))
def test_all_plans_and_no_others(model, nodes, gpu_gib):
    expected = brute_force(model, nodes, gpu_gib)
    try:
        placed = enumerate_plans(model, cluster(*nodes), gpu_memory_gib=gpu_gib)
    except InputError:
        assert not expected
        return
    found = [(item.plan, item.nodes, item.gpus_per_node, item.cpus_per_gpu) for item in placed]
    assert len(found) == len(set(found))
    assert set(found) == expected
    assert len({item.name for item in placed}) == len(placed)


def test_counts_of_a_known_model():
    """25 heads: tensor parallelism of 1 or 5 only."""
    gpt = Model(name="gpt2", parameters=1_557_686_400, layers=48, heads=25, hidden=1600, sequence=1024, batch=16)
    placed = enumerate_plans(gpt, cluster(*[(8, 96, 1600)] * 4), gpu_memory_gib=80)
    assert {item.plan.tp for item in placed} == {1, 5}
    assert {item.gpus_per_node for item in placed if item.plan.tp == 5} == {5}
    assert max(item.plan.gpus for item in placed) == 32


def test_only_nodes_of_the_type_count():
    mixed = Cluster(nodes=(Node(id="a", gpus=8, gpu_type="a800"), Node(id="v", gpus=4, gpu_type="v100")))
    sizes = {item.plan.gpus for item in enumerate_plans(SMALL, mixed, gpu_memory_gib=80, gpu_type="v100")}
    assert sizes == {1, 2, 3, 4}
    with pytest.raises(InputError, match=r"^cluster.nodes: found no GPU of type 'h100'; allowed: a node with GPUs of"):
        enumerate_plans(SMALL, mixed, gpu_memory_gib=80, gpu_type="h100")


def test_a_cluster_without_a_gpu():
    with pytest.raises(InputError, match=r"^cluster.nodes: found no GPU; allowed: a node with GPUs"):
        enumerate_plans(SMALL, cluster((0, 8, 64)), gpu_memory_gib=80)


def test_gpu_memory_breaks_first():
    with pytest.raises(InputError) as caught:
        enumerate_plans(LLAMA, cluster((1, 96, 1600)), gpu_memory_gib=24)
    error = caught.value
    least = memory(LLAMA, data_plan(1, "offload", accumulation=16, checkpointing=True)).gpu_gib
    assert error.field == "gpu_memory_gib"
    assert error.found == f"24, where the leanest plan of llama-2-7b, offload-dp1+ga16+gc, needs {least:.1f}"
    assert enumerate_plans(LLAMA, cluster((1, 96, 1600)), gpu_memory_gib=least)


def test_host_memory_breaks_first():
    with pytest.raises(
        InputError, match=r"^cluster.nodes.memory_gib: found too little .* at least 101.6 GiB on a node"
    ):
        enumerate_plans(LLAMA, cluster((1, 96, 64)), gpu_memory_gib=80)


def test_cpus_break_first():
    with pytest.raises(InputError, match=r"^cluster.nodes.cpus: found too few .* at least 1 beside 1.2 GiB on a node"):
        enumerate_plans(SMALL, cluster((2, 0.5, 1600)), gpu_memory_gib=80)


def test_cpus_and_memory_on_different_nodes_are_of_no_use():
    with pytest.raises(InputError, match=r"^cluster.nodes.cpus: found too few .* at least 1 beside 1.2 GiB on a node"):
        enumerate_plans(SMALL, cluster((1, 0.5, 1600), (1, 8, 0.5)), gpu_memory_gib=80)


def test_one_node_is_too_small_and_two_would_do():
    """Two nodes of 10 GiB could share what one GPU has to keep in host memory, if they had CPUs."""
    wide = Model(name="wide", parameters=10**9, layers=1, heads=1, hidden=960, sequence=512, batch=2)
    with pytest.raises(InputError, match=r"^cluster.nodes.cpus: .* on 2 nodes, for offload-dp2"):
        enumerate_plans(wide, cluster((1, 0.5, 10), (1, 0.5, 10)), gpu_memory_gib=4)


@pytest.mark.parametrize("value", [-1, float("nan"), "80"])
def test_gpu_memory_is_a_number(value):
    with pytest.raises(InputError, match=r"^gpu_memory_gib: found"):
        enumerate_plans(SMALL, cluster((1, 1, 1)), gpu_memory_gib=value)
