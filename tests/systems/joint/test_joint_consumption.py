"""What jobs take of few of very many things is the same as in a full table, and quotas count it."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from bound_joint_rounds import offers_of
from joint_rounds import large_joint_round
from msgspec.structs import replace

from muri_opt import Cluster, Round, Tenant
from muri_opt.systems.joint.charges.consumption import Consumption, members_of
from muri_opt.systems.joint.charges.quota_charges import quota_charges
from muri_opt.systems.joint.charges.quotas import Quotas, within_quotas


def with_nested_tenants(seed, jobs=60):
    """Return a round of which some jobs have no tenant, some tenants no quota, and most are below others."""
    draw = Random(seed)
    round_ = large_joint_round(seed, jobs=jobs, nodes=8)
    tenants = tuple(
        Tenant(
            id=f"t{at}",
            quota_gpus=draw.choice((None, 3, 9, 20)),
            parent=f"t{draw.randrange(at)}" if at and draw.random() < 0.7 else None,
        )
        for at in range(9)
    )
    names = [None, *(tenant.id for tenant in tenants)]
    said = tuple(replace(job, tenant=draw.choice(names)) for job in round_.jobs)
    cluster = Cluster(nodes=round_.cluster.nodes, tenants=tenants)
    return Round(cluster=cluster, resources=round_.resources, jobs=said)


def drawn_groups(seed, jobs):
    """Return groups of one to four jobs with GPUs, no job in two of them."""
    draw, left, found = Random(seed), list(range(jobs)), {}
    draw.shuffle(left)
    while len(left) > 10:
        group = tuple(left.pop() for _ in range(draw.randint(1, 4)))
        found[group] = draw.randint(1, 8)
    return found


def counted_plainly(round_, groups):
    """Return the GPUs that each tenant with a quota has, its own and those of all below it, one job after another."""
    parent = {tenant.id: tenant.parent for tenant in round_.cluster.tenants}
    has = dict.fromkeys(parent, 0)
    for group, gpus in groups.items():
        for job in group:
            one = round_.jobs[job].tenant
            while one is not None:
                has[one] += gpus
                one = parent[one]
    return [has[tenant.id] for tenant in round_.cluster.tenants if tenant.quota_gpus is not None]


@pytest.mark.parametrize("seed", range(12))
def test_quotas_count_all_jobs_of_a_tenant_and_of_those_below(seed):
    round_ = with_nested_tenants(seed)
    quotas, groups = Quotas.of(round_), drawn_groups(seed, 60)
    assert quotas.held(groups).tolist() == counted_plainly(round_, groups)
    assert (quotas.beside(groups).left == quotas.left - quotas.held(groups)).all()
    assert quotas.beside({}).left.tolist() == quotas.left.tolist()


@pytest.mark.parametrize("seed", range(12))
def test_what_goes_on_is_within_all_quotas_and_nothing_more_would_be(seed):
    round_ = with_nested_tenants(seed)
    groups = drawn_groups(seed, 60)
    kept = within_quotas(round_, {group: ((0, gpus),) for group, gpus in groups.items()})
    going_on = {group: groups[group] for group in kept}
    quotas = Quotas.of(round_)
    assert (quotas.held(going_on) <= quotas.left).all()
    for group in groups.keys() - kept.keys():
        assert (quotas.held(going_on | {group: groups[group]}) > quotas.left).any()


@pytest.mark.parametrize("seed", range(12))
def test_consumption_is_those_of_a_full_table(seed):
    draw = np.random.default_rng(seed)
    table = draw.integers(0, 5, (20, 6)) * (draw.random((20, 6)) < 0.4)
    consumption = Consumption.nothing(20)
    for column in table.T:
        consumption = consumption.and_of(Consumption.of_one(column))
    groups = drawn_groups(seed, 20)
    members, sizes = members_of(groups)
    together = consumption.of_groups(members, sizes)
    full = np.array([table[list(group)].sum(axis=0) for group in groups]).reshape(-1, 6)
    price, gpus = draw.random(6), np.array([*groups.values()])
    assert np.allclose(consumption.cost(price), table @ price)
    assert np.allclose(together.cost(price), full @ price)
    assert together.total(gpus).tolist() == (gpus @ full).tolist()


@pytest.mark.parametrize("seed", range(6))
def test_a_quota_that_binds_alone_costs_what_its_jobs_would_pay(seed):
    round_ = large_joint_round(seed, jobs=250, nodes=16)
    offers, most = offers_of(round_), np.arange(250) % 3 == seed % 3
    quota = Quotas(left=np.array([10]), counted=Consumption.of_one(most.astype(np.int64)))
    charge = quota_charges(offers, np.arange(250), quota, 1_000_000)  # GPUs cost nothing
    at = np.append(0, offers.grid)
    value, counts = offers.alone(np.flatnonzero(most))[:, at], offers.counts[at]
    price = charge[most][0]
    assert not charge[~most].any()
    assert (charge[most] == price).all()
    asked = [counts[(value - times * price * counts).argmax(axis=1)].sum() for times in (0.99, 1.0)]
    assert asked[0] > 10 >= asked[1]
