"""One suite for every backend, continued: limits, starts, and numbers too large to be exact."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from conformance import HOUR, assert_optimal, every_backend, refuses, solve, solve_until_found
from sample_models import FLOATING, continuous, gangs, knapsack, market_split, one_row, unbounded

from muri_opt.errors import InputError
from muri_opt.modelling import INFINITY, ModelBuilder, evaluate
from muri_opt.rounds import Limit, Limits, Reason
from muri_opt.solve.solvers import BACKENDS, backend_named

# --- limits ----------------------------------------------------------------------------------------------------------


@every_backend
def test_time_limit_without_an_answer(name):
    outcome = solve(name, market_split(), Limits(seconds=0.3))
    assert (outcome.termination.reason, outcome.termination.limit) == (Reason.NO_SOLUTION, Limit.TIME)
    assert outcome.values is None
    assert outcome.value is None
    assert outcome.bound in (None, 0)
    assert outcome.termination.detail


@every_backend
def test_time_limit_with_an_answer(name):
    model = knapsack()
    outcome = solve_until_found(name, model)
    assert (outcome.termination.reason, outcome.termination.limit) == (Reason.FEASIBLE, Limit.TIME)
    assert evaluate(model, outcome.values).feasible
    assert evaluate(model, outcome.values).value == outcome.value
    assert outcome.bound > outcome.value > 0


@every_backend
def test_gap_limit(name):
    outcome = solve(name, knapsack(), Limits(seconds=3600, gap=2.0))
    assert (outcome.termination.reason, outcome.termination.limit) == (Reason.FEASIBLE, Limit.GAP)
    assert 0 < outcome.bound - outcome.value <= 2 * outcome.value


@every_backend
def test_gap_that_happens_to_be_closed_is_optimal(name):
    # Whole numbers between 5 and 5.4 are 5: whatever gap is allowed, the bound rounds to the value.
    outcome = solve(name, one_row([5, 5], "<=", 27, objective=[1, 1], upper=9), Limits(gap=0.01))
    assert_optimal(outcome, 5)


@every_backend
def test_no_time_at_all(name):
    outcome = solve(name, gangs(), Limits(seconds=0))
    assert (outcome.termination.reason, outcome.termination.limit) == (Reason.NO_SOLUTION, Limit.TIME)
    assert outcome.values is None


@every_backend
@pytest.mark.parametrize("seconds", [0.0005 * 2**step for step in range(9)])
def test_however_short_the_time_nothing_false_is_claimed(name, seconds):
    outcome = solve(name, gangs(), Limits(seconds=seconds))
    known = (outcome.termination.reason, outcome.termination.limit)
    assert known in [(Reason.OPTIMAL, None), (Reason.FEASIBLE, Limit.TIME), (Reason.NO_SOLUTION, Limit.TIME)]
    assert outcome.value is None or outcome.value <= 34
    assert outcome.bound is None or outcome.bound >= 34
    assert known[0] is not Reason.OPTIMAL or outcome.value == 34


@every_backend
@pytest.mark.parametrize("threads", [2, 1])
def test_number_of_threads(name, threads):
    assert_optimal(solve(name, gangs(), Limits(seconds=3600, threads=threads)), 34)


@every_backend
def test_same_seed_same_answer(name):
    model = one_row([1] * 12, "<=", 6, objective=[1] * 12)
    first, second = (solve(name, model, Limits(seconds=3600, seed=11)) for _ in range(2))
    assert_optimal(first, 6)
    assert first.values.tolist() == second.values.tolist()


@every_backend
@pytest.mark.parametrize("seed", [0, 2**31 - 1])
def test_smallest_and_largest_seed(name, seed):
    assert_optimal(solve(name, gangs(), Limits(seconds=3600, seed=seed)), 34)


# --- starts ----------------------------------------------------------------------------------------------------------


@every_backend
def test_start_reaches_the_solver(name):
    # The only known solution of a model nobody solves: the solver itself has it from the start, or not at all.
    model, point = market_split(planted=True)
    backend = backend_named(name)
    raw = backend.run(backend.load(model), model, Limits(seconds=5), point)
    assert raw.values.tolist() == point.tolist()


@every_backend
@pytest.mark.parametrize("seconds", [0, 1e-9, 0.003, 0.01, 0.03, 0.3])
def test_feasible_start_is_never_lost(name, seconds):
    model = knapsack()
    start = np.zeros(60, dtype=np.int64)
    start[:20] = 1
    outcome = solve(name, model, Limits(seconds=seconds), start)
    assert (outcome.termination.reason, outcome.termination.limit) == (Reason.FEASIBLE, Limit.TIME)
    assert outcome.value >= evaluate(model, start).value
    assert evaluate(model, outcome.values).feasible
    assert outcome.bound is None or outcome.bound >= 18_534  # a value known to be reached


@every_backend
def test_optimal_start_is_confirmed(name):
    model = gangs()
    best = solve(name, model).values
    outcome = solve(name, model, HOUR, best.astype(np.float64))
    assert_optimal(outcome, 34)
    assert outcome.values.dtype == np.int64


@every_backend
@pytest.mark.parametrize("point", [[1, 1, 1], [7, -9, 0]])
def test_infeasible_start_is_harmless(name, point):
    model = one_row([5, 5, 5], "<=", 9, objective=[3, 4, 5])
    assert_optimal(solve(name, model, HOUR, np.array(point)), 5)
    empty = one_row([2, 2], "=", 1, objective=[1, 1])
    assert solve(name, empty, HOUR, np.array([1, 0])).termination.reason is Reason.INFEASIBLE


@every_backend
def test_start_of_the_wrong_length_is_refused(name):
    with pytest.raises(InputError, match="values"):
        solve(name, gangs(), HOUR, np.zeros(3, dtype=np.int64))


@pytest.mark.parametrize("name", FLOATING)
@pytest.mark.parametrize("mixed", [True, False])
def test_start_with_fractions(name, mixed):
    outcome = solve(name, continuous(mixed=mixed), HOUR, np.array([0.25, 1.0]))
    assert outcome.termination.reason is Reason.OPTIMAL
    assert abs(outcome.value - (Fraction(5, 3) if mixed else 2)) < Fraction(1, 10**9)


def test_start_of_an_unbounded_model_changes_nothing():
    outcome = solve("highs", unbounded(), HOUR, np.array([0, 0]))
    assert outcome.termination.detail.startswith("unbounded")


# --- numbers too large to be exact -----------------------------------------------------------------------------------


@every_backend
def test_coefficient_at_the_limit_is_exact(name):
    most = min(BACKENDS[name].capabilities.largest_coefficient, 2**60)
    # One less than both weights fit: the pair does not fit by 1, which is below any relative tolerance.
    model = one_row([most - 1, most, 1], "<=", most, objective=[2, 2, 1])
    outcome = solve(name, model)
    assert_optimal(outcome, 3)
    assert outcome.values.tolist() == [1, 0, 1]


def one_large_number(place, number):
    """Return a model of two binaries whose best value is 2 or, with the large number in the objective, that plus 1."""
    builder = ModelBuilder("large")
    x = builder.add_columns("x", [0, 1])
    row, side = number if place == "row" else 1, number if place in ("row", "side") else 2
    builder.add_rows("r", [0], entries=([0, 0], x, [0, row]), sense="<=", rhs=side)
    return builder.finish(maximise=True, columns=x, coefficients=[1, number if place == "objective" else 1])


@every_backend
@pytest.mark.parametrize("place", ["row", "side", "objective"])
def test_number_beyond_the_limit_is_refused(name, place):
    can = BACKENDS[name].capabilities
    beyond = 1 + (can.largest_weight if place == "objective" else can.largest_coefficient)
    if beyond > INFINITY:
        # No limit of its own: models end at 2**62.
        largest = 2**61
        assert_optimal(solve(name, one_large_number(place, largest)), largest + 1 if place == "objective" else 2)
        return
    kind = "an objective coefficient" if place == "objective" else "a coefficient"
    assert refuses(name, one_large_number(place, beyond)) == f"{kind} of {beyond:,}"
    assert_optimal(solve(name, one_large_number(place, beyond - 1)), beyond if place == "objective" else 2)


@every_backend
@pytest.mark.parametrize("place", ["objective", "row", "column"])
def test_sums_beyond_the_limit_are_refused(name, place):
    can = BACKENDS[name].capabilities
    most = can.largest_objective if place == "objective" else can.largest_sum
    weight = {"objective": 2**19, "row": 2**19, "column": 1}[place]
    reach = min(2 * most // weight, 2**61)
    builder = ModelBuilder("sums")
    x = builder.add_columns("x", [0], upper=reach)
    y = builder.add_columns("y", [0])
    builder.add_rows("r", [0], entries=([0, 0], [*x, *y], [weight if place == "row" else 0, 1]), sense="<=", rhs=1)
    model = builder.finish(maximise=True, columns=[*x, *y], coefficients=[weight if place == "objective" else 0, 1])
    if name == "exhaustive":
        assert_optimal(solve(name, model), 1 if place != "objective" else 2**19 * reach + 1)
        return
    assert refuses(name, model).startswith(("objective values up to", "sums up to"))


@pytest.mark.parametrize("name", FLOATING)
def test_large_objectives_are_told_apart_to_the_last_unit(name):
    most = BACKENDS[name].capabilities.largest_weight
    objective = [most - 3, most - 2, most - 1, most]
    outcome = solve(name, one_row([1, 1, 1, 1], "<=", 2, objective=objective))
    assert_optimal(outcome, 2 * most - 1)


@every_backend
def test_too_many_columns_are_refused(name):
    most = BACKENDS[name].capabilities.most_columns
    model = one_row([1] * 65, "<=", 1, objective=[1] * 65)
    if most is None:
        assert_optimal(solve(name, model), 1)
    else:
        assert refuses(name, model) == "65 columns"
        assert_optimal(solve(name, one_row([1] * most, "<=", 1, objective=[1] * most)), 1)


@every_backend
def test_the_model_is_left_as_it_was(name):
    model = gangs()
    before = replace(model, objective=model.objective.copy())
    solve(name, model, HOUR, np.zeros(model.column_count, dtype=np.int64))
    assert model.objective.tolist() == before.objective.tolist()
    assert_optimal(solve(name, model), 34)
