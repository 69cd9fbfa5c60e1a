"""Functions that remember their last answers: one round is built, solved, decoded and verified from the same parts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import update_wrapper
from operator import is_
from typing import Final, Generic, TypeVar, TypeVarTuple

Ts = TypeVarTuple("Ts")
R = TypeVar("R")
ANSWERS: Final = 4
"""Answers that :func:`recalled` keeps: one solve has evidence from the algorithm, a search, the relaxation and the
program."""


class Recalled(Generic[*Ts, R]):
    """A function of objects that do not change, with its last answers.

    An answer is recalled for equal arguments. Of a type that can be changed (one without a hash) only the very object
    is the same: the caller must not have changed it. Arguments and answers that are kept live as long as they are.
    """

    def __init__(self, function: Callable[[*Ts], R], answers: int) -> None:
        self._function = function
        self._kept: deque[tuple[tuple[*Ts], R]] = deque(maxlen=answers)
        update_wrapper(self, function)

    @property
    def kept(self) -> tuple[tuple[tuple[*Ts], R], ...]:
        """The arguments and answers that are kept, the latest last."""
        return tuple(self._kept)

    def recall(self, *given: *Ts) -> R | None:
        """Return the answer if it is kept for these very objects, else ``None``."""
        return next((found for known, found in self.kept if all(map(is_, known, given))), None)

    def __call__(self, *given: *Ts) -> R:
        """Return the answer, from a call before if there was one like this."""
        if self._kept:
            known, found = self._kept[-1]
            if all(map(is_, known, given)):
                return found
        kept = self.kept
        for known, found in kept:
            if all(map(is_, known, given)):
                return found
        for known, found in kept:
            if all(map(_same, known, given)):
                self._kept.append((given, found))  # comparing large arguments takes long: next time they are the same
                return found
        answer = self._function(*given)
        self._kept.append((given, answer))
        return answer


def recalled(function: Callable[[*Ts], R]) -> Recalled[*Ts, R]:
    """Return the function with a memory of its last ``ANSWERS`` answers."""
    return Recalled(function, ANSWERS)


def last_recalled(function: Callable[[*Ts], R]) -> Recalled[*Ts, R]:
    """Return the function with a memory of its last answer alone, for answers that are large."""
    return Recalled(function, 1)


def _same(known: object, given: object) -> bool:
    if known is given:
        return True
    can_change = type(given).__hash__ is None
    return not can_change and bool(known == given)
