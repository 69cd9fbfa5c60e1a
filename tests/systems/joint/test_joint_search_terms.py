"""On what terms very many jobs are searched: what jobs alone tell of prices, and of how many may share."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from bound_joint_rounds import TENANTS, offers_of, with_cpus, with_tenants
from joint_rounds import large_joint_round
from msgspec.structs import replace
from seeds import some_then_all

from muri_opt import Limits, Round, Tenant, policy_from
from muri_opt.rounds import Budget
from muri_opt.systems.joint.charges.capacity_charges import Capacities, asked_by, lone_charges
from muri_opt.systems.joint.charges.consumption import Consumption
from muri_opt.systems.joint.charges.quotas import Quotas
from muri_opt.systems.joint.charges.search_terms import Terms, priced_together, terms_of
from muri_opt.systems.joint.groups.price_search import search
from muri_opt.verify import broken_rules, decision_value

JOBS, NODES = 400, 32
GPUS = 8 * NODES


def terms(round_: Round) -> Terms:
    """Return the terms on which jobs share in a round of which only quotas and GPUs limit anything."""
    every, gpus, offers = np.arange(len(round_.jobs)), round_.cluster.total_gpus, offers_of(round_)
    alone = terms_of(offers, every, gpus, Capacities.of_gpus(gpus, len(every)), Quotas.of(round_))
    assert alone.members == offers.most_jobs
    return priced_together(alone, offers, every)


def below_parents(round_: Round, part: float) -> Round:
    """Return the round in which tenants are below one of two that may have so large a part of the GPUs each."""
    parents = [Tenant(id=f"p{at}", quota_gpus=round(part * GPUS)) for at in range(2)]
    below = [replace(one, parent=f"p{at % 2}") for at, one in enumerate(round_.cluster.tenants)]
    return replace(round_, cluster=replace(round_.cluster, tenants=(*parents, *below)))


@pytest.mark.parametrize(("part", "members", "alone"), [(3.0, 3, False), (0.35, 2, False), (0.22, 2, True)])
def test_the_tighter_quotas_are_the_fewer_jobs_share(part: float, members: int, alone: bool) -> None:
    for seed in range(3):
        found = terms(with_tenants(large_joint_round(seed, jobs=JOBS, nodes=NODES), seed, part))
        assert found.members == members
        assert (found.bind, found.bind_alone) == (members == 2, alone)
        assert bool(found.charge.any()) == (part < 1)


def test_where_gpus_are_left_over_nobody_shares() -> None:
    round_ = with_tenants(large_joint_round(1, jobs=JOBS, nodes=NODES), 1, 0.05)
    found = terms(round_)
    assert (found.members, found.bind) == (3, False)
    asked = search(found.of(offers_of(round_)), GPUS, quick=True)
    assert asked.gpus.sum() <= TENANTS * 0.05 * GPUS + TENANTS
    assert not asked.shared


def test_jobs_alone_are_an_answer_where_quotas_bind_for_them() -> None:
    round_ = below_parents(with_tenants(large_joint_round(1, jobs=JOBS, nodes=NODES), 1, 0.3), 0.55)
    found, quotas = terms(round_), Quotas.of(round_)
    limits = Capacities.of_gpus(GPUS, JOBS).and_of(quotas.left, quotas.counted)
    assert found.bind_alone
    assert found.lone is not None
    assert all(part.shape[1] == 1 for part in found.lone.parts)
    assert (asked_by(found.lone, limits) <= 1.1 * limits.left).all()
    pairs = search(found.of(offers_of(round_)), GPUS, dearer=found.dearer, quick=True)
    assert {part.shape[1] for part in pairs.parts} == {1, 2}


def test_prices_that_jobs_alone_tell_let_them_ask_for_what_there_is() -> None:
    round_ = with_cpus(large_joint_round(4, jobs=JOBS, nodes=NODES), 4, 16.0, None)
    amounts, every, offers = round_.amounts, np.arange(JOBS), offers_of(round_)
    limits = Capacities.of_gpus(GPUS, JOBS).and_of([float(amounts.C.sum())], Consumption.of_one(amounts.c))
    lone = search(Terms(charge=np.zeros(JOBS), limits=limits, members=1).of(offers), GPUS)
    assert asked_by(lone, limits)[1] > 1.5 * limits.left[1]
    charge = lone_charges(offers, every, lone, limits)
    assert charge.any()
    each = charge / amounts.c
    assert np.allclose(each, each[0])
    priced = search(Terms(charge=charge, limits=limits, members=1).of(offers), GPUS)
    assert 0.5 * limits.left[1] < asked_by(priced, limits)[1] < 1.2 * limits.left[1]


@pytest.mark.parametrize("jobs", [90, JOBS])
@pytest.mark.parametrize("part", [0.05, pytest.param(0.12, marks=pytest.mark.slow), 0.35])
@pytest.mark.parametrize("nested", [False, True])
@some_then_all(1, 3)
def test_to_allow_sharing_costs_nothing_where_quotas_bind(seeds: range, jobs: int, part: float, nested: bool) -> None:
    for seed in seeds:
        round_ = with_tenants(large_joint_round(seed, jobs=jobs, nodes=jobs * NODES // JOBS), seed, part)
        round_ = below_parents(round_, part * jobs / JOBS) if nested else round_
        one, values = policy_from("joint-s"), []
        for chosen in (one, policy_from("joint-s:group=2"), policy_from("joint-s:group=1")):
            decision = chosen.decide(round_, 0)
            assert not broken_rules(round_, chosen.rules, decision)
            values.append(decision_value(round_, one.rules, decision))
        assert values[0] >= 0.97 * max(values)


@pytest.mark.parametrize("jobs", [90, JOBS])
def test_the_first_answer_within_tight_quotas_is_worth_most_of_the_last(jobs: int) -> None:
    for seed in range(3):
        draw, one = Random(seed), policy_from("joint-l")
        round_ = with_tenants(large_joint_round(seed, jobs=jobs, nodes=jobs * NODES // JOBS), seed, 1 / TENANTS)
        round_ = below_parents(round_, draw.uniform(0.2, 0.5) * jobs / JOBS)
        soon = one.decide_within(round_, 0, Budget(limits=Limits(seconds=1e-9)))
        last = one.decide(round_, 0)
        assert not broken_rules(round_, one.rules, soon)
        value = decision_value(round_, one.rules, last)
        assert 0.75 * value <= decision_value(round_, one.rules, soon) <= value
