"""Answers that get better and better: the last one that was found in time."""

from __future__ import annotations

from itertools import repeat

import pytest

from muri_opt.rounds import Budget, Limits
from muri_opt.rounds.anytime import Steps, first_of, last_of, last_within
from muri_opt.rounds.budget import unlimited
from muri_opt.rounds.stopping import TooLate, look_at_clock, stopped_after

OVER = Budget(limits=Limits(seconds=1e-9), began=0.0)


def steps(closed: list[str], *, endless: bool) -> Steps[str]:
    """Yield two answers; then look at the clock for ever, or return a third one."""
    try:
        yield "first"
        look_at_clock()
        yield "second"
        while endless:
            look_at_clock()
        return "last"
    finally:
        closed.append("closed")


def at_once() -> Steps[str]:
    """Return an answer without any before it."""
    yield from ()
    return "only"


def test_the_first_answer_ends_the_steps_and_says_whether_there_are_others() -> None:
    closed: list[str] = []
    assert first_of(steps(closed, endless=True)) == ("first", False)
    assert closed == ["closed"]
    assert first_of(at_once()) == ("only", True)


def test_without_a_limit_the_last_answer_is_taken() -> None:
    assert last_of(steps([], endless=False)) == "last"
    assert last_within(steps([], endless=False), unlimited()) == "last"
    assert last_within(steps([], endless=False), Budget(limits=Limits(seconds=None, work=1e-9))) == "last"


def test_a_step_that_takes_for_ever_is_stopped_and_ended() -> None:
    closed: list[str] = []
    assert last_within(steps(closed, endless=True), OVER) in ("first", "second")
    assert closed == ["closed"]


def test_an_answer_without_any_before_it_is_waited_for() -> None:
    assert last_within(at_once(), OVER) == "only"
    assert last_of(at_once()) == "only"


def test_who_began_it_all_may_stop_the_first_answer() -> None:
    def late() -> Steps[str]:
        for _ in repeat(None):
            look_at_clock()
        yield "never"
        return "never"

    with stopped_after(0.0), pytest.raises(TooLate):
        last_within(late(), unlimited())
