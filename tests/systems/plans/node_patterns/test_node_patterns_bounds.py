"""Any prices bound the round, and patterns found at them fit their nodes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from by_policy import settings_of
from hypothesis import given, strategies as st
from more_examples import more_examples
from packing_rounds import drawn_prices, packing_rounds, parts_of, tight_round
from plan_rounds import planning_policies, rules_for

from muri_opt import Cluster, Job, Node, Plan, Round
from muri_opt.systems.plans import PlanOptions, PlanRules
from muri_opt.systems.plans.node_patterns import ClusterKnapsack, cluster_prices
from muri_opt.systems.plans.node_patterns.items import Items, NodeFamily
from muri_opt.systems.plans.node_patterns.patterns import best_pattern, patterns
from muri_opt.systems.plans.node_patterns.prices import Prices, bound
from muri_opt.verify.plans.optimum import planned_optimum
from muri_opt.verify.plans.plan_choices import PlanChoices


def optimum(round_: Round, policy: str) -> int:
    found = planned_optimum(round_, PlanChoices.of(round_, settings_of(policy)), steps=10**6)
    assert found is not None
    return found


@more_examples(60)
@given(packing_rounds(), planning_policies(), st.data())
def test_any_prices_bound_the_round(round_, policy, data):
    options = PlanOptions.of(round_, rules_for(policy))
    for together in (True, False):
        items, families = parts_of(round_, options, together=together)
        limit = bound(items, families, data.draw(drawn_prices(items)))
        assert limit >= optimum(round_, policy) * (1 - 1e-12) - 1e-6  # the sums of floats


@given(packing_rounds(), planning_policies())
def test_the_prices_of_the_cluster_bound_it(round_, policy):
    options = PlanOptions.of(round_, rules_for(policy))
    items, families = parts_of(round_, options)
    duals = cluster_prices(round_, options)
    heads = [int(jobs[0]) for jobs in items.members]
    once, quota = (np.array(duals.multipliers[label]) / duals.denominator for label in ("once", "quota"))
    prices = Prices(once=once[heads], quota=quota)
    assert bound(items, families, prices) >= optimum(round_, policy) * (1 - 1e-12) - 1e-6


def test_equal_jobs_cost_the_same_together_and_apart():
    round_ = tight_round(4, 3)
    twins = [type(job)(id=f"{job.id}-{t}", gpus=1, plans=job.plans) for job in round_.jobs for t in range(3)]
    round_ = Round(cluster=round_.cluster, jobs=tuple(twins))
    options = PlanOptions.of(round_, PlanRules())
    found = []
    for together in (True, False):
        items, families = parts_of(round_, options, together=together)
        assert len(items.members) == (4 if together else 12)
        price = 0.3 * items.e.max() * np.ones(len(items.members))
        found.append(bound(items, families, Prices(once=price, quota=np.zeros(0))))
    assert found[0] == found[1]


def check_pattern(items: Items, family: NodeFamily, pattern: tuple[int, ...], home: int = -1) -> None:
    stays = [] if home < 0 else np.concatenate(family.at_home[home].homes).tolist()
    assert set(pattern) <= {*family.free.tolist(), *stays}
    assert (items.use[list(pattern)].sum(axis=0) <= family.capacity).all()
    kinds, jobs = np.unique(items.owner[list(pattern)], return_counts=True)
    assert (jobs <= items.count[kinds]).all()
    parts = [item for item in pattern if items.q[item] > 1]
    assert len(parts) == len(set(parts))


@given(packing_rounds(max_jobs=4), planning_policies(), st.data(), st.sampled_from([4, 30, 10_000]))
def test_patterns_fit_their_nodes(round_, policy, data, cells):
    options = PlanOptions.of(round_, rules_for(policy))
    items, families = parts_of(round_, options)
    prices = data.draw(drawn_prices(items))
    proved, known = prices.paid(items), True
    for family in families:
        found = patterns(items, family, prices, cells=cells)
        for pattern in found.free:
            assert pattern
            check_pattern(items, family, pattern)
        for home, pattern in found.at_home:
            check_pattern(items, family, pattern, home)
        best = best_pattern(items, family, prices, cells=cells)
        check_pattern(items, family, best)
        assert all(items.q[item] == 1 for item in best)
        known = known and found.earned is not None
        proved += found.earned or 0.0
    if known:
        assert proved >= optimum(round_, policy) * (1 - 1e-5) - 1.0  # single precision


def test_a_fine_grid_earns_what_the_bound_says():
    round_ = tight_round(12, 3)
    options = PlanOptions.of(round_, PlanRules())
    items, (family,) = parts_of(round_, options)
    prices = Prices(once=np.full(12, 200_000.0), quota=np.zeros(0))
    found = patterns(items, family, prices, cells=100_000)
    assert found.earned is not None
    assert abs(prices.paid(items) + found.earned - bound(items, (family,), prices)) < 1.0
    # Every job that has a profit gets a pattern with it; the best of them is the best of all.
    profit = prices.profits(items)
    worth = [profit[list(pattern)].sum() for pattern in found.free]
    assert len(found.free) == len({int(items.owner[i]) for i in np.flatnonzero(profit > 0)})
    assert abs(max(worth) * 3 - found.earned) < 1.0
    assert abs(profit[list(best_pattern(items, family, prices, cells=100_000))].sum() - max(worth)) < 1.0


def test_resources_in_proportion_to_gpus_are_left_out_of_the_cluster():
    round_ = tight_round(6, 2)
    options = PlanOptions.of(round_, PlanRules())
    assert ClusterKnapsack.of(round_, options).options.capacity.tolist() == [8, 28_000, 2 * 144 * 1024]
    few = replace(options, c=3_000 * options.g, m=1_000 * options.g)
    assert ClusterKnapsack.of(round_, few).options.capacity.tolist() == [8]


def test_the_options_of_a_round_are_shared_and_cannot_be_written_to():
    round_ = tight_round(2, 1)
    options = PlanOptions.of(round_, PlanRules())
    assert PlanOptions.of(round_, PlanRules()) is options
    with pytest.raises(ValueError, match="read-only"):
        options.e[0] = 0


def test_a_job_counts_at_home_with_what_it_is_worth_there_and_once():
    plans = (Plan(name="p", gpus=1, throughput=1.0), Plan(name="q", gpus=2, throughput=0.9))
    held = {"state": "running", "placement": {"n": 1}, "plan": "p", "restart_seconds": 60.0}
    round_ = Round(cluster=Cluster(nodes=(Node(id="n", gpus=3),)), jobs=(Job(id="j", gpus=1, plans=plans, **held),))
    options = PlanOptions.of(round_, PlanRules())
    items, (family,) = parts_of(round_, options)
    nothing = Prices(once=np.zeros(1), quota=np.zeros(0))
    assert bound(items, (family,), nothing) >= optimum(round_, "rubick") == 1_000_000
    found = patterns(items, family, nothing, cells=1_000)
    assert {pattern for _, pattern in found.at_home} == {(int(np.flatnonzero(options.home >= 0)[0]),)}
