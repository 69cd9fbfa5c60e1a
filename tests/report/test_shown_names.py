"""Names and numbers as people see them."""

import pytest
from hypothesis import given, strategies as st

from muri_opt.report.format import amount, count, cut, integer, printable, width
from muri_opt.rounds.percent import percent


@given(st.text())
def test_printable_text_stays_on_its_line(text):
    assert printable(text).isprintable()
    assert printable(text) == text or not text.isprintable()


@given(st.text(), st.integers(0, 40))
def test_cut_text_fits(text, columns):
    shown = cut(text, columns)
    assert width(shown) <= columns
    assert shown == printable(text) or shown.endswith("…") or columns == 0


@pytest.mark.parametrize(("text", "columns"), [("abc", 3), ("機械", 4), ("e\u0301", 1), ("", 0)])
def test_width_counts_columns_of_a_terminal(text, columns):
    assert width(text) == columns


def test_counts():
    assert [count(number, "job") for number in (0, 1, 2, 1000)] == ["0 jobs", "1 job", "2 jobs", "1,000 jobs"]


def test_amounts():
    assert [amount(number) for number in (0, 64.0, 0.5, 1024, 2.0004)] == ["0", "64", "0.5", "1,024", "2"]
    assert amount(75.06, 1) == "75.1"


def test_whole_numbers_nobody_would_read_are_powers_of_two():
    assert [integer(number) for number in (None, 0, -7, 10**29)] == ["none", "0", "-7", str(10**29)]
    assert integer(3 << 20_000) == "about 2^20001"
    assert integer(-(1 << 20_000)) == "about -2^20000"


def test_a_gap_is_0_only_if_it_is():
    shown = [percent(gap) for gap in (None, 0.0, 1e-9, 0.0001, 0.0569, 3.0)]
    assert shown == ["unknown", "0 %", "below 0.01 %", "0.01 %", "5.69 %", "300.00 %"]
