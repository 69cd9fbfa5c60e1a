"""The assignment on some pairs is that of scipy on a matrix without the others, whatever it begins with."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from muri_opt.algorithms.matching.sparse_assignment import Pairs, assigned, raised

FAR = -(10**9)


def some_pairs(n, seed, share=0.2):
    """Return twice the weights of a graph, the sorted numbers of some of its pairs both ways, and their matrix."""
    draw = np.random.default_rng([n, seed])
    weights = np.triu(draw.integers(1, draw.choice([5, 1000]), (n, n)), 1)
    among = np.triu(draw.random((n, n)) < share, 1)
    among = among | among.T | np.eye(n, dtype=bool)
    doubled = 2 * (weights + weights.T)
    return doubled, np.flatnonzero(among), among, draw


def check(doubled, among, alone, partner, duals):
    n = len(doubled)
    everybody = np.arange(n)
    worth = np.where(np.eye(n, dtype=bool), alone, doubled)
    rows, columns = linear_sum_assignment(np.where(among, worth, FAR), maximize=True)
    assert sorted(partner.tolist()) == everybody.tolist()
    assert among[everybody, partner].all()
    assert worth[everybody, partner].sum() == worth[rows, columns].sum() == 2 * duals.sum()
    assert (np.add.outer(duals, duals) >= worth)[among].all()


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_more_and_more_pairs_from_where_fewer_ended(n):
    for seed in range(12):
        doubled, _, _, draw = some_pairs(n, seed)
        among = np.eye(n, dtype=bool)
        partner = np.arange(n)
        duals = draw.integers(0, 1 + doubled.max(initial=0), n)
        for share in (0.05, 0.1, 0.3, 1):
            more = np.triu(draw.random((n, n)) < share, 1)
            among |= more | more.T
            alone = 2 * draw.integers(0, 1 + doubled.max(initial=0) // 4, n)
            partner, duals = assigned(doubled, np.flatnonzero(among), duals, partner, alone)
            check(doubled, among, alone, partner, duals)


def test_nobody_loses_a_partner_where_nothing_was_added():
    for seed in range(5):
        doubled, numbers, _, _ = some_pairs(40, seed)
        nothing = np.zeros(40, dtype=np.int64)
        partner, duals = assigned(doubled, numbers, nothing, np.arange(40), nothing)
        again, same = assigned(doubled, numbers, duals, partner, nothing)
        assert again.tolist() == partner.tolist()
        assert same.tolist() == duals.tolist()


def test_raised_prices_cover_all_pairs_and_no_price_falls():
    for seed in range(20):
        doubled, numbers, among, draw = some_pairs(30, seed)
        prices = draw.integers(0, 1 + doubled.max(), 30)
        pairs = Pairs.numbered(doubled, numbers, np.zeros(30, dtype=np.int64))
        higher = raised(pairs, prices)
        assert (higher >= prices).all()
        assert (np.add.outer(higher, higher) >= doubled)[among].all()
        covered = (np.add.outer(prices, prices) >= doubled) | ~among
        assert (higher == prices)[covered.all(axis=1)].all()
