"""The checks on a solver's claims: what stands, what is weakened, what is thrown out."""

from fractions import Fraction

import numpy as np
import pytest
from sample_models import one_row

from muri_opt.rounds import Limit, Reason
from muri_opt.solve.solvers import Outcome, checked, exact_bound
from muri_opt.solve.solvers.outcome import keeping, nothing, rounded, something

UP_TO_SEVEN = one_row([1, 1], "<=", 7, objective=[1, 1], upper=9)
FRACTIONAL = one_row([1, 1], "<=", 7, objective=[1, 1], upper=9, integer=False)
POINT = np.array([3, 4])


def verdict(outcome):
    return outcome.termination.reason, outcome.termination.limit, outcome.value, outcome.bound


@pytest.mark.parametrize(
    ("limit", "bound", "expected"),
    [
        (None, None, (Reason.OPTIMAL, None, 7, 7)),
        (None, 7, (Reason.OPTIMAL, None, 7, 7)),
        (None, 8, (Reason.FEASIBLE, Limit.GAP, 7, 8)),
        (None, 6, (Reason.FEASIBLE, Limit.FAULT, 7, None)),
        (Limit.TIME, None, (Reason.FEASIBLE, Limit.TIME, 7, None)),
        (Limit.TIME, 9, (Reason.FEASIBLE, Limit.TIME, 7, 9)),
        (Limit.TIME, 7, (Reason.OPTIMAL, None, 7, 7)),
        (Limit.GAP, 7, (Reason.OPTIMAL, None, 7, 7)),
        (Limit.TIME, 5, (Reason.FEASIBLE, Limit.FAULT, 7, None)),
    ],
)
def test_claims_are_held_against_each_other(limit, bound, expected):
    assert verdict(checked(UP_TO_SEVEN, something(POINT, "said", limit, bound))) == expected


@pytest.mark.parametrize(
    ("limit", "bound", "expected"),
    [
        (None, Fraction(7) + Fraction(1, 10**8), (Reason.OPTIMAL, None, 7, 7)),
        (None, Fraction(7) - Fraction(1, 10**8), (Reason.OPTIMAL, None, 7, 7)),
        (None, Fraction(71, 10), (Reason.FEASIBLE, Limit.GAP, 7, Fraction(71, 10))),
        (None, Fraction(69, 10), (Reason.FEASIBLE, Limit.FAULT, 7, None)),
        (Limit.TIME, Fraction(7), (Reason.FEASIBLE, Limit.TIME, 7, 7)),
    ],
)
def test_fractions_meet_their_bound_within_rounding(limit, bound, expected):
    assert verdict(checked(FRACTIONAL, something(np.array([3.0, 4.0]), "said", limit, bound))) == expected


def test_the_solvers_words_are_kept():
    weakened = checked(UP_TO_SEVEN, something(POINT, "the words", None, 6))
    assert weakened.termination.detail == "the value 7 is better than the bound 6; solver said: the words"
    assert checked(UP_TO_SEVEN, something(POINT, "the words", None, 8)).termination.detail == "the words"


def test_a_large_optimum_in_floats_may_be_a_little_off():
    model = one_row([1, 1], "<=", 7, objective=[10**9, 1], upper=9)
    point = np.array([6, 1])
    assert verdict(checked(model, something(point, "said", None, 6 * 10**9)))[0] is Reason.OPTIMAL
    assert verdict(checked(model, something(point, "said", None, 6 * 10**9 - 9)))[:2] == (Reason.FEASIBLE, Limit.FAULT)


def test_values_that_break_a_row_fail():
    outcome = checked(UP_TO_SEVEN, something(np.array([4, 4]), "said", None, 8))
    assert verdict(outcome) == (Reason.FAILED, None, None, None)
    assert outcome.values is None
    assert outcome.termination.detail == "the values break r[0] by 1; solver said: said"


def test_fractions_may_break_a_row_by_rounding_only():
    near, far = np.array([3.0, 4.0 + 1e-9]), np.array([3.0, 4.001])
    assert checked(FRACTIONAL, something(near, "said", None, None)).termination.reason is Reason.OPTIMAL
    assert checked(FRACTIONAL, something(far, "said", None, None)).termination.reason is Reason.FAILED


def test_outcomes_without_values_pass():
    raw = nothing(Reason.NO_SOLUTION, "said", Limit.TIME, 9)
    assert checked(UP_TO_SEVEN, raw) is raw


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (nothing(Reason.NO_SOLUTION, "late", Limit.TIME), (Reason.FEASIBLE, Limit.TIME, 7, None)),
        (nothing(Reason.NO_SOLUTION, "late", Limit.TIME, 9), (Reason.FEASIBLE, Limit.TIME, 7, 9)),
        (nothing(Reason.NO_SOLUTION, "late", Limit.TIME, 7), (Reason.OPTIMAL, None, 7, 7)),
        (something(np.array([1, 1]), "late", Limit.GAP, 9), (Reason.FEASIBLE, Limit.GAP, 7, 9)),
        (something(np.array([7, 0]), "late", Limit.TIME, 9), (Reason.FEASIBLE, Limit.TIME, 7, 9)),
        (something(np.array([1, 1]), "done", None, 2), (Reason.FEASIBLE, Limit.FAULT, 7, None)),
        (nothing(Reason.INFEASIBLE, "none"), (Reason.FEASIBLE, Limit.FAULT, 7, None)),
        (nothing(Reason.FAILED, "crashed"), (Reason.FEASIBLE, Limit.FAULT, 7, None)),
        (nothing(Reason.FAILED, "unbounded"), (Reason.FAILED, None, None, None)),
    ],
)
def test_a_feasible_start_is_kept(raw, expected):
    outcome = keeping(UP_TO_SEVEN, checked(UP_TO_SEVEN, raw), POINT)
    assert verdict(outcome) == expected
    assert raw.termination.detail in outcome.termination.detail


def test_the_better_answer_is_kept_when_minimising():
    model = one_row([1, 1], ">=", 7, objective=[1, 1], maximise=False, upper=9)
    better, worse = np.array([3, 4]), np.array([9, 9])
    raw = checked(model, something(worse, "late", Limit.TIME, 2))
    assert verdict(keeping(model, raw, better)) == (Reason.FEASIBLE, Limit.TIME, 7, 2)
    assert keeping(model, checked(model, something(better, "late", Limit.TIME, 2)), worse).values is better


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3.0, 4.0], [3, 4]),
        ([2.999999, -0.000001], [3, 0]),
        ([2.99, 4.0], None),
        ([np.nan, 4.0], None),
        ([np.inf, 4.0], None),
        ([1e300, 4.0], None),
    ],
)
def test_integer_columns_become_whole(values, expected):
    found = rounded(UP_TO_SEVEN, np.array(values))
    assert (found if found is None else found.tolist()) == expected
    assert found is None or found.dtype == np.int64


def test_continuous_columns_stay_as_they_are():
    assert rounded(FRACTIONAL, np.array([0.25, 4.0])).tolist() == [0.25, 4.0]


@pytest.mark.parametrize(
    ("claimed", "at_most", "at_least"),
    [
        (6.9999999, 7, 7),
        (7.4, 7, 8),
        (7.0000001, 7, 7),
        (-2.5, -3, -2),
        (6e11 + 0.9, 600_000_000_000, None),
        (6e11 - 0.0011, 600_000_000_000, None),
    ],
)
def test_floating_bounds_are_rounded_inwards(claimed, at_most, at_least):
    assert exact_bound(UP_TO_SEVEN, claimed) == at_most
    if at_least is not None:
        assert exact_bound(one_row([1], "<=", 1, objective=[1], maximise=False), claimed) == at_least


@pytest.mark.parametrize("claimed", [np.inf, -np.inf, np.nan, 1e30])
def test_no_bound_is_no_bound(claimed):
    assert exact_bound(UP_TO_SEVEN, claimed) is None


def test_bounds_of_fractional_objectives_are_left_alone():
    assert exact_bound(FRACTIONAL, 7.25) == Fraction(29, 4)


def test_an_outcome_says_nothing_by_itself():
    empty = Outcome(termination=nothing(Reason.FAILED, "said").termination)
    assert (empty.values, empty.value, empty.bound, empty.build_seconds, empty.solve_seconds) == (
        None,
        None,
        None,
        0,
        0,
    )
