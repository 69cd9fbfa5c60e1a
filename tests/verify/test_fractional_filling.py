"""The bound of fractions on one node is the linear program of it, and no choice of whole parts brings more."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from highspy import Highs, HighsVarType, kHighsInf
from hypothesis import assume, event, given, strategies as st
from more_examples import more_examples

from muri_opt.verify import fractional_filling, node_filling
from muri_opt.verify.amounts import NO_LIMIT, Sizes
from muri_opt.verify.fractional_filling import fractional_profit
from muri_opt.verify.node_filling import Spot, most_profits
from muri_opt.verify.node_items import Item, rows_of

PROFITS = st.one_of(st.integers(1, 9), st.integers(1, 10**6), st.integers(1, 10**18))


@st.composite
def filled(draw: st.DrawFn) -> tuple[Sizes, list[Item]]:
    """Draw a room, and parts that fit it: very small ones, or of any size."""
    room = (
        draw(st.integers(0, 8)),
        draw(st.sampled_from([0, 5, 32_000, NO_LIMIT])),
        draw(st.sampled_from([7, 262_144, 1 << 50, NO_LIMIT])),
    )
    sizes = st.tuples(*(st.one_of(st.integers(0, min(has, 3)), st.integers(0, min(has, 10**6))) for has in room))
    return room, [Item(job, draw(sizes), draw(PROFITS)) for job in range(draw(st.integers(0, 8)))]


def best_choice(room: Sizes, items: Sequence[Item]) -> int:
    """Return the most profit of any set of items that fits, by trying them all."""
    sets = (some for size in range(len(items) + 1) for some in combinations(items, size))
    fitting = (some for some in sets if all(sum(item.sizes[axis] for item in some) <= room[axis] for axis in range(3)))
    return max(sum(item.profit for item in some) for some in fitting)


def linear_optimum(room: Sizes, items: Sequence[Item]) -> float:
    """Return the most profit of any numbers of items, whole or not, that fit, by a solver of linear programs."""
    solver = Highs()
    solver.silent()
    unit = max([1, *(item.profit for item in items)])  # solvers are not made for numbers of 18 digits
    numbers = [solver.addVariable(0, kHighsInf, item.profit / unit, HighsVarType.kContinuous) for item in items]
    for axis, has in enumerate(room):
        takes = [(number, item.sizes[axis]) for number, item in zip(numbers, items, strict=True) if item.sizes[axis]]
        if takes and has < NO_LIMIT:
            solver.addConstr(sum(number * size for number, size in takes) <= has)
    solver.maximize()
    return float(solver.getObjectiveValue()) * unit


@given(filled())
@more_examples(300)
def test_no_choice_brings_more(drawn: tuple[Sizes, list[Item]]) -> None:
    room, items = drawn
    assert fractional_profit(room, rows_of(items)) >= best_choice(room, items)


@given(filled())
@more_examples(100)
def test_it_is_the_linear_program_or_all_items(drawn: tuple[Sizes, list[Item]]) -> None:
    room, items = drawn
    assume(all(any(size for size, has in zip(item.sizes, room, strict=True) if has < NO_LIMIT) for item in items))
    most, every = linear_optimum(room, items), sum(item.profit for item in items)
    event("the room is the limit" if most < every else "all items are")
    assert fractional_profit(room, rows_of(items)) <= min(most, every) * (1 + 2e-5)


def test_prices_that_were_not_found_in_time_still_bound() -> None:
    """Without a step of the simplex method all prices are 0, and every item brings its profit."""
    items = [Item(job, (1, 10, 0), 5 + job) for job in range(6)]
    assert fractional_profit((4, 30, 0), rows_of(items)) == 30
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fractional_filling, "MOST_PIVOTS", 0)
        assert fractional_profit((4, 30, 0), rows_of(items)) == sum(item.profit for item in items)


def test_what_takes_nothing_is_free() -> None:
    assert fractional_profit((0, 0, 0), rows_of([])) == 0
    free = [Item(0, (0, 0, 0), 7), Item(1, (0, 0, 10**9), 2)]
    assert fractional_profit((0, 0, NO_LIMIT), rows_of(free)) == 9
    assert fractional_profit((4, 0, 0), rows_of([Item(0, (0, 0, 0), 7), Item(1, (2, 0, 0), 3)])) == 10


@pytest.mark.parametrize(("profit", "better"), [("as it takes", "fractions"), ("any", "cells")])
def test_where_cells_would_be_too_many_the_better_bound_counts(profit: str, better: str) -> None:
    """Parts that all bring what their sizes cost fill a room at its price, and rounded sizes leave room for more."""
    draw, room, items = np.random.default_rng(1), (8, 32_000, 262_144), []
    for job in range(60):
        milli, mebibytes = int(draw.integers(3_001, 9_000)), int(draw.integers(20_001, 40_000))
        costs = 10_000 + milli + mebibytes if profit == "as it takes" else int(draw.integers(1, 10**6))
        items.append(Item(job, (1, milli, mebibytes), costs))
    fractions = fractional_profit(room, rows_of(items))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node_filling, "fractional_profit", lambda *_: NO_LIMIT)
        (cells,) = most_profits([Spot(room)], items)
    assert (fractions < cells) == (better == "fractions")
    assert most_profits([Spot(room)], items) == [min(fractions, cells)]


SHARES = st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(0.001, 1)


@given(
    st.integers(1, 3).flatmap(
        lambda size: st.lists(st.lists(SHARES, min_size=size, max_size=size), min_size=size, max_size=size)
    )
)
def test_the_inverse_is_one_where_there_is_one(rows: list[list[float]]) -> None:
    found = fractional_filling._inverse(rows)
    matrix = np.array(rows)
    if found is None:
        assert abs(np.linalg.det(matrix)) < 1e-12
        return
    assume(np.linalg.cond(matrix) < 1e6)
    assert np.abs(found @ matrix - np.eye(len(rows))).max() < 1e-8


def test_prices_are_sums_in_one_order() -> None:
    """No matrix products: libraries add these up as the processor likes, and a bound must be the same everywhere."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        weights, rows = rng.random(3), rng.random((3, 40))
        expected = [(weights[0] * a + weights[1] * b) + weights[2] * c for a, b, c in rows.T]
        assert fractional_filling._combined(weights, rows).tolist() == expected
