"""Algorithms that have an answer early and better ones later: within a budget, the last one that was found in time."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from math import inf
from typing import Final, TypeVar

from muri_opt.rounds.budget import Budget
from muri_opt.rounds.stopping import TooLate, stopped_after

T = TypeVar("T")
PART: Final = 0.5
"""Of the seconds of a budget, in which better answers are looked for: the last one is yet to be written down."""
Steps = Generator[T, None, T]
"""Yields answers, each better than those before, and returns the last one when it ends by itself."""


def last_of(steps: Steps[T]) -> T:
    """Return what steps return in the end."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            answer: T = end.value
            return answer


def each_of(steps: Steps[T]) -> Iterator[T]:
    """Yield all answers of steps, and last what they return."""
    while True:
        try:
            answer = next(steps)
        except StopIteration as end:
            yield end.value
            return
        yield answer


def first_of(steps: Steps[T]) -> tuple[T, bool]:
    """Return the first answer of steps, and whether it is the last one, too."""
    try:
        return next(steps), False
    except StopIteration as end:
        only: T = end.value
        return only, True
    finally:
        steps.close()


def last_within(steps: Steps[T], budget: Budget) -> T:
    """Return what steps return or, once half of the seconds of a budget is over, the last answer that they yielded.

    The first answer is waited for. After it a step is stopped where it looks at the clock
    (:func:`~muri_opt.rounds.stopping.look_at_clock`). Without a limit in seconds nothing is stopped.
    """
    try:
        answer = next(steps)
    except StopIteration as end:
        only: T = end.value
        return only
    left = budget.until(PART).deadline - time.monotonic()
    if left <= 0:  # not even begun, what would be stopped at its first look at the clock
        steps.close()
        return answer
    try:
        with stopped_after(None if left == inf else left):
            while True:
                answer = next(steps)
    except StopIteration as end:
        answer = end.value
    except TooLate:
        steps.close()
    return answer
