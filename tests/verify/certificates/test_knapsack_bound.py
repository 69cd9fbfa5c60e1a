"""The bound from multipliers is what its definition says, and never below the best choice."""

from fractions import Fraction
from itertools import product
from math import floor

import numpy as np
import pytest

from muri_opt import InputError
from muri_opt.rounds import LinearDuals
from muri_opt.verify.certificates.knapsack import options_bound


def duals(prices, denominator=1):
    return LinearDuals(denominator=denominator, multipliers={"capacity": tuple(prices)})


def brute_force(values, uses, capacity):
    best = 0
    for picks in product(*(range(-1, len(job)) for job in values)):
        taken = [sum(uses[j][c][r] for j, c in enumerate(picks) if c >= 0) for r in range(len(capacity))]
        if all(t <= has for t, has in zip(taken, capacity, strict=True)):
            best = max(best, sum(values[j][c] for j, c in enumerate(picks) if c >= 0))
    return best


def by_definition(values, uses, capacity, prices, denominator):
    total = sum(Fraction(p, denominator) * has for p, has in zip(prices, capacity, strict=True))
    for worth, takes in zip(values, uses, strict=True):
        fitting = [c for c in range(len(worth)) if all(t <= has for t, has in zip(takes[c], capacity, strict=True))]
        nets = [
            worth[c] - sum(Fraction(p, denominator) * t for p, t in zip(prices, takes[c], strict=True)) for c in fitting
        ]
        total += max([Fraction(0), *nets])
    return floor(total)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("scale", [1, 2**61])
def test_it_is_the_definition_and_never_below_the_best_choice(seed, scale):
    draw = np.random.default_rng(seed)
    resources = int(draw.integers(0, 4))
    sizes = draw.integers(0, 4, int(draw.integers(0, 5))).tolist()
    values = [[v * scale // 50 for v in draw.integers(-20, 51, size).tolist()] for size in sizes]
    uses = [draw.integers(0, 10, (size, resources)).tolist() for size in sizes]
    capacity = draw.integers(0, 16, resources).tolist()
    denominator = int(draw.integers(1, 9))
    prices = [p * scale for p in draw.integers(0, 30, resources).tolist()]
    bound = options_bound(values, uses, capacity, duals(prices, denominator))
    assert bound == by_definition(values, uses, capacity, prices, denominator)
    assert bound >= brute_force(values, uses, capacity)


def test_without_prices_every_job_has_its_best_fitting_option():
    nothing = LinearDuals(denominator=1, multipliers={})
    assert options_bound([[3, 9], [4]], [[[1], [8]], [[2]]], [5], nothing) == 7
    assert options_bound([], [], [], nothing) == 0


@pytest.mark.parametrize(
    ("uses", "prices", "denominator", "field"),
    [
        ([[[1]]], [1, 1], 1, "multipliers.capacity"),
        ([[[1]]], [-1], 1, "multipliers.capacity"),
        ([[[1]]], [1], 0, "denominator"),
        ([], [1], 1, "uses"),
        ([[[1], [2]]], [1], 1, "uses[0]"),
        ([[[1, 2]]], [1], 1, "uses"),
    ],
)
def test_bad_input_is_refused(uses, prices, denominator, field):
    with pytest.raises(InputError) as refused:
        options_bound([[5]], uses, [3], duals(prices, denominator))
    assert refused.value.field == field
