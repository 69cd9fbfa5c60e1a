"""Times in units people read, and never another time than the one that was meant."""

import re

import pytest
from hypothesis import given, strategies as st

from muri_opt.rounds.readable_time import duration, moment

UNITS = {"d": 86_400, "h": 3600, "min": 60, "s": 1}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.5, "0.5 s"),
        (45, "45 s"),
        (59.999999, "59.999999 s"),
        (60, "1 min"),
        (90, "1 min 30 s"),
        (3599.6, "1 h"),
        (12_000, "3 h 20 min"),
        (86_399.9, "1 d"),
        (100_000, "1 d 3 h 47 min"),
        (10_000_000_000, "115,740 d 17 h 47 min"),
        (-90, "-1 min 30 s"),
    ],
)
def test_times_are_told_in_units_people_read(seconds, text):
    assert duration(seconds) == text


def test_whole_seconds_can_be_asked_for():
    assert [duration(seconds, 0) for seconds in (0.4, 10.2, 20, 59.4)] == ["0 s", "10 s", "20 s", "59 s"]


@given(st.floats(0, 1e9))
def test_what_is_told_is_the_time_to_half_of_its_last_unit(seconds):
    parts = re.findall(r"([\d.,]+) (d|h|min|s)", duration(seconds))
    told = sum(float(number.replace(",", "")) * UNITS[unit] for number, unit in parts)
    assert abs(told - seconds) <= (1e-6 if seconds < 60 else 0.5 if seconds < 86_400 else 30)
    assert [UNITS[unit] for _, unit in parts] == sorted({UNITS[unit] for _, unit in parts}, reverse=True)


def test_moments_from_1970_are_dates_and_others_are_times_since_the_start():
    assert moment(1_767_323_045) == "2026-01-02 03:04:05 UTC"
    assert moment(946_684_800) == "2000-01-01 00:00:00 UTC"
    assert moment(946_684_799) == "10,957 d"
    assert moment(7100) == "1 h 58 min 20 s"
    assert moment(253_402_300_800).startswith("2,932,897 d")
