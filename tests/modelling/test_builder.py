"""A builder checks each family as it comes in, refuses it whole, and stores sparse rows."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from small_models import described

from muri_opt.errors import InputError
from muri_opt.modelling import INFINITY, ModelBuilder


@pytest.fixture
def builder():
    """A builder with columns x_0, x_1 (0 to 5) and b_0 (binary)."""
    made = ModelBuilder("test")
    made.add_columns("x", [0, 1], upper=5)
    made.add_columns("b", [0])
    return made


def finished(builder):
    return builder.finish(maximise=True, columns=[], coefficients=[])


def test_columns_have_positions_bounds_and_names(builder):
    more = builder.add_columns("y", [[3, 1], [3, 2]], lower=[-4, -INFINITY], upper=INFINITY, integer=False)
    assert more.tolist() == [3, 4]
    model = finished(builder)
    assert model.column_names == ("x_0", "x_1", "b_0", "y_3_1", "y_3_2")
    assert model.lower.tolist() == [0, 0, 0, -4, -INFINITY]
    assert model.upper.tolist() == [5, 5, 1, INFINITY, INFINITY]
    assert model.integer.tolist() == [True, True, True, False, False]
    assert (model.column_count, model.row_count) == (5, 0)


def test_a_family_without_subscripts_or_without_members(builder):
    builder.add_columns("total", np.zeros((1, 0)), upper=9)
    builder.add_columns("none", [])
    builder.add_rows("limit", np.zeros((1, 0)), entries=([], [], []), sense="<=", rhs=1)
    builder.add_rows("empty", [], entries=([], [], []), sense="<=", rhs=[])
    model = finished(builder)
    assert model.column_names[3:] == ("total",)
    assert model.row_names == ("limit",)
    assert model.labels == ("limit", "empty")


def test_equal_places_are_added_up_zeros_dropped_and_columns_sorted(builder):
    builder.add_rows(
        "r",
        [0, 1, 2],
        entries=([2, 0, 0, 2, 0, 2, 0], [1, 1, 0, 1, 1, 0, 2], [4, 1, 7, -4, 2, 5, 0]),
        sense="<=",
        rhs=[1, 2, 3],
    )
    (rows,) = finished(builder).rows
    assert rows.starts.tolist() == [0, 2, 2, 3]
    assert rows.columns.tolist() == [0, 1, 0]
    assert rows.coefficients.tolist() == [7, 3, 5]
    assert rows.rhs.tolist() == [1, 2, 3]


def test_one_value_stands_for_all(builder):
    builder.add_rows("r", [0, 1], entries=([0, 1], 0, 3), sense=">=", rhs=4)
    (rows,) = finished(builder).rows
    assert (rows.columns.tolist(), rows.coefficients.tolist(), rows.rhs.tolist()) == ([0, 0], [3, 3], [4, 4])


def test_the_objective_adds_up(builder):
    model = builder.finish(maximise=False, columns=[1, 0, 1], coefficients=[2, 3, 5])
    assert model.objective.tolist() == [3, 7, 0]
    assert builder.finish(maximise=True, columns=[0, 1], coefficients=4).objective.tolist() == [4, 4, 0]
    assert ModelBuilder("none").finish(maximise=True, columns=[], coefficients=[]).objective.tolist() == []


def test_the_matrix_joins_the_families(builder):
    builder.add_rows("r", [0, 1], entries=([0, 1], [0, 1], [2, 3]), sense="<=", rhs=[4, 5])
    builder.add_rows("s", [0], entries=([0], [2], [6]), sense=">=", rhs=-1)
    builder.add_rows("t", [0], entries=([], [], []), sense="=", rhs=0)
    matrix = finished(builder).matrix
    assert matrix.starts.tolist() == [0, 1, 2, 3, 3]
    assert matrix.columns.tolist() == [0, 1, 2]
    assert matrix.coefficients.tolist() == [2, 3, 6]
    assert matrix.lower.tolist() == [-INFINITY, -INFINITY, -1, 0]
    assert matrix.upper.tolist() == [4, 5, INFINITY, 0]


@given(it=described())
def test_the_arrays_say_what_was_put_in(it):
    for label, index, terms, sense, rhs in it.rows:
        for family in (family for family in it.model.rows if family.label == label):
            row = family.index.tolist().index(list(index))
            span = slice(family.starts[row], family.starts[row + 1])
            stored = dict(zip(family.columns[span].tolist(), family.coefficients[span].tolist(), strict=True))
            assert stored == {j: c for j, c in terms.items() if c}
            assert (family.sense, family.rhs[row]) == (sense, rhs)
    assert it.model.objective.tolist() == [it.objective.get(j, 0) for j in range(len(it.bounds))]
    assert it.model.lower.tolist() == [low for _, _, low, _, _ in it.bounds]


R = {"entries": ([0], [0], [1]), "sense": "<=", "rhs": 1}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"entries": ([1], [0], [1])}, "r.row"),
        ({"entries": ([-1], [0], [1])}, "r.row"),
        ({"entries": ([0], [3], [1])}, "r.column"),
        ({"entries": ([0], [-1], [1])}, "r.column"),
        ({"entries": ([0], [0], [0.5])}, "r.coefficient"),
        ({"entries": ([0], [0], [1.0])}, "r.coefficient"),
        ({"entries": ([0], [0], [True])}, "r.coefficient"),
        ({"entries": ([0], [0], ["1"])}, "r.coefficient"),
        ({"entries": ([0], [0], [None])}, "r.coefficient"),
        ({"entries": ([0], [0], [float("nan")])}, "r.coefficient"),
        ({"entries": ([0], [0], [Fraction(1)])}, "r.coefficient"),
        ({"entries": ([0], [0], [INFINITY])}, "r.coefficient"),
        ({"entries": ([0], [0], [10**30])}, "r.coefficient"),
        ({"entries": ([0], [0], [np.uint64(2**63)])}, "r.coefficient"),
        ({"entries": ([0, 0], [0, 0], [2**61, 2**61])}, "r.coefficient"),
        ({"entries": ([0] * 4, [0] * 4, [2**62 - 1] * 4)}, "r.coefficient"),
        ({"entries": ([0, 0], [0, 1], [1, 2, 3])}, "r.entries"),
        ({"entries": ([0], [0], [[1], [2, 3]])}, "r.coefficient"),
        ({"rhs": [1, 2]}, "r.rhs"),
        ({"rhs": INFINITY}, "r.rhs"),
        ({"rhs": -INFINITY}, "r.rhs"),
        ({"rhs": 0.5}, "r.rhs"),
        ({"sense": "<"}, "r.sense"),
        ({"index": [0.5]}, "r.index"),
        ({"index": [-1]}, "r.index"),
        ({"index": 0}, "r.index"),
        ({"index": [[[0]]]}, "r.index"),
    ],
)
def test_wrong_rows_are_refused_and_nothing_is_added(builder, change, field):
    with pytest.raises(InputError) as caught:
        builder.add_rows("r", **{"index": [0], **R, **change})
    assert caught.value.field == field
    assert finished(builder).rows == ()


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"lower": 2}, "z[0]"),
        ({"lower": [0, 3], "upper": 2}, "z[1]"),
        ({"lower": INFINITY, "upper": INFINITY}, "z[0]"),
        ({"lower": -INFINITY, "upper": -INFINITY}, "z[0]"),
        ({"upper": [1, 2, 3]}, "z.upper"),
        ({"lower": 0.5}, "z.lower"),
        ({"upper": 2 * INFINITY}, "z.upper"),
        ({"upper": float("inf")}, "z.upper"),
    ],
)
def test_wrong_columns_are_refused_and_nothing_is_added(builder, fields, field):
    with pytest.raises(InputError) as caught:
        builder.add_columns("z", [0, 1], **fields)
    assert caught.value.field == field
    assert builder.add_columns("z", [0]).tolist() == [3]


@pytest.mark.parametrize("label", ["", "1x", "x y", "x-1", "x:", "é", "_x", "x\n", "inf", "nan_x", "INFx", "x" * 65])
def test_labels_that_are_no_names_in_a_file_are_refused(builder, label):
    with pytest.raises(InputError, match="label: found"):
        builder.add_columns(label, [0])
    with pytest.raises(InputError, match="label: found"):
        builder.add_rows(label, [0], **R)


@pytest.mark.parametrize("label", ["free", "st", "End", "bounds", "obj", "max", "binary", "sos1"])
def test_words_of_the_lp_format_need_a_subscript(builder, label):
    with pytest.raises(InputError, match="no word of the LP format"):
        builder.add_rows(label, np.zeros((1, 0)), **R)
    builder.add_rows(label, [0], **R)
    assert finished(builder).row_names == (f"{label}_0",)


def test_labels_list_every_family_of_constraints(builder):
    builder.add_rows("r", [0], **R)
    builder.add_rows("g", [0], **R)
    model = finished(builder)
    assert model.labels == ("r", "g")
    assert [len(family) for family in model.rows] == [1, 1]


@pytest.mark.parametrize(
    ("columns", "coefficients", "field"),
    [
        ([3], [1], "objective.column"),
        ([0], [0.5], "objective.coefficient"),
        ([0, 1], [1, 2, 3], "objective.entries"),
        ([0, 0], [2**61, 2**61], "objective.coefficient"),
    ],
)
def test_a_wrong_objective_is_refused(builder, columns, coefficients, field):
    with pytest.raises(InputError) as caught:
        builder.finish(maximise=True, columns=columns, coefficients=coefficients)
    assert caught.value.field == field


@given(parts=st.lists(st.integers(-(2**62) + 1, 2**62 - 1), min_size=1, max_size=6))
def test_sums_of_equal_places_are_right_or_refused(parts):
    builder = ModelBuilder("sums")
    builder.add_columns("x", [0])
    try:
        builder.add_rows("r", [0], entries=([0] * len(parts), [0] * len(parts), parts), sense="<=", rhs=0)
    except InputError:
        assert abs(sum(parts)) >= 2**62 - 2**12  # near the limit a sum in floats cannot tell which side it is on
    else:
        assert finished(builder).rows[0].coefficients.tolist() == ([sum(parts)] if sum(parts) else [])
