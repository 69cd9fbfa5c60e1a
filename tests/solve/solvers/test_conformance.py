"""One suite for every backend. What a backend declares it cannot do, it must refuse: that is asserted, not skipped."""

from fractions import Fraction

import numpy as np
import pytest
from conformance import assert_optimal, every_backend, refuses, solve
from sample_models import FLOATING, continuous, gangs, one_row, unbounded

from muri_opt.modelling import INFINITY, ModelBuilder, evaluate
from muri_opt.rounds import Limits, Reason
from muri_opt.solve.solvers import BACKENDS, backend_named


@every_backend
def test_every_backend_is_installed(name):
    assert backend_named(name).version().split()[-1][0].isdigit()


# --- optimal and infeasible ------------------------------------------------------------------------------------------


@every_backend
def test_optimal(name):
    model = gangs()
    outcome = solve(name, model)
    assert_optimal(outcome, 34)
    assert outcome.values.dtype == np.int64
    assert evaluate(model, outcome.values).feasible
    assert outcome.build_seconds > 0
    assert outcome.solve_seconds > 0


@every_backend
def test_no_time_limit(name):
    assert_optimal(solve(name, gangs(), Limits(seconds=None)), 34)


@every_backend
@pytest.mark.parametrize(
    ("sense", "rhs", "maximise", "best"),
    [("<=", 7, True, 7), ("<=", 7, False, -23), (">=", -7, True, 23), (">=", -7, False, -7), ("=", 4, True, 4)],
)
def test_directions_senses_and_negative_bounds(name, sense, rhs, maximise, best):
    # 2 x + 3 y reaches -23 to 23 for x in -4..4 and y in -5..5; the objective is the same sum.
    model = one_row([2, 3], sense, rhs, objective=[2, 3], maximise=maximise, lower=[-4, -5], upper=[4, 5])
    assert_optimal(solve(name, model), best)


@every_backend
def test_rounding_the_relaxation_is_not_enough(name):
    model = one_row([5, 5, 5], "<=", 9, objective=[3, 4, 5])
    outcome = solve(name, model)
    assert_optimal(outcome, 5)
    assert outcome.values.tolist() == [0, 0, 1]


@every_backend
@pytest.mark.parametrize(
    ("coefficients", "sense", "rhs"), [([1, 1], ">=", 3), ([2, 2], "=", 1), ([-1, -1], ">=", 1), ([6, 10], "=", 15)]
)
def test_infeasible(name, coefficients, sense, rhs):
    outcome = solve(name, one_row(coefficients, sense, rhs, objective=[1, 1]))
    assert outcome.termination.reason is Reason.INFEASIBLE
    assert (outcome.values, outcome.value, outcome.bound) == (None, None, None)
    assert outcome.termination.detail


@every_backend
def test_zero_objective(name):
    model = one_row([1, 2], "=", 2, objective=[0, 0])
    outcome = solve(name, model)
    assert_optimal(outcome, 0)
    assert outcome.values.tolist() == [0, 1]


@every_backend
def test_columns_fixed_by_their_bounds(name):
    model = one_row([1, 1, 1], "<=", 6, objective=[1, 1, 1], lower=[2, -1, 0], upper=[2, -1, 9])
    outcome = solve(name, model)
    assert_optimal(outcome, 6)
    assert outcome.values.tolist() == [2, -1, 5]


# --- models of nothing -----------------------------------------------------------------------------------------------


def nothing_but(sense, rhs, columns=0):
    builder = ModelBuilder("nothing")
    x = builder.add_columns("x", np.arange(columns), upper=3)
    builder.add_rows("empty", [7], entries=([], [], []), sense=sense, rhs=rhs)
    return builder.finish(maximise=True, columns=x, coefficients=np.ones(columns, dtype=int))


@every_backend
def test_empty_model(name):
    outcome = solve(name, ModelBuilder("empty").finish(maximise=True, columns=[], coefficients=[]))
    assert_optimal(outcome, 0)
    assert outcome.values.tolist() == []


@every_backend
@pytest.mark.parametrize("columns", [0, 2])
@pytest.mark.parametrize(("sense", "rhs"), [("<=", 0), ("<=", 4), (">=", -1), ("=", 0)])
def test_row_without_entries_that_holds(name, columns, sense, rhs):
    assert_optimal(solve(name, nothing_but(sense, rhs, columns)), 3 * columns)


@every_backend
@pytest.mark.parametrize("columns", [0, 2])
@pytest.mark.parametrize(("sense", "rhs"), [("<=", -1), (">=", 1), ("=", 5)])
def test_row_without_entries_that_cannot_hold(name, columns, sense, rhs):
    outcome = solve(name, nothing_but(sense, rhs, columns))
    assert outcome.termination.reason is Reason.INFEASIBLE
    assert outcome.termination.detail == "empty[7] has no columns and cannot hold"


@every_backend
def test_no_rows_at_all(name):
    builder = ModelBuilder("no-rows")
    x = builder.add_columns("x", [0, 1], lower=-2, upper=5)
    assert_optimal(solve(name, builder.finish(maximise=False, columns=x, coefficients=[3, -1])), -11)


# --- continuous and unbounded columns --------------------------------------------------------------------------------


@every_backend
@pytest.mark.parametrize(("mixed", "best"), [(False, Fraction(2)), (True, Fraction(5, 3))])
def test_continuous_columns(name, mixed, best):
    model = continuous(mixed=mixed)
    if not BACKENDS[name].capabilities.continuous:
        assert refuses(name, model) == "continuous columns"
        return
    outcome = solve(name, model)
    assert outcome.termination.reason is Reason.OPTIMAL
    assert outcome.values.dtype == np.float64
    assert abs(outcome.value - best) < Fraction(1, 10**9)
    assert outcome.bound == outcome.value
    assert not mixed or outcome.values[1] == 1.0


@every_backend
@pytest.mark.parametrize("integer", [True, False])
def test_unbounded(name, integer):
    model = unbounded(integer=integer)
    if not BACKENDS[name].capabilities.unbounded_columns:
        assert refuses(name, model) == ("a column without a finite bound" if integer else "continuous columns")
        return
    outcome = solve(name, model)
    assert outcome.termination.reason is Reason.FAILED
    assert outcome.termination.detail.startswith("unbounded")
    assert (outcome.values, outcome.value, outcome.bound) == (None, None, None)


@pytest.mark.parametrize("name", FLOATING)
@pytest.mark.parametrize("integer", [True, False])
def test_infeasible_is_not_called_unbounded(name, integer):
    model = unbounded(integer=integer, feasible=False)
    outcome = solve(name, model)
    assert outcome.termination.reason is Reason.INFEASIBLE


@pytest.mark.parametrize("name", FLOATING)
def test_unbounded_relaxation_without_whole_points_is_never_called_unbounded(name):
    builder = ModelBuilder("odd")
    x = builder.add_columns("x", [0, 1], upper=INFINITY)
    builder.add_rows("odd", [0], entries=([0, 0], x, [2, -2]), sense="=", rhs=1)
    model = builder.finish(maximise=True, columns=x, coefficients=[1, 1])
    outcome = solve(name, model, Limits(seconds=0.5))
    # Branching alone never ends here; a solver without the right presolve runs out of time.
    assert outcome.termination.reason in (Reason.INFEASIBLE, Reason.NO_SOLUTION)


@pytest.mark.parametrize("name", FLOATING)
@pytest.mark.parametrize("integer", [True, False])
def test_free_columns_with_a_finite_optimum(name, integer):
    builder = ModelBuilder("free")
    x = builder.add_columns("x", [0, 1], lower=-INFINITY, upper=INFINITY, integer=integer)
    builder.add_rows("low", [0, 1], entries=([0, 0, 1, 1], [*x, *x], [1, 1, 1, -1]), sense=">=", rhs=[-7, -3])
    outcome = solve(name, builder.finish(maximise=False, columns=x, coefficients=[1, 0]))
    assert outcome.termination.reason is Reason.OPTIMAL
    assert outcome.value == -5
    assert outcome.values.tolist() == [-5, -2]
