"""A budget: what is left of limits, by the clock and by counting."""

from __future__ import annotations

import time

import pytest

from muri_opt import Limit, Limits
from muri_opt.rounds import Budget, unlimited


def test_work_is_over_when_it_is_spent_and_parts_count_into_the_whole() -> None:
    budget = Budget(limits=Limits(work=10.0, gap=0.5, seed=3))
    half, rest = budget.until(0.5), budget.share(0.8)
    half.spend(4.0)
    assert (budget.spent, half.spent, rest.spent) == (4.0, 4.0, 4.0)
    assert budget.left() == Limits(work=6.0, gap=0.5, seed=3)
    assert not half.over()
    later = budget.share(0.5)
    assert (later.limits.work, later.spent) == (3.0, 0.0)
    budget.spend(1.0)
    assert half.over()
    assert half.limit is Limit.WORK
    assert later.left().work == pytest.approx(2.0)
    assert not budget.over()
    budget.spend(5.0)
    assert budget.over()
    assert later.over()


def test_without_seconds_no_clock_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    budget = Budget(limits=Limits(work=1.0))

    def refuse() -> float:
        raise AssertionError("somebody looked at the clock")

    monkeypatch.setattr(time, "monotonic", refuse)
    assert not budget.over()
    assert budget.until(0.5).left().work == 0.5


def test_seconds_run_out_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    budget = Budget(limits=Limits(seconds=8.0, work=5.0))
    now[0] = 105.0
    assert budget.left().seconds == 3.0
    assert budget.until(0.5).over()
    assert budget.until(0.5).limit is Limit.TIME
    assert budget.share(0.5).left().seconds == 1.5
    now[0] = 108.0
    assert budget.over()


def test_a_budget_without_limits_is_never_over() -> None:
    budget = unlimited()
    budget.spend(1e12)
    assert not budget.over()
    assert not budget.limited
    assert budget.left() == Limits(seconds=None)
