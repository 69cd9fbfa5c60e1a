"""Pruning never loses the best plan of any amount of resources, and what is left is a job of a round."""

import itertools

import pytest
from hypothesis import given, strategies as st
from more_examples import more_examples
from plan_cases import LINKS, LLAMA, SMALL, cluster, coefficients, data_plan, performance

from muri_opt.errors import InputError
from muri_opt.profiling.plan_speed import (
    Links,
    Offer,
    PlacedPlan,
    as_plans,
    best_within,
    enumerate_plans,
    job_plans,
    offers,
    without_dominated,
)
from muri_opt.rounds import Cluster, Job, Node, Round, canonical_json, parse_round

EIGHT = cluster(*[(8, 96, 1600)] * 4)


def placed(nodes, gpus, cpus, memory, accumulation=1):
    plan = data_plan(nodes * gpus, accumulation=accumulation)
    return PlacedPlan(plan=plan, nodes=nodes, gpus_per_node=gpus, cpus_per_gpu=cpus, memory_gib_per_node=memory)


OFFERS = st.builds(
    Offer,
    st.builds(placed, st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3)),
    st.integers(1, 5).map(float),
)


def best_at(given, amount):
    """The best throughput of an amount, looked up one by one: nodes, and GPUs, CPUs and memory on each of them."""
    nodes, gpus, cpus, memory = amount
    return max(
        (
            throughput
            for item, throughput in given
            if item.nodes <= nodes
            and item.gpus_per_node <= gpus
            and item.gpus_per_node * item.cpus_per_gpu <= cpus
            and item.memory_gib_per_node <= memory
        ),
        default=None,
    )


def chosen_at(given, amount):
    """The same by the library."""
    nodes, gpus, cpus, memory = amount
    found = best_within(given, nodes=nodes, gpus_per_node=gpus, cpus_per_node=cpus, memory_gib_per_node=memory)
    return None if found is None else found.throughput


@more_examples(200)
@given(st.lists(OFFERS, max_size=12))
def test_the_best_throughput_of_every_amount_is_kept(given):
    kept = without_dominated(given)
    assert set(kept) <= set(given)
    for amount in itertools.product((1, 2, 3), (1, 2, 3), (1, 2, 4, 6, 9), (1, 2, 3)):
        assert chosen_at(given, amount) == chosen_at(kept, amount) == best_at(kept, amount) == best_at(given, amount)


@more_examples(200)
@given(st.lists(OFFERS, max_size=12))
def test_nothing_that_is_kept_can_go(given):
    kept = without_dominated(given)
    for offer in kept:
        item = offer.placed
        amount = (item.nodes, item.gpus_per_node, item.cpus_per_node, item.memory_gib_per_node)
        others = [other for other in kept if other is not offer]
        assert (best_at(others, amount) or 0.0) < offer.throughput
    assert without_dominated(kept) == kept


@pytest.mark.parametrize("form", ["published", "shipped"])
def test_the_same_for_all_plans_of_a_real_model(form):
    model = performance(LLAMA, form=form, coefficients=coefficients(), forward_ms={1: 4500.0})
    given = offers(model, enumerate_plans(LLAMA, EIGHT, gpu_memory_gib=80))
    kept = without_dominated(given)
    assert len(kept) < len(given) / 10
    needs = {item.memory_gib_per_node for item, _ in given}
    for nodes, gpus, cpus in itertools.product((1, 2, 3, 4), range(1, 9), (1, 4, 8, 16, 64, 96)):
        for memory in (5, 60, 200, max(needs)):
            amount = (nodes, gpus, cpus, memory)
            assert best_at(kept, amount) == best_at(given, amount)


def test_no_offer_for_too_little():
    given = [Offer(placed(1, 2, 1, 8), 1.0)]
    assert chosen_at(given, (1, 2, 2, 8)) == 1.0
    assert chosen_at(given, (4, 1, 2, 8)) is None
    assert chosen_at(given, (1, 2, 1, 8)) is None
    assert chosen_at([], (1, 1, 1, 1)) is None


def test_of_equally_fast_offers_the_smallest_is_best():
    small, large = Offer(placed(1, 1, 1, 1), 2.0), Offer(placed(1, 2, 1, 1), 2.0)
    amount = {"nodes": 1, "gpus_per_node": 2, "cpus_per_node": 2, "memory_gib_per_node": 1}
    assert best_within([large, small], **amount) is small


def test_the_plans_of_a_job():
    model = performance(LLAMA, forward_ms={1: 4500.0})
    plans = job_plans(model, EIGHT, gpu_memory_gib=80)
    job = Job(id="llama", gpus=8, plans=plans)
    round_ = Round(name="one", cluster=EIGHT, jobs=(job,))
    assert parse_round(canonical_json(round_)) == round_
    assert len({plan.name for plan in plans}) == len(plans)
    for plan in plans:
        assert plan.gpus <= 32
        assert plan.nodes <= 4
        assert plan.cpus / plan.nodes <= 96
        assert plan.memory_gib / plan.nodes <= 1600
    lone = [plan for plan in plans if plan.gpus == 1]
    assert [plan.cpus for plan in lone] == [1, 2, 4, 8, 16]  # only offload fits one GPU, and more CPUs make it faster
    assert sorted(lone, key=lambda plan: plan.throughput) == lone
    whole = max(plans, key=lambda plan: plan.throughput)
    assert (whole.gpus, whole.nodes) == (32, 4)


def test_a_dominated_plan_is_kept_on_request():
    model = performance(LLAMA, forward_ms={1: 4500.0})
    lean = job_plans(model, EIGHT, gpu_memory_gib=80)
    slow = "offload-dp8+ga2+gc@1x8c1"
    kept = job_plans(model, EIGHT, gpu_memory_gib=80, keep=(slow, lean[0].name))
    assert slow not in {plan.name for plan in lean}
    assert {plan.name for plan in kept} == {slow, *(plan.name for plan in lean)}
    assert len(kept) == len(lean) + 1
    with pytest.raises(InputError, match=r"^keep: found 'offload-dp8\+ga2\+gc' \(did you mean"):
        job_plans(model, EIGHT, gpu_memory_gib=80, keep=("offload-dp8+ga2+gc",))


def test_offers_become_plans_with_totals():
    (plan,) = as_plans([Offer(placed(2, 4, 2, 10.5), 3.5)], gpu_type="a800")
    assert (plan.name, plan.gpus, plan.nodes, plan.gpu_type) == ("dp8@2x4c2", 8, 2, "a800")
    assert (plan.cpus, plan.memory_gib, plan.throughput) == (16, 21, 3.5)


def test_the_type_of_gpu_is_passed_on():
    typed = Cluster(nodes=(Node(id="a", gpus=2, gpu_type="a800"), Node(id="b", gpus=8, gpu_type="v100")))
    plans = job_plans(performance(), typed, gpu_memory_gib=80, gpu_type="a800")
    assert {plan.gpu_type for plan in plans} == {"a800"}
    assert max(plan.gpus for plan in plans) == 2


def test_missing_bandwidth_is_named():
    for links, field in (
        (Links(intra_gb_s=100.0, host_gb_s=8.0), "inter_gb_s"),
        (Links(intra_gb_s=100.0, inter_gb_s=8.0), "host_gb_s"),
    ):
        with pytest.raises(InputError, match=rf"^{field}: found nothing"):
            job_plans(performance(SMALL, links=links), EIGHT, gpu_memory_gib=80)
    assert job_plans(performance(SMALL, links=LINKS), EIGHT, gpu_memory_gib=80)
