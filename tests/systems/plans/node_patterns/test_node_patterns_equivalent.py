"""Rounds in which nodes do not matter: the knapsack of the cluster is the same choice, and everything finds a place."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from by_policy import proved_bound, settings_of
from hypothesis import given, strategies as st
from more_examples import more_examples
from msgspec.structs import replace
from packing_rounds import packed, parts_of, value_of
from plan_rounds import result_of
from running_states import settled

from muri_opt import Cluster, Guarantee, Job, Node, Plan, Round, Tenant, verify
from muri_opt.systems.plans import FreeNodes, PlanOptions, PlanRules, plan_decision
from muri_opt.systems.plans.node_patterns.gpus_only import placed_by_gpus
from muri_opt.systems.plans.node_patterns.when_nodes_do_not_matter import equivalent_knapsack
from muri_opt.verify.plans.optimum import planned_optimum
from muri_opt.verify.plans.plan_choices import PlanChoices

SIZES = {"a": 4, "b": 6}
CHAINS = {"a": (1, 2, 4), "b": (1, 3, 6)}
"""GPUs of a node of each type, and sizes of parts that go into each other and into the node."""


@st.composite
def simple_rounds(draw: st.DrawFn, *, most: int = 4) -> Round:
    """Draw nodes of two types, and jobs whose plans are for one of them, in sizes that always find their place."""
    nodes = [
        Node(id=f"{kind}{s}", gpus=SIZES[kind], gpu_type=kind, cpus=2.0 * SIZES[kind], memory_gib=None)
        for kind in "ab"
        for s in range(draw(st.integers(1, 2)))
    ]
    jobs = []
    for j in range(draw(st.integers(1, most))):
        made = {}
        for _ in range(draw(st.integers(1, 4))):
            kind = draw(st.sampled_from("ab"))
            parts = draw(st.integers(1, 2))
            gpus = parts * (draw(st.sampled_from(CHAINS[kind])) if parts == 1 else SIZES[kind])
            made[kind, gpus] = Plan(
                name=f"{kind}{gpus}",
                gpus=gpus,
                nodes=parts,
                gpu_type=kind,
                cpus=gpus * draw(st.sampled_from([0.0, 1.0, 2.0])),
                throughput=draw(st.floats(0.5, 8.0)),
            )
        plans = tuple(made.values())
        held = {}
        if plans[0].nodes == 1 and draw(st.booleans()):  # at home, which is worth nothing: a restart is free
            held = {"state": "running", "placement": {f"{plans[0].gpu_type}0": plans[0].gpus}, "plan": plans[0].name}
        promised = Guarantee(throughput=plans[0].throughput) if draw(st.booleans()) else None
        jobs.append(Job(id=f"j{j}", gpus=plans[0].gpus, plans=plans, guarantee=promised, **held))
    cluster = Cluster(nodes=tuple(nodes))
    return Round(cluster=cluster, jobs=settled(cluster, jobs))


@more_examples(60)
@given(simple_rounds())
def test_the_knapsack_finds_the_optimum(round_):
    options = PlanOptions.of(round_, PlanRules())
    items, families = parts_of(round_, options)
    assert not len(options) or equivalent_knapsack(round_, options, items, families) is not None
    found = packed(round_, options)
    best = planned_optimum(round_, PlanChoices.of(round_, settings_of("rubick")), steps=10**6)
    assert value_of(options, found.chosen) == best
    decision = plan_decision(round_, options, found.chosen)
    assert verify(round_, result_of(round_, "rubick", decision)).feasible
    assert proved_bound(round_, "rubick", decision, (found.duals,))[0] >= best


@given(simple_rounds(most=8), st.data())
def test_whatever_fits_the_cluster_finds_a_place(round_, data):
    options = PlanOptions.of(round_, PlanRules())
    items, families = parts_of(round_, options)
    same = equivalent_knapsack(round_, options, items, families)
    if same is None:
        assert not len(options)
        return
    knapsack, kept = same
    chosen = []
    left = knapsack.capacity.copy()
    for job in data.draw(st.permutations(range(knapsack.jobs))):
        able = [o for o in np.flatnonzero(knapsack.job == job) if (knapsack.use[o] <= left).all()]
        if able:
            chosen.append(data.draw(st.sampled_from(able)))
            left = left - knapsack.use[chosen[-1]]
    options_ = kept[np.array(chosen, dtype=np.int64)]
    free = FreeNodes(round_, options)
    where = placed_by_gpus(round_, options, options_.tolist())
    assert sorted(where) == sorted(options_.tolist())
    for option, nodes in where.items():
        assert len(nodes) == options.q[option]
        assert free.room(option)[nodes].all()
        free.take(option, nodes)


def plain_round(**changes: object) -> Round:
    """Return one job on two nodes of 4 GPUs, in parts of 1, 2, 4 and two times 4 GPUs."""
    plans = (Plan(name="p", gpus=1, cpus=2.0, throughput=1.0), Plan(name="p", gpus=2, throughput=1.5))
    plans += (Plan(name="p", gpus=4, throughput=2.0), Plan(name="p", gpus=8, nodes=2, throughput=3.0))
    job = replace(Job(id="j", gpus=1, plans=plans, plan="p"), **changes)
    return Round(cluster=Cluster(nodes=tuple(Node(id=f"n{s}", gpus=4, cpus=8.0) for s in range(2))), jobs=(job,))


def has_knapsack(round_: Round) -> bool:
    options = PlanOptions.of(round_, PlanRules())
    return equivalent_knapsack(round_, options, *parts_of(round_, options)) is not None


def test_a_plain_round_has_an_equivalent_knapsack():
    assert has_knapsack(plain_round())
    assert packed(plain_round(), PlanOptions.of(plain_round(), PlanRules())).how.startswith("nodes do not matter")


@pytest.mark.parametrize(
    "more",
    [
        Plan(name="q", gpus=3, throughput=1.0),
        Plan(name="q", gpus=1, cpus=2.001, throughput=1.0),
        Plan(name="q", gpus=2, nodes=2, throughput=1.0),
    ],
    ids=["a size that goes into no other", "more CPUs than its share", "small parts on distinct nodes"],
)
def test_parts_that_may_find_no_place(more):
    assert not has_knapsack(plain_round(plans=(*plain_round().jobs[0].plans, more)))


def test_homes_with_a_cost_and_quotas_matter():
    running = {"state": "running", "placement": {"n0": 1}}
    assert has_knapsack(plain_round(**running))
    assert not has_knapsack(plain_round(**running, restart_seconds=5.0))
    promised = plain_round(tenant="t", guarantee=Guarantee(throughput=1.0))
    quota = replace(promised.cluster, tenants=(Tenant(id="t", quota_gpus=1),))
    assert not has_knapsack(replace(promised, cluster=quota))
    assert has_knapsack(replace(promised, cluster=replace(quota, tenants=(Tenant(id="t"),))))


def test_options_for_nodes_of_several_families_matter():
    mixed = plain_round()
    nodes = (mixed.cluster.nodes[0], Node(id="x", gpus=4, cpus=16.0))
    assert not has_knapsack(replace(mixed, cluster=Cluster(nodes=nodes)))


def test_many_jobs_on_equal_nodes_are_proved_optimal():
    rng = np.random.default_rng(2)
    jobs = tuple(
        Job(
            id=f"j{j}",
            gpus=1,
            plans=tuple(
                Plan(name=f"p{g}", gpus=g, nodes=max(1, g // 8), throughput=float(g**power * rng.uniform(0.8, 1.2)))
                for g in (1, 2, 4, 8, 16)
            ),
        )
        for j, power in enumerate(rng.uniform(0.3, 0.9, 120))
    )
    round_ = Round(cluster=Cluster(nodes=tuple(Node(id=f"n{s}", gpus=8) for s in range(20))), jobs=jobs)
    options = PlanOptions.of(round_, PlanRules())
    found = packed(round_, options)
    bound = proved_bound(round_, "rubick", plan_decision(round_, options, found.chosen), (found.duals,))[0]
    assert Fraction(bound, value_of(options, found.chosen)) < Fraction(10_001, 10_000)
