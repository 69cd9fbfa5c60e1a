"""Where quotas, CPUs or memory bind, those who take much of them pay for it, and the round is worth more for that."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from bound_joint_rounds import TENANTS, ask_no_prices, offers_of, with_cpus, with_tenants
from joint_rounds import large_joint_round
from msgspec.structs import replace

from muri_opt import Cluster, Job, Node, Round, policy_from
from muri_opt.systems.joint.charges.capacity_charges import Capacities, capacity_charges, within
from muri_opt.systems.joint.charges.consumption import Consumption, members_of
from muri_opt.systems.joint.charges.quota_charges import quota_charges
from muri_opt.systems.joint.charges.quotas import Quotas
from muri_opt.systems.joint.groups.price_search import search
from muri_opt.systems.joint.groups.sizes import price_of
from muri_opt.systems.joint.nodes.home_room import usable_gpus
from muri_opt.verify import broken_rules, decision_value


def asked_for(offers, charge, gpus):
    """Return the GPUs that jobs alone ask for where they pay besides the price at which all GPUs are enough."""
    value = offers.alone(np.arange(len(charge))) - charge[:, None] * offers.counts
    price, _ = price_of(value, offers.counts, gpus)
    return offers.counts[(value - (price * (1 + 1e-6) + 1e-12) * offers.counts).argmax(axis=1)]


@pytest.mark.parametrize("part", [0.02, 0.1, 0.19, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_at_the_charges_jobs_alone_ask_for_no_more_than_their_quota(seed, part):
    round_ = with_tenants(large_joint_round(seed, jobs=250, nodes=16), seed, part)
    offers, amounts = offers_of(round_), round_.amounts
    counted = (amounts.tenant[:, None] == np.arange(TENANTS)).astype(np.int64)
    charge = quota_charges(offers, np.arange(250), Quotas.of(round_), 128)
    asked = asked_for(offers, charge, 128)
    assert (counted.T @ asked <= amounts.U).all()
    assert asked.sum() <= 128
    binds = counted.T @ asked_for(offers, np.zeros(250), 128) > amounts.U
    assert (charge > 0).any() == binds.any()


@pytest.mark.parametrize("seed", range(6))
def test_where_all_quotas_bind_gpus_are_for_nothing(seed):
    """Quotas of all GPUs together: the last that binds has just the price of GPUs before."""
    round_ = with_tenants(large_joint_round(seed, jobs=250, nodes=15), seed, 1 / TENANTS)
    offers, amounts = offers_of(round_), round_.amounts
    assert amounts.U.sum() == 120
    charge = quota_charges(offers, np.arange(250), Quotas.of(round_), 120)
    paid = offers.alone(np.arange(250)) - charge[:, None] * offers.counts
    asked = offers.counts[paid.argmax(axis=1)]
    for tenant, quota in enumerate(amounts.U.tolist()):
        mine = amounts.tenant == tenant
        assert asked[mine].sum() <= quota
        cheaper = paid + 0.001 * charge[:, None] * offers.counts
        assert offers.counts[cheaper[mine].argmax(axis=1)].sum() > quota


def test_a_quota_that_binds_just_at_the_price_of_gpus_binds():
    """Of jobs on one GPU each those of the first tenant get their four, which leaves the other just its own four."""
    job = Job(id="-", gpus=1, iteration_seconds=1.0)
    jobs = tuple(replace(job, id=f"j{at}", remaining_iterations=100 + 7 * at, submitted=0.0) for at in range(20))
    round_ = Round(cluster=Cluster(nodes=(Node(id="n", gpus=8),)), jobs=jobs)
    of = np.arange(20) // 10
    counted = Consumption.of_lines([(int(tenant),) for tenant in of], 2)
    charge = quota_charges(offers_of(round_), np.arange(20), Quotas(left=np.array([4, 4]), counted=counted), 8)
    assert (charge > 0).all()
    paid = offers_of(round_).alone(np.arange(20)) - charge[:, None] * offers_of(round_).counts
    assert [int((paid[of == tenant].argmax(axis=1) > 0).sum()) for tenant in (0, 1)] == [4, 4]


def test_who_has_no_quota_pays_nothing_and_others_share_what_is_left():
    round_ = with_tenants(large_joint_round(1, jobs=250, nodes=16), 1, 0.02)
    offers, tenant = offers_of(round_), round_.amounts.tenant
    nobody = Quotas(left=np.zeros(0, dtype=np.int64), counted=Consumption.nothing(250))
    assert not quota_charges(offers, np.arange(250), nobody, 128).any()
    one = Quotas(left=np.array([3]), counted=Consumption.of_one((tenant == 2).astype(np.int64)))
    charge = quota_charges(offers, np.arange(250), one, 128)
    assert (charge[tenant == 2] > 0).all()
    assert not charge[tenant != 2].any()
    asked = asked_for(offers, charge, 128)
    assert asked[tenant == 2].sum() <= 3
    assert 110 <= asked.sum() <= 128
    some = np.flatnonzero(tenant != 2)
    assert not quota_charges(offers, some, one, 128).any()


def test_a_quota_that_binds_is_used_and_leaves_the_others_the_rest():
    offers = offers_of(large_joint_round(2, jobs=250, nodes=16))
    most = np.arange(250) % 10 < 7
    quota = Quotas(left=np.array([48]), counted=Consumption.of_one(most.astype(np.int64)))
    charge = quota_charges(offers, np.arange(250), quota, 128)
    asked = asked_for(offers, charge, 128)
    assert 44 <= asked[most].sum() <= 48
    assert 76 <= asked[~most].sum() <= 80


@pytest.mark.parametrize("part", [0.02, 0.1])
@pytest.mark.parametrize("policy", ["joint-s", "joint-l"])
def test_charges_of_quotas_are_worth_more_than_none(part, policy, monkeypatch):
    round_, one = with_tenants(large_joint_round(3, jobs=400, nodes=32, models=40), 3, part), policy_from(policy)
    charged = one.decide(round_, 0)
    assert not broken_rules(round_, one.rules, charged)
    ask_no_prices(monkeypatch)
    free = one.decide(round_, 0)
    assert decision_value(round_, one.rules, charged) > 1.05 * decision_value(round_, one.rules, free)


def test_nothing_is_charged_where_there_is_enough():
    round_ = with_cpus(large_joint_round(5, jobs=250, nodes=16), 5, 1000.0, None)
    offers, amounts = offers_of(round_), round_.amounts
    found = search(offers, 128)
    limits = Capacities.of_gpus(128, 250)
    assert within(found, limits)
    limits = limits.and_of([float(amounts.C.sum())], Consumption.of_one(amounts.c))
    assert within(found, limits)
    scarce = Capacities.of_gpus(128, 250).and_of([200_000.0], Consumption.of_one(amounts.c))
    assert not within(found, scarce)
    charge = capacity_charges(offers, np.arange(250), found, scarce)
    order = np.argsort(amounts.c)
    assert (np.diff(charge[order]) >= 0).all()  # who takes more pays more
    assert charge.max() > 0


def test_what_is_left_is_that_beside_groups():
    limits = Capacities.of_gpus(16, 3).and_of([100.0], Consumption.of_one(np.array([2, 3, 5])))
    assert limits.asked(*members_of([(0, 2), (1,)]), np.array([1, 1])).tolist() == [2, 7 + 3]
    assert limits.beside({(0, 2): 4, (1,): 2}).left.tolist() == [10.0, 100.0 - 4 * 7 - 2 * 3]
    assert limits.beside({}).left.tolist() == [16.0, 100.0]


@pytest.mark.parametrize("jobs", [80, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize("policy", ["joint-s", "joint-l"])
@pytest.mark.parametrize(("cpus", "memory"), [(16.0, None), (32.0, None), (None, 64.0), (24.0, 128.0)])
def test_sharing_is_not_paid_for_with_cpus_that_others_need(jobs, policy, cpus, memory):
    round_ = with_cpus(large_joint_round(7, jobs=jobs, nodes=jobs // 20, models=40), 7, cpus, memory)
    one = policy_from(policy)
    together, apart = one.decide(round_, 0), policy_from(f"{policy}:group=1").decide(round_, 0)
    assert not broken_rules(round_, one.rules, together)
    assert decision_value(round_, one.rules, together) >= 0.98 * decision_value(round_, one.rules, apart)


@pytest.mark.parametrize("jobs", [60, 250])
def test_cpus_have_a_price_where_there_are_gpus_for_everybody(jobs, monkeypatch):
    round_ = with_cpus(large_joint_round(9, jobs=jobs, nodes=jobs, models=40), 9, 8.0, None)
    one = policy_from("joint-s")
    priced = one.decide(round_, 0)
    assert not broken_rules(round_, one.rules, priced)
    ask_no_prices(monkeypatch)
    free = one.decide(round_, 0)
    assert decision_value(round_, one.rules, priced) > 1.05 * decision_value(round_, one.rules, free)


@pytest.mark.parametrize("seed", range(8))
def test_gpus_without_cpus_for_any_job_are_not_to_be_had(seed):
    draw = Random(seed)
    round_ = with_cpus(large_joint_round(seed, jobs=40, nodes=6), seed, draw.choice((6.0, 20.0, None)), 96.0)
    amounts, nodes = round_.amounts, round_.cluster.nodes
    kept = {(0, 1): ((nodes[2].id, 2), (nodes[4].id, 1)), (7,): ((nodes[2].id, 1),)}
    jobs = np.array(sorted(draw.sample(range(10, 40), 12)))
    free = [[int(amount) for amount in node] for node in zip(amounts.G, amounts.C, amounts.M, strict=True)]
    for group, held in kept.items():
        for name, gpus in held:
            node = free[round_.cluster.node_index[name]]
            node[0] -= gpus
            node[1] -= gpus * sum(int(amounts.c[job]) for job in group)
            node[2] -= gpus * sum(int(amounts.m[job]) for job in group)
    needs = min(int(amounts.c[job]) for job in jobs), min(int(amounts.m[job]) for job in jobs)
    rooms = [min(gpus, cpus // needs[0], memory // needs[1]) for gpus, cpus, memory in free]
    assert usable_gpus(round_, kept, jobs) == sum(max(0, room) for room in rooms)
    assert usable_gpus(round_, kept, jobs[:0]) == 0
