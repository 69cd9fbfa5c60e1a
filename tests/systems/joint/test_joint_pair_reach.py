"""Pairs that are out of reach at a price gain nothing there, and looking at no others changes nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from joint_rounds import large_joint_round

from muri_opt import policy_from
from muri_opt.systems.joint.groups.offers import Offers
from muri_opt.systems.joint.groups.pair_reach import Reach
from muri_opt.systems.joint.groups.partners import Blocks, heaviest_first
from muri_opt.systems.joint.jobs.models import models_of
from muri_opt.systems.joint.jobs.worth import worth_of
from muri_opt.systems.joint.rules import JointRules

JOBS, ROW = 300, 32


def drawn_offers(seed, policy):
    """Return offers of jobs, most of different models; every third never shares, and some pay for a quota."""
    round_ = large_joint_round(seed, jobs=JOBS, nodes=16, models=300 if seed % 4 else 4)
    rules = JointRules.of(policy_from(policy).rules)
    models = models_of(round_, rules)
    offers = Offers.of(round_, models, worth_of(round_, models, rules), rules)
    if seed % 3 == 0:
        offers = replace(offers, shares=offers.shares & (np.arange(JOBS) % 3 > 0))
    if seed % 5 == 0:
        most = np.median((offers.alone(np.arange(JOBS))[:, 1:] / offers.counts[1:]).max(axis=1))
        offers = replace(offers, charge=np.where(np.arange(JOBS) % 2, 0.0, most / 4))
    return offers


def reach_at(offers, price, jobs):
    gained = np.maximum(0.0, (offers.alone(np.arange(JOBS)) - price * offers.counts).max(axis=1))
    return Reach.at(price, offers, jobs, gained)


def price_of(offers, seed):
    """Return a price that some jobs are worth, and others are not."""
    best = (offers.alone(np.arange(JOBS))[:, 1:] / offers.counts[1:]).max(axis=1)
    return float(np.quantile(best[best > 0], (0.1, 0.5, 0.9)[seed % 3]))


@pytest.mark.parametrize("policy", ["joint-s", "joint-l", "joint-s:sharing=stretch", "joint-s:slowdown=muri"])
@pytest.mark.parametrize("seed", range(12))
def test_groups_are_the_same_as_with_all_pairs(seed, policy):
    offers = drawn_offers(seed, policy)
    price = price_of(offers, seed)
    line = np.append(np.random.default_rng(seed).permutation(JOBS), np.full(-JOBS % ROW, -1))
    reach = reach_at(offers, price, line.reshape(-1, ROW))
    assert sorted(reach.jobs.ravel().tolist()) == sorted(line.tolist())
    some = Blocks(offers, reach.jobs, heaviest_first, reach).groups(price, 0.5)
    every = Blocks(offers, reach.jobs, heaviest_first).groups(price, 0.5)
    assert [part.tolist() for part in some] == [part.tolist() for part in every]


@pytest.mark.parametrize("policy", ["joint-s", "joint-l:sharing=stretch"])
@pytest.mark.parametrize("seed", range(12))
def test_no_pair_out_of_reach_gains(seed, policy):
    offers = drawn_offers(seed, policy)
    price = price_of(offers, seed)
    density = (offers.alone(np.arange(JOBS))[:, 1:] / offers.counts[1:]).max(axis=1)
    line = np.argsort(-density)[: JOBS // ROW * ROW].reshape(-1, ROW)
    reach = reach_at(offers, price, line)
    alone, _ = Blocks(offers, reach.jobs, heaviest_first).profits(price)
    pairs = offers.pairs(reach.jobs, offers.shares[reach.jobs]) - price * offers.sizes[:, None, None, None]
    gains = (pairs - alone[:, :, None] - alone[:, None, :] > 1e-6 * alone.max()) & ~np.eye(ROW, dtype=np.bool_)
    within = np.arange(ROW) < reach.sizes[..., None]
    out = ~(within[..., :, None] & within[..., None, :])
    assert gains.any()
    assert not (gains & out).any()


def test_at_a_low_price_most_pairs_are_out_of_reach():
    offers = drawn_offers(3, "joint-s")
    sizes = reach_at(offers, price_of(offers, 0), np.arange(JOBS)[: JOBS // ROW * ROW].reshape(-1, ROW)).sizes
    assert (sizes**2).mean() < ROW**2 / 2
