"""Exhaustive search is right by plain enumeration, and every other backend agrees with it."""

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from more_examples import more_examples
from sample_models import NAMES, one_row

from muri_opt.modelling import ModelBuilder
from muri_opt.rounds import Limits, Reason
from muri_opt.solve.solvers import BACKENDS, backend_named

LIMITS = Limits(seconds=3600)
HOLDS = {"<=": lambda left, right: left <= right, ">=": lambda left, right: left >= right}
HOLDS["="] = lambda left, right: left == right


class Drawn:
    """A model, and the same again as plain Python: bounds, objective and (terms, sense, side) per row."""

    def __init__(self, draw):
        self.draw = draw
        self.builder = ModelBuilder("drawn")
        self.rows = []
        binaries = draw(st.integers(1, 3))
        others = draw(st.integers(0, 3))
        lows = [0] * binaries + [draw(st.integers(-3, 2)) for _ in range(others)]
        highs = [1] * binaries + [low + draw(st.integers(0, 3)) for low in lows[binaries:]]
        self.builder.add_columns("b", np.arange(binaries))
        self.builder.add_columns("x", np.arange(others), lower=lows[binaries:], upper=highs[binaries:])
        self.bounds = list(zip(lows, highs, strict=True))
        self.binary = st.integers(0, binaries - 1)
        for number in range(draw(st.integers(0, 4))):
            terms, sense, side = self._row()
            entries = ([0] * len(terms), list(terms), list(terms.values()))
            self.builder.add_rows(f"r{number}", [0], entries=entries, sense=sense, rhs=side)
            self.rows.append((terms, sense, side))
        for number in range(draw(st.integers(0, 2))):
            members = sorted(draw(st.sets(self.binary)))
            sense = draw(st.sampled_from(["=", "<="]))
            self.builder.add_rows(f"g{number}", [0], entries=([0] * len(members), members, 1), sense=sense, rhs=1)
            self.rows.append((dict.fromkeys(members, 1), sense, 1))
        self.maximise = draw(st.booleans())
        self.objective = [draw(st.integers(-9, 9)) for _ in self.bounds]
        columns = np.arange(len(self.bounds))
        self.model = self.builder.finish(maximise=self.maximise, columns=columns, coefficients=self.objective)

    def _row(self):
        columns = self.draw(st.sets(st.integers(0, len(self.bounds) - 1), max_size=4))
        terms = {column: self.draw(st.integers(-7, 7).filter(bool)) for column in sorted(columns)}
        return terms, self.draw(st.sampled_from(["<=", ">=", "="])), self.draw(st.integers(-12, 12))

    def best(self):
        """Return the best value over all points, ``None`` where no point is feasible."""
        values = [
            sum(weight * value for weight, value in zip(self.objective, point, strict=True))
            for point in product(*(range(low, high + 1) for low, high in self.bounds))
            if all(
                HOLDS[sense](sum(weight * point[column] for column, weight in terms.items()), side)
                for terms, sense, side in self.rows
            )
        ]
        return (max if self.maximise else min)(values, default=None)


drawn = st.composite(Drawn)()


def answer(name, model):
    outcome = backend_named(name).solve(model, LIMITS)
    return outcome.termination.reason, outcome.value, outcome.bound


@given(drawn)
@more_examples(300)
def test_exhaustive_search_finds_what_enumeration_finds(case):
    best = case.best()
    expected = (Reason.INFEASIBLE, None, None) if best is None else (Reason.OPTIMAL, best, best)
    assert answer("exhaustive", case.model) == expected


@given(drawn)
@more_examples(150)
def test_all_backends_agree_with_exhaustive_search(case):
    expected = answer("exhaustive", case.model)
    assert {name: answer(name, case.model) for name in NAMES} == dict.fromkeys(NAMES, expected)


@given(st.lists(st.integers(1, 999_999), min_size=2, max_size=6), st.integers(0, 63), st.integers(-1, 1), st.booleans())
@settings(max_examples=60, derandomize=True)  # about one in a thousand such rows is too much for one solver or another
@example(weights=[333_333, 333_332, 166_665, 142_856], chosen=5, off=1, equation=True)
def test_backends_agree_to_the_last_unit_of_large_rows(weights, chosen, off, equation):
    side = sum(weight for place, weight in enumerate(weights) if chosen >> place & 1) + off
    side = min(max(side, -(10**6)), 10**6)
    model = one_row(weights, "=" if equation else "<=", side, objective=[w % 97 for w in weights])
    expected = answer("exhaustive", model)
    assert {name: answer(name, model) for name in NAMES} == dict.fromkeys(NAMES, expected)


@pytest.mark.parametrize("name", [name for name in NAMES if BACKENDS[name].capabilities.largest_coefficient > 10**9])
@given(
    st.lists(st.integers(2**40, 2**50), min_size=2, max_size=6), st.integers(0, 63), st.integers(-1, 1), st.booleans()
)
@more_examples(60)
def test_whole_number_backends_are_exact_far_beyond_floats(name, weights, chosen, off, maximise):
    side = min(sum(weight for place, weight in enumerate(weights) if chosen >> place & 1) + off, 2**50)
    model = one_row(weights, "<=", side, objective=weights, maximise=maximise, lower=-1, upper=1)
    values = [
        sum(w * x for w, x in zip(weights, point, strict=True)) for point in product((-1, 0, 1), repeat=len(weights))
    ]
    feasible = [value for value in values if value <= side]
    best = (max if maximise else min)(feasible)
    assert answer(name, model) == (Reason.OPTIMAL, best, best)
