"""No collection of garbage while somebody waits for an answer.

A round of 10,000 jobs makes some hundred thousand objects, hardly one of which is garbage before the answer is given.
Python's collector goes through them again and again meanwhile, which took a tenth to a third of such a round.
"""

from __future__ import annotations

import gc
import os
import time
from threading import Lock
from types import TracebackType
from typing import Final

from muri_opt.rounds import Limits

LONGEST: Final = 10.0
"""Seconds of the longest limit under which the collector waits, and after which no further call makes it wait on."""


class _Pauses:
    """How many calls, of all threads, want the collector to wait."""

    def __init__(self) -> None:
        self._lock, self._count = Lock(), 0
        self._was_on = False
        """Whether it was on before the first of them."""
        self._since = 0.0
        """When the first of them began."""

    def begin(self) -> bool:
        """Let the collector wait; return whether it does: calls that overlap without end must not switch it off."""
        with self._lock:
            if not self._count:
                self._was_on, self._since = gc.isenabled(), time.monotonic()
                gc.disable()
            elif time.monotonic() - self._since > LONGEST:
                return False
            self._count += 1
            return True

    def end(self) -> None:
        """Let the collector go on after the last call."""
        with self._lock:
            if not self._count:  # this process was forked from within the call
                return
            self._count -= 1
            if not self._count and self._was_on:
                gc.enable()  # nothing is made after this: a collection is due, and whoever waits would wait for it

    def forget(self) -> None:
        """Forget the calls of the process that this one was forked from: their threads are not here."""
        self._lock = Lock()
        if self._count and self._was_on:
            gc.enable()
        self._count = 0


_PAUSES: Final = _Pauses()
os.register_at_fork(after_in_child=_PAUSES.forget)


class collector_waits:  # noqa: N801 - it is used like a function
    """Let Python's collector wait while an answer is worked out that is due soon; one that was off stays off.

    A generator would not do: how it ends makes an object, and with it the collection that is due by then.
    """

    __slots__ = ("_begun", "_limits")

    def __init__(self, limits: Limits) -> None:
        self._limits, self._begun = limits, False

    def __enter__(self) -> None:
        seconds = self._limits.seconds
        self._begun = seconds is not None and seconds <= LONGEST and _PAUSES.begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._begun:
            _PAUSES.end()
