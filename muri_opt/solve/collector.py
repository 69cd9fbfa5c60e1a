"""No collection of garbage while somebody waits for an answer.

A round of 10,000 jobs makes some hundred thousand objects, hardly one of which is garbage before the answer is given.
Python's collector goes through them again and again meanwhile, which took a tenth to a third of such a round.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final

from muri_opt.rounds import Limits

LONGEST: Final = 10.0
"""Seconds of the longest limit under which the collector waits: it must not wait for ever."""


class _Pauses:
    """How many calls, of all threads, want the collector to wait."""

    def __init__(self) -> None:
        self._lock, self._count = Lock(), 0
        self._was_on = False
        """Whether it was on before the first of them."""

    def begin(self) -> None:
        with self._lock:
            if not self._count:
                self._was_on = gc.isenabled()
                gc.disable()
            self._count += 1

    def end(self) -> None:
        with self._lock:
            self._count -= 1
            if not self._count and self._was_on:
                gc.enable()


_PAUSES: Final = _Pauses()


@contextmanager
def collector_waits(limits: Limits) -> Iterator[None]:
    """Let Python's collector wait while an answer is worked out that is due soon; one that was off stays off."""
    if limits.seconds is None or limits.seconds > LONGEST:
        yield
        return
    _PAUSES.begin()
    try:
        yield
    finally:
        _PAUSES.end()
