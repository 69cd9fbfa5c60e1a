"""Prices of CPUs and memory are told by some of very many jobs, and a first answer comes before all is looked at."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from bound_joint_rounds import ask_no_prices, offers_of, with_cpus, with_tenants
from joint_rounds import large_joint_round

from muri_opt import Cluster, Job, Limits, Node, Round, Tenant, policy_from
from muri_opt.rounds.budget import Budget
from muri_opt.systems.joint.charges.capacity_charges import Capacities, capacity_charges
from muri_opt.systems.joint.charges.consumption import Consumption
from muri_opt.systems.joint.charges.sampled_charges import sampled_charges
from muri_opt.systems.joint.groups.price_search import search
from muri_opt.verify import broken_rules, decision_value

JOBS, NODES = 600, 48


def limits_of(round_):
    """Return the GPUs and CPUs of a round as what there is."""
    amounts = round_.amounts
    gpus = Capacities.of_gpus(int(amounts.G.sum()), len(amounts.c))
    return gpus.and_of([float(amounts.C.sum())], Consumption.of_one(amounts.c))


def test_without_limits_or_with_enough_nothing_is_charged():
    round_ = with_cpus(large_joint_round(5, jobs=JOBS, nodes=NODES), 5, 1000.0, None)
    offers = offers_of(round_)
    assert sampled_charges(offers, np.arange(JOBS), Capacities.of_gpus(8 * NODES, JOBS)) is None
    assert sampled_charges(offers, np.arange(JOBS), limits_of(round_)) is None


@pytest.mark.parametrize("cpus", [8.0, 16.0, 32.0])
@pytest.mark.parametrize("seed", range(3))
def test_some_jobs_tell_about_the_prices_that_all_do(seed, cpus):
    round_ = with_cpus(large_joint_round(seed, jobs=JOBS, nodes=NODES), seed, cpus, None)
    offers, every, limits = offers_of(round_), np.arange(JOBS), limits_of(round_)
    told = sampled_charges(offers, every, limits)
    known = capacity_charges(offers, every, search(offers, 8 * NODES), limits)
    takes = round_.amounts.c > 0
    assert not told[~takes].any()
    each = told[takes] / round_.amounts.c[takes]
    assert np.allclose(each, each[0])  # one price for all
    assert 1 / 3 < told.sum() / known.sum() < 3


def test_jobs_that_are_not_to_be_decided_tell_nothing():
    round_ = with_cpus(large_joint_round(2, jobs=JOBS, nodes=NODES), 2, 16.0, None)
    offers, limits = offers_of(round_), limits_of(round_)
    some = np.flatnonzero(round_.amounts.c <= np.median(round_.amounts.c))
    changed = np.delete(np.arange(JOBS), some)
    offers.work[changed] *= 50
    told = sampled_charges(offers, some, limits)
    offers.work[changed] /= 50
    assert (sampled_charges(offers, some, limits) == told).all()


@pytest.mark.parametrize("policy", ["joint-s", "joint-l"])
@pytest.mark.parametrize("seed", range(3))
def test_one_search_by_sampled_prices_is_worth_more_than_one_without(policy, seed, monkeypatch):
    round_ = with_cpus(large_joint_round(seed, jobs=JOBS, nodes=NODES), seed, 24.0, None)
    one = policy_from(policy)
    priced = one.decide(round_, 0)
    assert not broken_rules(round_, one.rules, priced)
    ask_no_prices(monkeypatch)
    free = one.decide(round_, 0)
    assert decision_value(round_, one.rules, priced) > 1.1 * decision_value(round_, one.rules, free)


@pytest.mark.parametrize("jobs", [120, 450])
def test_the_first_answer_within_quotas_does_not_wait_for_better_ones(jobs, monkeypatch):
    round_ = with_tenants(large_joint_round(3, jobs=jobs, nodes=jobs // 12), 3, 0.4)
    one = policy_from("joint-s")
    best = one.decide(round_, 0)
    ended = []

    def counted(*given, **named):
        found = search(*given, **named)
        ended.append(found)
        return found

    monkeypatch.setattr("muri_opt.systems.joint.search.quota_search.search", counted)
    first = one.decide_within(round_, 0, Budget(limits=Limits(seconds=1e-9)))
    assert len(ended) == 1
    assert not broken_rules(round_, one.rules, first)
    assert 0 < decision_value(round_, one.rules, first) <= decision_value(round_, one.rules, best)


@pytest.mark.parametrize("sizes", [(9, 11), (5, 8), (3,), (1, 2, 7), (64, 128)])
@pytest.mark.parametrize("quota", [None, 20])
def test_jobs_of_odd_sizes_are_decided_where_cpus_bind(sizes, quota):
    draw = Random(str(sizes))
    tenants = () if quota is None else (Tenant(id="t", quota_gpus=quota),)
    jobs = tuple(
        Job(
            id=f"j{at}",
            gpus=(gpus := draw.choice(sizes)),
            cpus=float(gpus) * draw.choice((1, 4)),
            tenant="t" if tenants else None,
            iteration_seconds=round(draw.uniform(0.5, 2), 6),
            remaining_iterations=draw.randint(1, 1000),
        )
        for at in range(250)
    )
    nodes = tuple(Node(id=f"n{at}", gpus=16, cpus=24.0) for at in range(20))
    round_ = Round(cluster=Cluster(nodes=nodes, tenants=tenants), jobs=jobs)
    one = policy_from("joint-s")
    decision = one.decide(round_, 0)
    assert not broken_rules(round_, one.rules, decision)
    assert decision.assignments or (quota or 320) < min(sizes)
