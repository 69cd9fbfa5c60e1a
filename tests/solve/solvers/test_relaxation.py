"""Row multipliers of the linear relaxation: their signs, and that they prove the relaxation's value."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from more_examples import more_examples
from sample_models import gangs, one_row, unbounded

from muri_opt.modelling import INFINITY, ModelBuilder
from muri_opt.rounds import Budget, Limits, unlimited
from muri_opt.solve.solvers import backend_named, highs, relaxation, relaxation_duals


@pytest.mark.parametrize(
    ("sense", "maximise", "expected"),
    [("<=", True, 3), (">=", True, 0), ("=", True, 3), ("<=", False, 0), (">=", False, 3), ("=", False, 3)],
)
def test_the_multiplier_is_the_rate_of_change_with_the_right_side(sense, maximise, expected):
    model = one_row([1], sense, 4, objective=[3], maximise=maximise, upper=9)
    assert relaxation_duals(model, None).tolist() == [expected]


def test_signs_turn_with_the_direction():
    assert relaxation_duals(one_row([1], ">=", 4, objective=[-3], maximise=True, upper=9), None).tolist() == [-3]
    assert relaxation_duals(one_row([1], "<=", 4, objective=[-3], maximise=False, upper=9), None).tolist() == [-3]


def proved_by(model, duals):
    """Return the bound that multipliers prove: the right sides at their price, each column at its better bound."""
    matrix = model.matrix
    assert len(duals) == len(matrix.lower)
    owner = np.repeat(np.arange(len(duals)), np.diff(matrix.starts))
    reduced = model.objective - np.bincount(
        matrix.columns, weights=matrix.coefficients * duals[owner], minlength=model.column_count
    )
    sides = np.where(np.abs(matrix.lower) < INFINITY, matrix.lower, matrix.upper)
    towards_upper = (reduced > 0) == model.maximise
    return sides @ duals + reduced @ np.where(towards_upper, model.upper, model.lower)


def relaxed(model):
    """Return the value of the relaxation, from the same model with continuous columns."""
    builder = ModelBuilder("relaxed")
    builder.add_columns("x", np.arange(model.column_count), lower=model.lower, upper=model.upper, integer=False)
    for number, rows in enumerate(model.rows):
        owner = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
        entries = (owner, rows.columns, rows.coefficients)
        builder.add_rows(f"r{number}", np.arange(len(rows)), entries=entries, sense=rows.sense, rhs=rows.rhs)
    columns = np.arange(model.column_count)
    program = builder.finish(maximise=model.maximise, columns=columns, coefficients=model.objective)
    return backend_named("highs").solve(program, Limits()).value


def test_multipliers_of_the_gangs_prove_the_value_of_their_relaxation():
    model = gangs()
    duals = relaxation_duals(model, None)
    assert np.all(duals[len(duals) - 3 :] >= 0)
    assert abs(proved_by(model, duals) - float(relaxed(model))) < 1e-9


@given(st.data(), st.booleans())
@more_examples(50)
def test_multipliers_prove_the_value_of_the_relaxation(data, maximise):
    number = st.integers(-6, 6)
    builder = ModelBuilder("drawn")
    b = builder.add_columns("b", np.arange(3))
    x = builder.add_columns("x", np.arange(3), lower=-4, upper=5)
    columns = np.concatenate([b, x])
    # Zero is a point of every row, so the relaxation has a value.
    drawn = (("low", "<=", st.integers(0, 9)), ("high", ">=", st.integers(-9, 0)), ("even", "=", st.just(0)))
    for label, sense, side in drawn:
        coefficients = data.draw(st.lists(number, min_size=6, max_size=6))
        entries = ([0] * 6, columns, coefficients)
        builder.add_rows(label, [0], entries=entries, sense=sense, rhs=data.draw(side))
    builder.add_rows("one", [0], entries=([0, 0], b[:2], 1), sense="<=", rhs=1)
    objective = data.draw(st.lists(number, min_size=6, max_size=6))
    model = builder.finish(maximise=maximise, columns=columns, coefficients=objective)
    duals = relaxation_duals(model, None)
    sign = 1 if maximise else -1
    senses = [rows.sense for rows in model.rows for _ in range(len(rows))]
    assert all(sign * dual >= -1e-9 for dual, sense in zip(duals, senses, strict=True) if sense == "<=")
    assert all(sign * dual <= 1e-9 for dual, sense in zip(duals, senses, strict=True) if sense == ">=")
    assert abs(proved_by(model, duals) - float(relaxed(model))) < 1e-6


@pytest.mark.parametrize(
    "model",
    [one_row([2], "=", 5, objective=[1], upper=2), unbounded(), unbounded(feasible=False)],
    ids=["infeasible", "unbounded", "both"],
)
def test_no_multipliers_without_an_optimum(model):
    assert relaxation_duals(model, None) is None


def test_no_multipliers_without_time():
    assert relaxation_duals(gangs(), Budget(limits=Limits(seconds=0))) is None


@pytest.mark.parametrize(("rhs", "expected"), [(0, [0.0]), (-1, None)])
def test_multipliers_of_a_model_without_columns(rhs, expected):
    builder = ModelBuilder("nothing")
    builder.add_rows("r", [0], entries=([], [], []), sense="<=", rhs=rhs)
    duals = relaxation_duals(builder.finish(maximise=True, columns=[], coefficients=[]), None)
    assert (duals if duals is None else duals.tolist()) == expected


def packing(rows, columns):
    """Return a packing program of columns with four rows each."""
    draw = np.random.default_rng(3)
    builder = ModelBuilder("packing")
    x = builder.add_columns("x", np.arange(columns))
    where = np.array([draw.permutation(rows)[:4] for _ in range(columns)])
    entries = (where.ravel(), np.repeat(x, 4), np.ones(4 * columns, dtype=np.int64))
    builder.add_rows("once", np.arange(rows), entries=entries, sense="<=", rhs=1)
    return builder.finish(maximise=True, columns=x, coefficients=draw.integers(500_000, 1_000_000, columns))


def test_a_central_solution_is_nearly_the_optimum_and_counts_its_work():
    model = packing(30, 900)
    budget = Budget(limits=Limits(seconds=None, work=10))
    vertex, central = relaxation(model, None), relaxation(model, budget, central=True)
    best = model.objective @ vertex.values
    assert abs(model.objective @ central.values - best) < 1e-3 * best
    assert abs(proved_by(model, central.duals) - best) < 2e-3 * best
    assert 0 < budget.spent < 10
    again = relaxation(model, unlimited(), central=True)
    assert (again.duals == central.duals).all()
    assert relaxation(model, Budget(limits=Limits(seconds=None, work=1e-5)), central=True) is None


@pytest.mark.parametrize("presolve", ["off", "on"])
@pytest.mark.parametrize("columns", [10, 30, 60])
def test_central_multipliers_bound_small_programs_closely(columns, presolve, monkeypatch):
    """Also where the interior point method gives them the wrong sign, as HiGHS does after presolve."""
    monkeypatch.setitem(highs._CENTRAL, "presolve", presolve)
    model = packing(12, columns)
    central = relaxation(model, unlimited(), central=True)
    best = model.objective @ relaxation(model, None).values
    assert abs(proved_by(model, central.duals) - best) < 2e-3 * best
