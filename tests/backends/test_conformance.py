"""One suite for every backend. What a backend declares it cannot do, it must refuse: that is asserted, not skipped."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from sample_models import FLOATING, NAMES, gangs, knapsack, market_split, one_row, unbounded

from muri_opt.backends import BACKENDS, backend_named
from muri_opt.errors import InputError, RefusalError
from muri_opt.modelling import INFINITY, ModelBuilder, evaluate
from muri_opt.solution import Limit, Limits, Reason

every_backend = pytest.mark.parametrize("name", NAMES)
HOUR = Limits(seconds=3600)


def solve(name, model, limits=HOUR, start=None):
    return backend_named(name).solve(model, limits, start)


def assert_optimal(outcome, value):
    assert (outcome.termination.reason, outcome.value, outcome.bound) == (Reason.OPTIMAL, value, value)
    assert outcome.termination.detail


def refuses(name, model):
    """Return what the backend refuses the model for."""
    with pytest.raises(RefusalError) as refusal:
        solve(name, model)
    assert refusal.value.field.startswith(f"{name}: model ")
    assert refusal.value.allowed
    return refusal.value.found


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


# --- groups and implications -----------------------------------------------------------------------------------------


def grouped(kind):
    builder = ModelBuilder("groups")
    x = builder.add_columns("x", np.arange(4))
    builder.add_groups("one", [0, 1], members=([0, 0, 1, 1, 1], [0, 1, 1, 2, 3]), kind=kind)
    return builder.finish(maximise=True, columns=x, coefficients=[-1, -5, 3, 2])


@every_backend
@pytest.mark.parametrize(
    ("kind", "best", "point"), [("exactly-one", 2, [1, 0, 1, 0]), ("at-most-one", 3, [0, 0, 1, 0])]
)
def test_groups(name, kind, best, point):
    outcome = solve(name, grouped(kind))
    assert_optimal(outcome, best)
    assert outcome.values.tolist() == point


@every_backend
@pytest.mark.parametrize(("kind", "reason"), [("exactly-one", Reason.INFEASIBLE), ("at-most-one", Reason.OPTIMAL)])
def test_group_without_members(name, kind, reason):
    builder = ModelBuilder("no-members")
    builder.add_columns("x", [0])
    builder.add_groups("one", [0], members=([], []), kind=kind)
    outcome = solve(name, builder.finish(maximise=True, columns=[], coefficients=[]))
    assert outcome.termination.reason is reason


def implied(sense, rhs, worth):
    """Return a model where b = 1, worth ``worth``, enforces a row on 2 x - y, with x in -3..3 and y in -2..2."""
    builder = ModelBuilder("implied")
    b = builder.add_columns("b", [0])
    x = builder.add_columns("x", [0, 1], lower=[-3, -2], upper=[3, 2])
    builder.add_implications("then", [0], when=b, entries=([0, 0], x, [2, -1]), sense=sense, rhs=rhs)
    return builder.finish(maximise=True, columns=[*b, *x], coefficients=[worth, 2, -1])


@every_backend
@pytest.mark.parametrize(
    ("sense", "rhs", "worth", "best"),
    [("<=", 1, 3, 8), ("<=", 1, 10, 11), ("<=", 99, 3, 11), ("<=", -9, 99, 8), (">=", 5, 1, 9), (">=", 9, 99, 8)],
)
def test_implications(name, sense, rhs, worth, best):
    assert_optimal(solve(name, implied(sense, rhs, worth)), best)


@every_backend
def test_implication_about_its_own_condition(name):
    builder = ModelBuilder("own-condition")
    b = builder.add_columns("b", [0, 1])
    builder.add_implications("then", [0], when=[b[0]], entries=([0, 0], b, [1, 1]), sense="<=", rhs=1)
    outcome = solve(name, builder.finish(maximise=True, columns=b, coefficients=[3, 2]))
    assert_optimal(outcome, 3)
    assert outcome.values.tolist() == [1, 0]


@every_backend
def test_implication_without_entries_switches_its_condition_off(name):
    builder = ModelBuilder("never")
    b = builder.add_columns("b", [0, 1])
    builder.add_implications("then", [0], when=[b[0]], entries=([], [], []), sense=">=", rhs=1)
    outcome = solve(name, builder.finish(maximise=True, columns=b, coefficients=[3, 2]))
    assert_optimal(outcome, 2)


# --- continuous and unbounded columns --------------------------------------------------------------------------------


def continuous(*, mixed):
    """Return max x + y with 3 x + y <= 4 and x + 3 y <= 4, at (1, 1); with y whole and x + 3 y <= 5 at (2/3, 1)."""
    builder = ModelBuilder("continuous")
    x = builder.add_columns("x", [0], upper=9, integer=False)
    y = builder.add_columns("y", [0], upper=9, integer=mixed)
    entries = ([0, 0, 1, 1], [*x, *y, *x, *y], [3, 1, 1, 3])
    builder.add_rows("r", [0, 1], entries=entries, sense="<=", rhs=[3, 5] if mixed else [4, 4])
    return builder.finish(maximise=True, columns=[*x, *y], coefficients=[1, 1])


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
    outcome = solve(name, model, Limits(seconds=0.5))
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
    if place == "implication":
        builder.add_implications("then", [0], when=x[0], entries=([0], [x[1]], [3]), sense="<=", rhs=number)
    else:
        builder.add_rows("r", [0], entries=([0, 0], x, [0, row]), sense="<=", rhs=side)
    return builder.finish(maximise=True, columns=x, coefficients=[1, number if place == "objective" else 1])


@every_backend
@pytest.mark.parametrize("place", ["row", "side", "objective", "implication"])
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
