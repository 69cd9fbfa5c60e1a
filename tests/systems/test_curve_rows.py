"""Many scaling tables at once: the speeds of each read by itself, and quotients larger than a machine word."""

from fractions import Fraction
from math import ceil, floor
from random import Random

import numpy as np
from hypothesis import given, strategies as st

from muri_opt.systems.curve_rows import CurveRows, Units
from muri_opt.systems.curves import MOST_SPEED, scaling_table
from muri_opt.systems.whole_quotients import MOST_QUOTIENT, quotient_down, quotient_up

RATES = st.one_of(
    st.floats(1e-6, 1e9),
    st.floats(1e-300, 1e12),
    st.integers(1, MOST_SPEED).map(lambda half: (half + 0.5) / 10),  # rounded to the even one of two neighbours
    st.sampled_from([1.0, 2.5, 0.1, 1e12, 1073741824.4, 1073741825.0]),
)
TABLES = st.dictionaries(st.one_of(st.integers(1, 9), st.integers(1, 300)), RATES, min_size=1, max_size=5)


@given(st.lists(TABLES, min_size=1, max_size=6), st.booleans(), st.integers(0, 1 << 40))
def test_tables_read_together_have_the_speeds_and_periods_that_each_has_by_itself(drawn, powers, time):
    tables = [dict(sorted(table.items())) for table in drawn]
    tables += tables[len(tables) // 2 :]  # the very same ones again
    rows = CurveRows.of(tables)
    read = rows.plain.tolist()
    alone = [scaling_table(table) if well else None for table, well in zip(tables, read, strict=True)]
    assert rows.length.tolist() == [len(one.speeds) if one else 0 for one in alone]
    assert [(one.digits, min(one.speeds[1:])) for one in alone if one] == [
        *zip(rows.digits[rows.plain].tolist(), rows.slowest[rows.plain].tolist(), strict=True)
    ]
    for gpus in range(-1, int(rows.length.max()) + 1):
        expected = [one.speeds[gpus] if one and 0 < gpus < len(one.speeds) else 0 for one in alone]
        assert rows.speeds(np.full(len(tables), gpus)).tolist() == expected
    begin = np.where(rows.plain, np.cumsum(rows.length) - rows.length, -1)
    numbers = np.full(int(rows.length.sum()), 0)
    units = Units(np.full(len(tables), time), np.full(len(tables), float(time)))
    rows.write_periods(numbers, begin, units, powers=powers)
    assert numbers.tolist() == [
        -(-time // speed) if speed and not (powers and gpus & (gpus - 1)) else 0
        for one in alone
        if one
        for gpus, speed in enumerate(one.speeds)
    ]


def test_periods_of_a_table_that_is_not_asked_for_are_not_written():
    rows = CurveRows.of([{1: 1.0, 4: 2.0}, {1: 1.0, 2: 2.0}])
    numbers = np.full(4, -5)
    rows.write_periods(numbers, np.array([-1, 1]), Units(np.array([9, 10**9]), np.array([9.0, 1e9])), powers=False)
    assert numbers.tolist() == [-5, -5, 10, 5]


def test_usual_tables_are_all_read_together():
    draw = Random(3)
    tables = [
        {gpus: draw.uniform(0.01, 100) * gpus ** draw.uniform(0.4, 1) for gpus in (1, 2, 5, 8, 64)} for _ in range(500)
    ]
    assert CurveRows.of(tables).plain.all()


def test_what_is_refused_is_left_to_be_read_by_itself():
    tables = [{2: 1.0}, {1: 1.0, 2: 1.5}, {4: 1.0, 1: 0.5}]
    rows = CurveRows.of(tables)
    assert rows.plain.tolist() == [False, True, False]
    assert rows.speeds(np.array([2, 2, 1])).tolist() == [0, scaling_table(tables[1]).speeds[2], 0]


@given(st.lists(st.tuples(st.integers(1, 1 << 40), st.integers(1, 1 << 40), st.integers(1, 1 << 59)), min_size=1))
def test_quotients_of_products_beyond_a_word_are_exact(drawn):
    some = [(a, b, c) for a, b, c in drawn if a * b < c * MOST_QUOTIENT] or [(3, 5, 2)]
    first, second, divisor = np.array(some, dtype=np.int64).T
    about = first.astype(np.float64) * second
    exact = [Fraction(a * b, c) for a, b, c in some]
    assert quotient_down(first * second, about, divisor).tolist() == [floor(one) for one in exact]
    assert quotient_up(first * second, about, divisor).tolist() == [ceil(one) for one in exact]


def test_quotients_that_come_out_even_are_not_missed_by_one():
    draw = Random(7)
    some = [(draw.randrange(1, MOST_QUOTIENT), draw.randrange(1, 1 << 30)) for _ in range(2000)]
    for change in (-1, 0, 1):
        whole = [quotient * divisor + change for quotient, divisor in some]
        words = np.array([one % 2**64 for one in whole], dtype=np.uint64).view(np.int64)
        about, divisor = np.array(whole, dtype=np.float64), np.array([one for _, one in some], dtype=np.int64)
        assert quotient_down(words, about, divisor).tolist() == [a // b for a, (_, b) in zip(whole, some, strict=True)]
        assert quotient_up(words, about, divisor).tolist() == [
            -(-a // b) for a, (_, b) in zip(whole, some, strict=True)
        ]


def test_quotients_of_tables_are_those_of_their_rows():
    draw = Random(11)
    divisor = np.array([[draw.randrange(1, 1 << 30)] for _ in range(40)], dtype=np.int64)
    quotient = np.array([[draw.randrange(1, MOST_QUOTIENT) for _ in range(25)] for _ in range(40)], dtype=np.int64)
    for change in (-1, 0, 1):
        words = quotient * divisor + change  # beyond a word, as the sums below are not
        whole = quotient.astype(object) * divisor.astype(object) + change
        about = whole.astype(np.float64)
        assert quotient_down(words, about, divisor).tolist() == (whole // divisor.astype(object)).tolist()
        assert quotient_up(words, about, divisor).tolist() == (-(-whole // divisor.astype(object))).tolist()
