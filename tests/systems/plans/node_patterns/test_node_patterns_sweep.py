"""Sweeps, grids and sifting against trying every set of items."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from muri_opt.rounds.amounts import UNLIMITED
from muri_opt.systems.plans.node_patterns import dominated_items as sifting
from muri_opt.systems.plans.node_patterns.items import Items
from muri_opt.systems.plans.node_patterns.node_dp import BothEnds, history, retraced, swept
from muri_opt.systems.plans.node_patterns.size_grid import Grid


def sets_of(groups: list[np.ndarray]) -> list[list[int]]:
    """Return every set with at most one item of each group."""
    return [[i for i in chosen if i is not None] for chosen in product(*([None, *group.tolist()] for group in groups))]


@st.composite
def draws(draw: st.DrawFn) -> tuple[list[np.ndarray], np.ndarray, np.ndarray, tuple[int, ...]]:
    """Draw groups of items, their profits above 0, their sizes, and a grid that each of them fits."""
    extent = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    lengths = draw(st.lists(st.integers(0, 3), max_size=4))
    count = sum(lengths)
    sizes = [[draw(st.integers(0, size)) for size in extent] for _ in range(count)]
    profit = [draw(st.integers(1, 20)) for _ in range(count)]
    cuts = np.cumsum([0, *lengths])
    groups = [np.arange(a, b) for a, b in pairwise(cuts)]
    kind = draw(st.sampled_from([np.float32, np.float64]))
    return groups, np.array(profit, dtype=kind), np.array(sizes, dtype=np.int64).reshape(count, len(extent)), extent


def fits(chosen: list[int], sizes: np.ndarray, room: tuple[int, ...]) -> bool:
    return bool((sizes[chosen].sum(axis=0) <= room).all())


@given(draws(), st.data())
def test_tables_have_the_best_profit_of_every_room(given_, data):
    groups, profit, sizes, extent = given_
    table = swept(groups, profit, sizes, np.zeros([size + 1 for size in extent], dtype=profit.dtype))
    room = tuple(data.draw(st.integers(0, size)) for size in extent)
    best = max(profit[chosen].sum() for chosen in sets_of(groups) if fits(chosen, sizes, room))
    assert table.dtype == profit.dtype
    assert table[room] == best
    tables = history(groups, profit, sizes, np.zeros_like(table))
    assert np.array_equal(tables[-1], table)
    taken = retraced(tables, groups, room, profit, sizes)
    assert fits(taken, sizes, room)
    assert profit[taken].sum() == best
    assert all(np.isin(taken, group).sum() <= 1 for group in groups)


@given(draws())
def test_both_ends_give_the_best_set_with_each_group(given_):
    groups, profit, sizes, extent = given_
    sweep = BothEnds(groups, profit, sizes, extent)
    every = [chosen for chosen in sets_of(groups) if fits(chosen, sizes, extent)]
    for place, group in enumerate(groups):
        if len(group):
            found = sweep.instead(place, group)
            assert found[0] in group
            assert sorted(found) in every
            assert profit[found].sum() == max(profit[c].sum() for c in every if np.isin(c, group).any())


@given(draws(), st.data())
def test_an_item_of_no_group_gets_the_best_set_beside_it(given_, data):
    groups, profit, sizes, extent = given_
    new = [tuple(data.draw(st.integers(0, size)) for size in extent) for _ in range(data.draw(st.integers(1, 3)))]
    sizes = np.concatenate([sizes, np.array(new, dtype=np.int64)])
    profit = np.append(profit, [data.draw(st.integers(1, 20)) for _ in new]).astype(profit.dtype)
    items = np.arange(len(profit) - len(new), len(profit))
    found = BothEnds(groups, profit, sizes, extent).beside(items)
    assert found[0] in items
    assert fits(found, sizes, extent)
    every = [[item, *chosen] for item in items.tolist() for chosen in sets_of(groups)]
    assert profit[found].sum() == max(profit[c].sum() for c in every if fits(c, sizes, extent))


@st.composite
def uses(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Draw what a node has, and items that each fit it."""
    limits = st.one_of(st.integers(1, 40), st.just(UNLIMITED))
    capacity = np.array([draw(st.integers(1, 4)), draw(limits), draw(limits)], dtype=np.int64)
    rows = [[draw(st.integers(min(r == 0, 1), min(int(has), 40))) for r, has in enumerate(capacity)] for _ in range(6)]
    return np.array(rows[: draw(st.integers(0, 6))], dtype=np.int64).reshape(-1, 3), capacity


@given(uses(), st.integers(1, 300), st.data())
def test_what_fits_a_grid_rounded_up_fits_the_node_and_the_other_way_round(given_, cells, data):
    use, capacity = given_
    chosen = [i for i in range(len(use)) if data.draw(st.booleans())]
    inside = bool((use[chosen].sum(axis=0) <= capacity).all())
    up, down = (Grid.of(use, capacity, cells=cells, up=up) for up in (True, False))
    if fits(chosen, up.sizes, up.extent):
        assert inside
    if inside:
        assert fits(chosen, down.sizes, down.extent)
    if up.exact:
        assert np.array_equal(up.sizes, down.sizes)
        assert fits(chosen, up.sizes, up.extent) == inside
    assert up.shape == tuple(size + 1 for size in up.extent)
    rough = [int(np.gcd.reduce(use[:, 0])) if len(use) else 1]
    assert np.prod(up.shape) <= max(cells, (capacity[0] // rough[0] + 1) * 4)


def items_of(owner: np.ndarray, q: np.ndarray, count: np.ndarray) -> Items:
    """Return items of which only owners, parts and numbers of jobs matter."""
    empty = np.zeros(0, dtype=np.int64)
    return Items(
        options=None,
        members=tuple(np.arange(n) for n in count),
        owner=owner,
        option=empty,
        e=empty,
        q=q,
        use=empty,
        count=count,
        tenant=empty,
        asks=empty,
        quota=empty,
        base=empty,
        lines=(),
    )


def sifted(*given_: object) -> np.ndarray:
    """Return what is left if every item is compared with all before it, as in a round of many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sifting, "_MOST_BLOCK", 1)
        return sifting.sifted(*given_)


def best_of(items: Items, some: np.ndarray, profit: np.ndarray, grid: Grid) -> float:
    """Return the best profit of a node: of each kind so many jobs, but no two of them in several parts."""
    groups = []
    for kind in np.unique(items.owner[some]):
        mine = some[items.owner[some] == kind]
        groups += [mine] + [mine[items.q[mine] == 1]] * (int(items.count[kind]) - 1)
    return float(swept(groups, profit, grid.sizes, np.zeros(grid.shape))[grid.extent])


@given(draws(), st.data())
def test_sifting_never_lowers_the_best_profit(given_, data):
    groups, profit, sizes, extent = given_
    sizes = np.maximum(sizes, np.arange(len(extent)) == 0)  # a part has at least one GPU
    count = np.array([data.draw(st.integers(1, 3)) for _ in groups], dtype=np.int64)
    owner = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    q = np.array([data.draw(st.sampled_from([1, 1, 2])) for _ in owner], dtype=np.int64)
    profit = profit.astype(np.float64) - data.draw(st.integers(0, 5))
    items, grid = items_of(owner, q, count), Grid(sizes=sizes, extent=extent, exact=True)
    some = np.arange(len(owner))
    kept = sifted(items, some, profit, grid)
    assert (profit[kept] > 0).all()
    assert (np.diff(kept) > 0).all()
    assert best_of(items, kept, profit, grid) == best_of(items, some[profit > 0], profit, grid)


def test_many_jobs_of_one_size_are_sifted_down_to_what_a_node_holds():
    rng = np.random.default_rng(3)
    owner = np.arange(600)
    items = items_of(owner, np.ones_like(owner), np.ones_like(owner))
    grid = Grid(sizes=np.tile([[1, 2]], (600, 1)), extent=(4, 9), exact=True)
    profit = rng.permutation(600) + 1.0
    kept = sifting.sifted(items, owner, profit, grid)
    assert set(np.argsort(-profit)[:4]) <= set(kept.tolist())
    assert len(kept) < 100


def test_an_item_is_not_replaced_by_jobs_that_are_on_the_node_already():
    # Jobs 1 and 2 surpass what job 0 has, but the best pattern has both of them on one GPU each, beside job 0.
    sizes = np.array([[2], [1], [2], [1], [2]])
    owner, profit = np.array([0, 1, 1, 2, 2]), np.array([10.0, 11.0, 12.0, 11.0, 12.0])
    items = items_of(owner, np.ones_like(owner), np.ones(3, dtype=np.int64))
    grid = Grid(sizes=sizes, extent=(4,), exact=True)
    assert 0 in sifted(items, np.arange(5), profit, grid)
