"""Axes of charts: units of time, round marks, places."""

import pytest
from hypothesis import given, strategies as st

from muri_opt.report.charts.scales import duration, log_ticks, logarithmic, power_ticks, straight, ticks, time_unit


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (0.01, "0.01 s"),
        (0.34211, "0.34 s"),
        (1.234e-5, "0.000012 s"),
        (0.999, "1 s"),
        (90, "1.5 min"),
        (60, "1 min"),
        (7200, "2 h"),
        (1e6, "11.6 d"),
    ],
)
def test_times_in_words(seconds, said):
    assert duration(seconds) == said


def test_units_and_round_marks():
    assert [time_unit(span).name for span in (0, 119, 120, 7200, 2e5)] == [
        "seconds",
        *("seconds", "minutes", "hours", "days"),
    ]
    assert ticks(0, 5) == [0]
    assert ticks(1, 5) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
    assert ticks(860, 5) == [0, 200, 400, 600, 800]
    assert ticks(9.9, 1) == [0]


def test_logarithmic_marks_enclose_the_times():
    assert log_ticks(70, 250) == [60, 120, 300]
    assert log_ticks(10, 10) == [10, 30]
    assert log_ticks(1, 1e5) == [1, 10, 60, 600, 3600, 36000, 86400, 864000]
    assert log_ticks(0.001, 0.001) == [0.001, 0.01]
    assert log_ticks(0.02, 25) == [0.01, 0.1, 1, 10, 60]


@given(st.floats(1e-3, 1e12), st.floats(1, 1e6))
def test_marks_enclose_whatever_times(low, ratio):
    marks = log_ticks(low, low * ratio)
    assert marks[0] <= low
    assert low * ratio <= marks[-1]
    assert marks == sorted(set(marks))


def test_places_on_axes():
    assert straight(0, 10, 100, 0)(2.5) == 75
    assert straight(3, 3, 7, 9)(3) == 7
    assert logarithmic(1, 100, 0, 50)(10) == 25


@pytest.mark.parametrize(
    ("high", "marks"),
    [
        (1, [1, 2]),
        (2, [1, 2]),
        (2.1, [1, 2, 5]),
        (60, [1, 2, 5, 10, 20, 50, 100]),
        (501, [1, 10, 100, 1000]),
        (1e9, [10.0**k for k in range(10)]),
        (2e9, [10.0**k for k in range(0, 11, 2)]),
    ],
)
def test_powers_from_1_enclose_ratios(high, marks):
    assert power_ticks(high) == marks
