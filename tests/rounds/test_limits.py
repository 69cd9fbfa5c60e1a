"""Limits, terminations and gaps: what is allowed, and what is refused."""

from __future__ import annotations

from copy import copy
from math import inf, nan

import pytest

from muri_opt import InputError, Limit, Limits, Reason, Termination
from muri_opt.rounds import relative_gap


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("seconds", -1),
        ("seconds", nan),
        ("seconds", inf),
        ("seconds", "1"),
        ("work", 0),
        ("work", -1),
        ("work", nan),
        ("work", inf),
        ("work", "1"),
        ("gap", -0.1),
        ("gap", None),
        ("threads", 0),
        ("threads", 1.5),
        ("threads", 1025),
        ("seed", -1),
        ("seed", 2**31),
        ("seed", True),
    ],
)
def test_a_limit_out_of_range_is_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(InputError) as refused:
        Limits(**{field: value})
    assert refused.value.field == f"limits.{field}"


def test_other_seconds_keep_the_other_limits() -> None:
    limits = Limits(seconds=3, gap=0.5, threads=2, seed=7)
    assert limits.with_seconds(None) == Limits(seconds=None, gap=0.5, threads=2, seed=7)
    assert isinstance(limits.seconds, float)


def test_seconds_are_ten_unless_work_is_given() -> None:
    assert (Limits().seconds, Limits().work) == (10.0, None)
    assert (Limits(work=3).seconds, Limits(work=3).work) == (None, 3.0)
    assert Limits(work=3, seconds=5).seconds == 5.0
    assert Limits(seconds=None).nothing_left is False
    assert copy(Limits(work=3)) == Limits(work=3)


@pytest.mark.parametrize("reason", list(Reason))
@pytest.mark.parametrize("limit", [None, *Limit])
def test_a_limit_belongs_to_feasible_and_no_solution_only(reason: Reason, limit: Limit | None) -> None:
    if (reason in (Reason.FEASIBLE, Reason.NO_SOLUTION)) == (limit is not None):
        assert Termination(reason=reason, limit=limit).limit is limit
    else:
        with pytest.raises(InputError) as refused:
            Termination(reason=reason, limit=limit)
        assert refused.value.field == "termination.limit"


def test_the_gap_is_relative_to_the_value() -> None:
    assert relative_gap(100, 110) == 0.1
    assert relative_gap(0, 3) == 3.0
    assert relative_gap(-4, -2) == 0.5
    assert relative_gap(7, 7) == 0.0
    assert relative_gap(2**2000, 2**2000 + 2**1999) == 0.5
    assert relative_gap(1, 2**2000) is None
