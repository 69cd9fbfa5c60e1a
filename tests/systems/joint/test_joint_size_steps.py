"""Steps of sizes that are sorted once, against asking every row at a price, and partners where GPUs are not scarce."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bound_joint_rounds import offers_of
from joint_rounds import large_joint_round

from muri_opt import policy_from
from muri_opt.systems.joint.charges.size_steps import SizeSteps
from muri_opt.systems.joint.groups.offers import Offers
from muri_opt.systems.joint.groups.price_search import search
from muri_opt.systems.joint.jobs.models import models_of
from muri_opt.systems.joint.jobs.worth import worth_of
from muri_opt.systems.joint.rules import JointRules


def drawn(seed):
    """Return values of rows on some counts of GPUs, 0 where a row cannot have them, and the counts."""
    rng = np.random.default_rng(seed)
    rows, sizes = int(rng.integers(1, 30)), int(rng.integers(1, 9))
    counts = np.append(0, np.sort(rng.choice(np.arange(1, 40), size=sizes, replace=False)))
    value = rng.exponential(size=(rows, len(counts))) * counts ** rng.uniform(0, 1.2) * (rng.random((rows, 1)) < 0.9)
    value[rng.random(value.shape) < 0.2] = 0.0
    value[:, 0] = 0.0
    return rng, value, counts


def asked_at(value, counts, price):
    """Return what each row asks for at a price, by looking at all its sizes."""
    return counts[(value - price * counts).argmax(axis=1)]


@pytest.mark.parametrize("seed", range(60))
def test_at_any_price_the_steps_above_it_are_what_is_worth_most(seed):
    rng, value, counts = drawn(seed)
    steps = SizeSteps.of(value, counts)
    assert (np.diff(steps.worth) <= 0).all()
    for price in rng.exponential(size=20) * steps.worth.max(initial=1.0):
        assert steps.asked(price, len(value)).tolist() == asked_at(value, counts, price).tolist()


@pytest.mark.parametrize("seed", range(60))
def test_the_price_is_the_least_at_which_there_is_enough(seed):
    rng, value, counts = drawn(seed)
    steps, gpus = SizeSteps.of(value, counts), int(rng.integers(0, 200))
    among = rng.random(len(value)) < 0.7
    for some in (None, among):
        mine = value if some is None else value[some]
        price = steps.price(gpus, some)
        assert asked_at(mine, counts, price * (1 + 1e-9)).sum() <= gpus
        assert price == 0 or asked_at(mine, counts, price * (1 - 1e-9)).sum() > gpus


@pytest.mark.parametrize("seed", range(60))
def test_each_limit_has_the_price_of_its_own_rows(seed, monkeypatch):
    if seed % 2:  # numbers as if there were very many rows
        monkeypatch.setattr("muri_opt.systems.joint.charges.size_steps._SHORT", 0)
    rng, value, counts = drawn(seed)
    steps, limits = SizeSteps.of(value, counts), rng.integers(0, 60, size=4)
    row, of = (rng.random((len(value), 4)) < 0.4).nonzero()
    mixed = rng.permutation(len(row))
    row, of = row[mixed], of[mixed]
    price, asked = steps.prices_of_each(row, of, limits)
    for limit in range(4):
        mine = row[of == limit]
        assert price[limit] == steps.price(int(limits[limit]), np.isin(np.arange(len(value)), mine))
        above = asked_at(value[mine], counts, price[limit] * (1 + 1e-9))
        assert (asked[of == limit] >= above).all()  # and perhaps a part of a step that is worth just the price
        assert asked[of == limit].sum() <= limits[limit]


def test_no_steps_of_no_rows():
    none = SizeSteps.of(np.zeros((0, 3)), np.array([0, 1, 2]))
    assert none.price(5) == 0
    price, asked = none.prices_of_each(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.array([3]))
    assert (price.tolist(), asked.tolist()) == ([0.0], [])


@pytest.mark.parametrize("jobs", [60, 300])
@pytest.mark.parametrize("seed", range(6))
def test_nobody_gains_by_sharing_where_there_are_gpus_for_all(seed, jobs):
    """As a search for partners that is not left out finds by itself, but for rounding in short floats."""
    offers = offers_of(large_joint_round(seed, jobs=jobs, nodes=16))
    many = int(offers.counts[offers.alone(np.arange(jobs)).argmax(axis=1)].sum())
    found, looked = search(offers, many), search(replace(offers, full=False), many)
    assert found.price == 0
    assert all(part.shape[1] == 1 for part in found.parts)
    assert found.value >= looked.value * (1 - 1e-6)


def test_free_gpus_are_shared_only_where_stages_do_not_fill_an_iteration():
    round_ = large_joint_round(1, jobs=60, nodes=16)
    rules = JointRules.of(policy_from("joint-s:sharing=stretch").rules)
    models = models_of(round_, rules)
    offers = Offers.of(round_, models, worth_of(round_, models, rules), rules)
    assert not offers.full
    assert offers_of(round_).full
