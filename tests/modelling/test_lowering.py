"""Groups and implications as rows: exactly the same solutions."""

import numpy as np
import pytest
from hypothesis import given, settings
from small_models import HOLDS, described

from muri_opt.errors import InputError, RefusalError
from muri_opt.modelling import INFINITY, ModelBuilder, evaluate, lower


def satisfies(plain, point):
    """Return whether a point satisfies all rows of a plain model, by the sums of its sparse arrays."""
    for family in plain.rows:
        for row in range(len(family)):
            span = slice(family.starts[row], family.starts[row + 1])
            left = sum(int(c) * point[j] for j, c in zip(family.columns[span], family.coefficients[span], strict=True))
            if not HOLDS[family.sense](left, int(family.rhs[row])):
                return False
    return True


@settings(max_examples=150)
@given(it=described(continuous=False, most=2))
def test_the_lowered_model_has_the_same_solutions_over_the_whole_box(it):
    plain = lower(it.model)
    assert plain.groups == plain.implications == ()
    for point in it.points():
        assert satisfies(plain, point) == (not it.broken(point)), point


@given(it=described(continuous=False, most=2))
def test_labels_indices_and_the_objective_are_kept(it):
    plain = lower(it.model)
    assert plain.labels == it.model.labels
    kept = [tuple(index) for family in plain.rows for index in family.index.tolist()]
    before = [*it.model.rows, *it.model.groups, *(family.rows for family in it.model.implications)]
    assert kept == [tuple(index) for family in before for index in family.index.tolist()]
    assert (plain.name, plain.maximise) == (it.model.name, it.model.maximise)
    assert np.array_equal(plain.objective, it.model.objective)


@given(it=described(continuous=False))
def test_rows_of_a_lowered_model_name_each_column_once_and_no_zero(it):
    for family in lower(it.model).rows:
        assert np.all(family.coefficients != 0)
        for start, stop in zip(family.starts[:-1], family.starts[1:], strict=True):
            assert np.all(np.diff(family.columns[start:stop]) > 0)


def test_a_plain_model_is_returned_as_it_is():
    builder = ModelBuilder("plain")
    builder.add_columns("x", [0])
    model = builder.finish(maximise=True, columns=[0], coefficients=[1])
    assert lower(model) is model


def implication(sense, rhs, *, low, high, coefficient=1, within=False):
    builder = ModelBuilder("one implication")
    b = builder.add_columns("b", [0])
    x = builder.add_columns("x", [0], lower=low, upper=high)
    columns = [x[0], b[0]] if within else [x[0]]
    builder.add_implications(
        "when", [0], when=b, entries=([0] * len(columns), columns, coefficient), sense=sense, rhs=rhs
    )
    return builder.finish(maximise=True, columns=[], coefficients=[])


@pytest.mark.parametrize(("sense", "rhs", "terms", "right"), [("<=", 3, {0: 6, 1: 1}, 9), (">=", 3, {0: -5, 1: 1}, -2)])
def test_the_slack_is_the_smallest_the_bounds_allow(sense, rhs, terms, right):
    (rows,) = lower(implication(sense, rhs, low=-2, high=9)).rows
    assert dict(zip(rows.columns.tolist(), rows.coefficients.tolist(), strict=True)) == terms
    assert rows.rhs.tolist() == [right]


def test_an_implication_that_always_holds_needs_no_slack():
    (rows,) = lower(implication("<=", 9, low=-2, high=9)).rows
    assert (rows.columns.tolist(), rows.coefficients.tolist(), rows.rhs.tolist()) == ([1], [1], [9])


def test_a_condition_within_its_own_row_is_added_up():
    (rows,) = lower(implication("<=", 3, low=0, high=9, within=True)).rows
    assert (rows.columns.tolist(), rows.coefficients.tolist(), rows.rhs.tolist()) == ([0, 1], [8, 1], [10])


@pytest.mark.parametrize(
    ("sense", "low", "high", "coefficient"),
    [
        ("<=", 0, INFINITY, 1),
        (">=", -INFINITY, 0, 1),
        ("<=", -INFINITY, 0, -1),
        ("<=", 0, INFINITY - 1, 2),
        (">=", 1 - INFINITY, 0, 2),
    ],
)
def test_an_implication_that_cannot_be_written_in_whole_numbers_is_refused(sense, low, high, coefficient):
    with pytest.raises(RefusalError) as caught:
        lower(implication(sense, 0, low=low, high=high, coefficient=coefficient))
    assert caught.value.field == "when"
    assert "bounds on its columns" in caught.value.allowed


def test_a_right_side_that_would_look_like_no_bound_is_refused():
    with pytest.raises(RefusalError):
        lower(implication("<=", 2**61, low=0, high=2**61, coefficient=2))
    with pytest.raises(InputError, match=r"a sum of about"):
        lower(implication("<=", -(2**61), low=0, high=0, coefficient=2**61 - 1, within=True))


@pytest.mark.parametrize(("sense", "low", "high"), [("<=", -INFINITY, 5), (">=", -5, INFINITY)])
def test_a_column_unbounded_to_the_harmless_side_is_fine(sense, low, high):
    model = implication(sense, 0, low=low, high=high)
    plain = lower(model)
    for b in (0, 1):
        for x in (-5, -1, 0, 1, 5):
            point = np.array([b, x])
            assert evaluate(plain, point).feasible == evaluate(model, point).feasible
