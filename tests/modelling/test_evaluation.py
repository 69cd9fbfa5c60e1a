"""Exact evaluation against a plain evaluator in fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from more_examples import more_examples
from small_models import described

from muri_opt.errors import InputError
from muri_opt.modelling import INFINITY, Broken, ModelBuilder, evaluate

whole = st.integers(-4, 4)
NEAR = 2**60 - 2**12  # four such coefficients of one place still add up to less than 2**62
huge = st.integers(-(2**60), 2**60)
# Thirds are not floats: a sum of such numbers that is exact is exact everywhere.
fractional = st.floats(-4, 4) | st.sampled_from([1 / 3, 2 / 3, 0.1, 0.5, 1e-300, 1e15 + 0.5]) | whole.map(float)


def check(it, values):
    found = evaluate(it.model, values)
    point = [Fraction(x) for x in values.tolist()]
    assert found.value == it.value(point)
    assert isinstance(found.value, (int, Fraction))
    assert {(b.label, b.index, b.by) for b in found.broken} == set(it.broken(point))
    assert len(found.broken) == len(it.broken(point))
    assert found.feasible == (not it.broken(point))


@given(data=st.data(), it=described())
def test_whole_numbers(data, it):
    size = it.model.column_count
    check(it, np.array(data.draw(st.lists(whole, min_size=size, max_size=size)), dtype=np.int64))


@given(data=st.data(), it=described())
def test_fractions_are_the_exact_numbers_the_floats_stand_for(data, it):
    size = it.model.column_count
    check(it, np.array(data.draw(st.lists(fractional, min_size=size, max_size=size)), dtype=np.float64))


@given(data=st.data(), it=described(size=NEAR))
def test_coefficients_near_the_limit_do_not_overflow(data, it):
    size = it.model.column_count
    check(it, np.array(data.draw(st.lists(whole, min_size=size, max_size=size)), dtype=np.int64))


@given(data=st.data(), it=described(size=NEAR))
def test_values_and_coefficients_near_the_limit_do_not_overflow(data, it):
    size = it.model.column_count
    check(it, np.array(data.draw(st.lists(huge, min_size=size, max_size=size)), dtype=np.int64))


@more_examples(50)
@given(data=st.data(), it=described(size=NEAR))
def test_the_largest_integers_and_floats_do_not_overflow(data, it):
    size = it.model.column_count
    ends = st.sampled_from([-(2**63), 2**63 - 1, 0, 1])
    check(it, np.array(data.draw(st.lists(ends, min_size=size, max_size=size)), dtype=np.int64))
    large = st.sampled_from([1e300, -1e300, 2.0**62, 1.5])
    check(it, np.array(data.draw(st.lists(large, min_size=size, max_size=size)), dtype=np.float64))


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.uint8, np.uint64, np.float32, np.float64, np.bool_])
def test_values_of_any_numeric_type(kind):
    builder = ModelBuilder("types")
    x = builder.add_columns("x", [0, 1], upper=1)
    builder.add_rows("r", [0], entries=(0, x, [300, -200]), sense="<=", rhs=200)
    model = builder.finish(maximise=True, columns=x, coefficients=[1000, 1])
    found = evaluate(model, np.array([1, 0], dtype=kind))
    assert found.value == 1000
    assert found.broken == (Broken(label="r", index=(0,), by=100),)


def test_the_largest_unsigned_number():
    builder = ModelBuilder("unsigned")
    x = builder.add_columns("x", [0], upper=INFINITY)
    model = builder.finish(maximise=True, columns=x, coefficients=[3])
    assert evaluate(model, np.array([2**64 - 1], dtype=np.uint64)).value == 3 * (2**64 - 1)


def test_every_broken_family_and_index_is_named():
    builder = ModelBuilder("all broken")
    x = builder.add_columns("x", [[4, 2], [4, 3]], lower=-1, upper=1)
    builder.add_columns("b", [0, 1])
    y = builder.add_columns("y", [0], upper=1, integer=False)
    builder.add_rows("le", [5, 6], entries=([0, 1], x, 1), sense="<=", rhs=[0, 9])
    builder.add_rows("ge", [7], entries=(0, x, 1), sense=">=", rhs=99)
    builder.add_rows("eq", np.zeros((1, 0)), entries=(0, y, 2), sense="=", rhs=8)
    model = builder.finish(maximise=True, columns=[*x, *y], coefficients=[1, 10, 100])
    found = evaluate(model, np.array([2.5, 3, 1, 1, 1.75]))
    assert found.value == Fraction(5, 2) + 30 + 175
    assert not found.feasible
    assert [(broken.label, broken.index, broken.by) for broken in found.broken] == [
        ("x", (4, 2), Fraction(3, 2)),
        ("x", (4, 3), 2),
        ("y", (0,), Fraction(3, 4)),
        ("le", (5,), Fraction(5, 2)),
        ("ge", (7,), Fraction(187, 2)),
        ("eq", (), Fraction(9, 2)),
    ]


def test_a_fraction_in_an_integer_column_breaks_it():
    builder = ModelBuilder("whole")
    builder.add_columns("x", [0], upper=1)
    model = builder.finish(maximise=True, columns=[], coefficients=[])
    assert evaluate(model, np.array([0.25])).broken == (Broken(label="x", index=(0,), by=Fraction(1, 4)),)


def test_unbounded_columns_are_never_outside():
    builder = ModelBuilder("free")
    builder.add_columns("x", [0, 1], lower=-INFINITY, upper=INFINITY)
    model = builder.finish(maximise=True, columns=[0, 1], coefficients=1)
    for values in (np.array([2**62, -(2**62)]), np.array([1e300, -1e300]), np.array([2**63 - 1, -(2**63)])):
        found = evaluate(model, values)
        assert found.feasible
        assert found.value == sum(int(x) for x in values.tolist())


def test_an_empty_model():
    model = ModelBuilder("empty").finish(maximise=True, columns=[], coefficients=[])
    for kind in (np.int64, np.float64):
        found = evaluate(model, np.zeros(0, dtype=kind))
        assert (found.value, found.broken, found.feasible) == (0, (), True)


@pytest.mark.parametrize("values", [np.zeros(1), np.zeros(3), np.array([np.nan, 0]), np.array([0, np.inf])])
def test_values_that_are_no_assignment_are_refused(values):
    builder = ModelBuilder("two")
    builder.add_columns("x", [0, 1])
    model = builder.finish(maximise=True, columns=[], coefficients=[])
    with pytest.raises(InputError) as caught:
        evaluate(model, values)
    assert caught.value.field == "values"
