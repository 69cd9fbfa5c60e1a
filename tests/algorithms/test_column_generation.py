"""Column generation finds the bound of the program with all its columns, smoothed or not, and ends when it should.

The problem: items of several sizes and values, so many of each, in equal boxes; a column is what one box holds.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from more_examples import more_examples
from numpy.typing import NDArray

from muri_opt.algorithms.column_generation import Best, Smoothing, Told, Turn, generate_columns
from muri_opt.modelling import Model, ModelBuilder
from muri_opt.rounds import Budget, Limits, unlimited
from muri_opt.solve.solvers import relaxation

Floats = NDArray[np.float64]
Pattern = tuple[int, ...]


class Boxes:
    """The columns of a problem, in the order in which they were taken up, and the multipliers that were tried."""

    def __init__(self, sizes: list[int], values: list[int], counts: list[int], room: int, boxes: int) -> None:
        self.sizes, self.values, self.counts, self.boxes = map(np.array, (sizes, values, counts, boxes))
        every = product(*(range(min(count, room // size) + 1) for size, count in zip(sizes, counts, strict=True)))
        self.all = [pattern for pattern in every if np.dot(pattern, self.sizes) <= room]
        self.known: list[Pattern] = [(0,) * len(sizes)]
        self.tried: list[Floats] = []
        self.solved = 0

    def price(self, multipliers: Floats) -> Turn:
        self.tried.append(multipliers)
        profit = np.array(self.all) @ (self.values - multipliers)
        best = self.all[int(np.argmax(profit))]
        new = best not in self.known
        self.known += [best] * new
        return Turn(float(multipliers @ self.counts + self.boxes * profit.max()), int(new))

    def solve_master(self, budget: Budget) -> Told[Floats] | None:
        self.solved += 1
        relaxed = relaxation(self.program(self.known), budget)
        if relaxed is None:
            return None
        duals = np.maximum(0.0, relaxed.duals)
        return Told(duals[:-1], float(duals @ np.append(self.counts, self.boxes)))

    def program(self, patterns: list[Pattern]) -> Model:
        """Return the program over some patterns."""
        builder, table = ModelBuilder("boxes"), np.array(patterns, dtype=np.int64)
        x = builder.add_columns("x", np.arange(len(patterns)), upper=1 + int(self.boxes))
        column, item = np.nonzero(table)
        entries = (item, x[column], table[column, item])
        builder.add_rows("items", np.arange(len(self.counts)), entries=entries, sense="<=", rhs=self.counts)
        builder.add_rows("boxes", [()], entries=(np.zeros_like(x), x, np.ones_like(x)), sense="<=", rhs=int(self.boxes))
        return builder.finish(maximise=True, columns=x, coefficients=table @ self.values)

    @property
    def optimum(self) -> float:
        """The value of the linear program with all columns."""
        model = self.program(self.all)
        relaxed = relaxation(model, unlimited())
        assert relaxed is not None
        return float(relaxed.values @ model.objective)


def mixed(best: Floats, told: Floats, share: float) -> Floats:
    return share * best + (1 - share) * told


WAYS = [None, Smoothing(between=mixed, share=0.5, least=0.1), Smoothing(between=mixed, share=0.8, few=2, least=0.05)]
small = st.integers(1, 9)
problems = st.lists(st.tuples(small, small, st.integers(1, 4)), min_size=1, max_size=4).flatmap(
    lambda items: st.builds(
        lambda room, boxes: Boxes(*(list(part) for part in zip(*items, strict=True)), room, boxes),
        st.integers(1, 15),
        st.integers(1, 5),
    )
)


@more_examples(60)
@given(problems, st.sampled_from(WAYS), st.booleans())
def test_the_bound_is_that_of_all_columns(problem: Boxes, smoothing: Smoothing[Floats] | None, zero: bool) -> None:
    start = np.zeros(len(problem.values)) if zero else problem.values.astype(float)
    found = generate_columns(problem, start, unlimited(), smoothing=smoothing, close=1e-9)
    assert found.bound == pytest.approx(problem.optimum, rel=1e-7, abs=1e-7)
    bounds = [Boxes.price(problem, multipliers).bound for multipliers in problem.tried[:]]
    assert min(bounds) == found.bound
    assert any(multipliers is found.multipliers for multipliers in problem.tried)


PROBLEM = [3, 4, 5], [5, 7, 9], [4, 3, 5], 11, 3


def run(problem: Boxes, budget: Budget | None = None, **given: object) -> Best[Floats]:
    start = np.zeros(3)
    return generate_columns(problem, start, budget or unlimited(), **given)


def test_it_ends_where_nothing_is_new_only_at_the_masters_own_multipliers() -> None:
    problem = Boxes(*PROBLEM)
    run(problem, smoothing=WAYS[1])
    told = problem.solve_master(unlimited())
    assert told is not None
    assert np.allclose(problem.tried[-1], told.multipliers)


@pytest.mark.parametrize("smoothing", WAYS)
def test_a_bound_that_is_enough_ends_it(smoothing: Smoothing[Floats] | None) -> None:
    whole = Boxes(*PROBLEM)
    run(whole, smoothing=smoothing)
    bounds = [Boxes(*PROBLEM).price(multipliers).bound for multipliers in whole.tried]
    for least in sorted(set(bounds)):
        part = Boxes(*PROBLEM)
        found = run(part, smoothing=smoothing, enough=lambda bound, least=least: bound <= least)
        turns = next(turn for turn, bound in enumerate(bounds) if bound <= least)
        assert (part.solved, len(part.tried), found.bound) == (turns, turns + 1, bounds[turns])


@pytest.mark.parametrize(
    ("budget", "turns"), [(lambda: Budget(limits=Limits(seconds=0)), 100), (unlimited, 1)], ids=["budget", "turns"]
)
def test_without_budget_or_turns_the_start_is_all_there_is(budget: Callable[[], Budget], turns: int) -> None:
    problem, start = Boxes(*PROBLEM), np.ones(3)
    found = generate_columns(problem, start, budget(), turns=turns)
    assert found.multipliers is start
    assert found.bound == Boxes(*PROBLEM).price(start).bound


class Exact:
    """Columns whose bounds are fractions and whose master tells no value."""

    def __init__(self) -> None:
        self.told = [Fraction(1, 3), Fraction(2, 3), Fraction(1, 2)]

    def price(self, multipliers: Fraction) -> Turn:
        return Turn((multipliers - Fraction(1, 2)) ** 2, len(self.told))

    def solve_master(self, _: Budget) -> Told[Fraction] | None:
        return Told(self.told.pop(0), float("-inf"))


def test_fractions_stay_exact() -> None:
    found = generate_columns(Exact(), Fraction(0), unlimited())
    assert (found.multipliers, found.bound) == (Fraction(1, 2), 0)
    assert isinstance(found.bound, Fraction)
