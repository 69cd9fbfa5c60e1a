"""The assignment by a few candidate edges is that of all pairs, and its duals cover all of them."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from muri_opt.algorithms.matching import (
    alternating_tree,
    candidate_edges,
    engines,
    fractional_matching,
    max_weight_matching,
    start_prices,
)
from muri_opt.algorithms.matching.candidate_edges import AllPairs, NearPairs, assigned_by_candidates
from muri_opt.algorithms.matching.near_edges import NearEdges
from muri_opt.algorithms.matching.start_prices import alike_in_turn, cover_rest, lowered_prices
from muri_opt.verify.certificates.matching import matching_breaches

KINDS = ("ones", "ties", "wide", "sparse", "alike", "line")


def graph(kind, n, seed=0):
    """Return weights with a zero diagonal: equal, tied, all different, few, of a few kinds of vertices, on a line."""
    draw = np.random.default_rng([n, seed])
    weights = {
        "ones": lambda: np.ones((n, n), dtype=np.int64),
        "ties": lambda: draw.integers(0, 4, (n, n)),
        "wide": lambda: draw.integers(1, 10**6, (n, n)),
        "sparse": lambda: np.where(draw.random((n, n)) < 4 / n, draw.integers(1, 100, (n, n)), 0),
        "alike": lambda: draw.integers(1, 1000, (6, 6))[np.ix_(kinds := draw.integers(0, 6, n), kinds)],
        "line": lambda: 1000 - np.abs(np.subtract.outer(at := draw.integers(0, 1000, n), at)),
    }[kind]()
    upper = np.triu(weights, 1)
    return upper + upper.T


WAYS = {
    "all pairs": lambda doubled, _prices, draw: AllPairs(doubled, draw),
    "near pairs": lambda doubled, prices, _draw: NearPairs(doubled, prices),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("steps", [1, 32, 1000])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [9, 60, 131])
def test_candidates_give_the_optimum_of_all_pairs(monkeypatch, kind, n, steps, way):
    monkeypatch.setattr(AllPairs, "steps", steps)
    monkeypatch.setattr(NearPairs, "steps", steps)
    for seed in range(2):
        weights = graph(kind, n, seed)
        draw = np.random.default_rng(seed)
        start = draw.integers(0, weights.max() + 2, n) if way == "all pairs" else lowered_prices(2 * weights)
        candidates = WAYS[way](2 * weights, start, draw)
        partner, duals, soon = assigned_by_candidates(2 * weights, start, candidates)
        assert sorted(partner.tolist()) == list(range(n))
        rows, columns = linear_sum_assignment(weights, maximize=True)
        best = weights[rows, columns].sum()
        assert weights[np.arange(n), partner].sum() <= best
        if soon:
            assert weights[np.arange(n), partner].sum() == best == duals.sum()
            assert (np.add.outer(duals, duals) + np.where(np.eye(n), 2**40, 0) >= 2 * weights).all()
            assert (duals >= 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_vertex_has_an_uncovered_candidate_if_a_pair_of_it_is_uncovered(kind):
    n = 75
    doubled = 2 * graph(kind, n)
    draw = np.random.default_rng(1)
    pairs = AllPairs(doubled, draw)
    for scale in (0.5, 0.9, 1.1):
        prices = (draw.random(n) * scale * doubled.max()).astype(np.int64)
        slack = np.add.outer(prices, prices) - doubled + np.where(np.eye(n), 2**40, 0)
        found = np.divmod(pairs.uncovered(prices), n)
        assert (slack[found] < 0).all()
        assert sorted(set(found[0].tolist())) == np.flatnonzero((slack < 0).any(axis=1)).tolist()
        rows, columns = np.divmod(pairs.first(prices), n)
        assert (rows != columns).all()
        for row in range(n):  # the best partner of all is among the best of each part
            assert slack[row, columns[rows == row]].min() == slack[row].min()


@pytest.mark.parametrize("kind", KINDS)
def test_no_pair_that_has_become_uncovered_is_missed_among_the_far_ones(kind):
    n = 75
    doubled = 2 * graph(kind, n)
    draw = np.random.default_rng(1)
    start = lowered_prices(doubled)
    pairs = NearPairs(doubled, start)
    rows, columns = np.divmod(pairs.first(start), n)
    near = np.eye(n, dtype=bool)
    near[rows, columns] = True
    assert (near == near.T).all()
    for scale in (0, 1, 2, 10):
        fall = np.minimum(start, draw.integers(0, 1 + scale * (1 + pairs.most) // 2, n))
        slack = np.add.outer(start - fall, start - fall) - doubled + np.where(near, 2**40, 0)
        found = np.zeros((n, n), dtype=bool)
        found[np.divmod(pairs.uncovered(start - fall), n)] = True
        assert not ((slack < 0) & ~(found | found.T)).any()


def test_equal_vertices_do_not_all_have_the_same_candidates(monkeypatch):
    monkeypatch.setattr(candidate_edges, "_BLOCK", 300)
    n = 120
    pairs = AllPairs(2 * graph("ones", n), np.random.default_rng(0))
    columns = pairs.first(np.ones(n, dtype=np.int64)) % n
    assert len(set(columns.tolist())) > n / 2


def test_half_of_the_vertices_in_turn_has_every_kind_in_proportion():
    draw = np.random.default_rng(4)
    kind = draw.integers(0, 6, 500)
    weights = np.triu(draw.integers(1, 10**6, (6, 6))[np.ix_(kind, kind)], 1)
    order = alike_in_turn(2 * (weights + weights.T), draw)
    assert sorted(order.tolist()) == list(range(500))
    half, all_ = (np.bincount(kind[some], minlength=6) for some in (order[::2], order))
    assert (np.abs(2 * half - all_) <= 6).all()  # of 80 of a kind; a random half would miss it by 9 on average


def test_the_rest_gets_the_least_prices_that_cover_it():
    doubled = 2 * graph("wide", 40)
    known, rest = np.arange(0, 40, 2), np.arange(1, 40, 2)
    prices = np.zeros(40, dtype=np.int64)
    prices[known] = np.random.default_rng(2).integers(0, 10**6, 20)
    before = prices.copy()
    cover_rest(doubled, known, rest, prices)
    assert prices[known].tolist() == before[known].tolist()
    expected = [max(0, *(doubled[v, u] - before[u] for u in known)) for v in rest]
    assert prices[rest].tolist() == expected


LARGE = ((fractional_matching, "TINY", 12), (fractional_matching, "SMALL", 12))
"""Graphs of more than 12 vertices are taken for large ones."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "changes",
    [
        [*LARGE],
        [*LARGE, (candidate_edges, "MOST_PASSES", 1), (candidate_edges, "CHUNKS", 2)],
        [*LARGE, (start_prices, "DISTINCT", 2)],
        [*LARGE, (start_prices, "DISTINCT", 0)],
        [(fractional_matching, "TINY", 12), (start_prices, "DISTINCT", 0)],
        [(fractional_matching, "TINY", 12), (start_prices, "DISTINCT", 0), (candidate_edges, "MOST_PASSES", 1)],
        [(engines, "NEAR", 1)],
        [(engines, "NEAR", 10**9), (alternating_tree, "MANY", 10**9)],
        [(engines, "NEAR", 10**9), (alternating_tree, "MANY", 1)],
        [(engines, "NARROW", 0)],
    ],
    ids=[
        "by candidates",
        "too few candidates",
        "by the prices of half",
        "by lowered prices",
        "a small one by lowered prices",
        "a small one with too few passes",
        "in long stages",
        "in short stages, one vertex at a time",
        "in short stages, all vertices of a node together",
        "in 64 bits",
    ],
)
def test_every_way_of_a_large_graph_is_proved_in_a_small_one(monkeypatch, kind, changes):
    for owner, name, value in changes:
        monkeypatch.setattr(owner, name, value)
    for seed in range(3):
        weights = graph(kind, 50 + seed, seed)
        found = max_weight_matching(weights)
        blossoms = [(blossom.vertices, blossom.dual) for blossom in found.blossoms]
        assert matching_breaches(weights, found.mate, found.value, found.vertex_duals, blossoms) == []
        assert found.value == max_weight_matching(weights, engine="rustworkx").value


@pytest.mark.parametrize("kind", KINDS)
def test_lowered_prices_cover_all_pairs_and_are_even(kind):
    for seed in range(3):
        doubled = 2 * graph(kind, 45, seed)
        first = (doubled.max(axis=1) + 1) // 2
        prices = lowered_prices(doubled)
        assert (np.add.outer(prices, prices) >= doubled).all()
        assert (prices % 2 == 0).all()
        assert (prices >= 0).all()
        assert (prices <= first + 2).all()


@pytest.mark.parametrize("kind", KINDS)
def test_edges_of_a_slack_that_is_asked_for_are_near(kind):
    n = 30
    doubled = 2 * graph(kind, n)
    near = NearEdges(doubled, lowered_prices(doubled))
    near.add(4, 7)
    near.add(11, -3)
    some = [3, 4, 11, 20]
    slack = np.add.outer(near.duals, near.duals) - doubled
    for most in (0, 5, int(doubled.max())):
        for u in some:
            assert near.of(u, most) == [(slack[u, v], u, v) for v in range(n) if slack[u, v] <= most]
        found = {v: (u, least) for least, u, v in near.of_all(some, most)}
        assert sorted(found) == [v for v in range(n) if slack[some, v].min() <= most]
        for v, (u, least) in found.items():
            assert u in some
            assert near.slack(u, v) == slack[u, v] == least == slack[some, v].min()


@pytest.mark.parametrize("nested", [1, 2])
def test_many_odd_cycles_are_joined_in_stages(nested):
    """Triangles, or triangles of triangles, with light edges between them: far more roots than one search at a time."""
    size = 3**nested
    n = 50 * size
    weights = graph("sparse", n, nested) // 20
    for first in range(0, n, size):
        weights[first : first + size, first : first + size] = 12
        for one in range(first, first + size, 3):
            weights[one : one + 3, one : one + 3] = 20
    np.fill_diagonal(weights, 0)
    found = max_weight_matching(weights)
    blossoms = [(blossom.vertices, blossom.dual) for blossom in found.blossoms]
    assert matching_breaches(weights, found.mate, found.value, found.vertex_duals, blossoms) == []
