"""No collection of garbage while somebody waits for an answer.

A round of 10,000 jobs makes some hundred thousand objects, hardly one of which is garbage before the answer is given.
Python's collector goes through them again and again meanwhile, which took a tenth to a third of such a round.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
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
                gc.enable()

    def forget(self) -> None:
        """Forget the calls of the process that this one was forked from: their threads are not here."""
        self._lock = Lock()
        if self._count and self._was_on:
            gc.enable()
        self._count = 0


_PAUSES: Final = _Pauses()
os.register_at_fork(after_in_child=_PAUSES.forget)


@contextmanager
def collector_waits(limits: Limits) -> Iterator[None]:
    """Let Python's collector wait while an answer is worked out that is due soon; one that was off stays off."""
    if limits.seconds is None or limits.seconds > LONGEST or not _PAUSES.begin():
        yield
        return
    try:
        yield
    finally:
        _PAUSES.end()
