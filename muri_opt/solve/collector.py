"""No collection of garbage while somebody waits for an answer.

A round of 10,000 jobs makes some hundred thousand objects, hardly one of which is garbage before the answer is given.
Python's collector goes through them again and again meanwhile, which took a tenth to a third of such a round. Where
nothing says that the answer is due soon, it goes on, but only after more objects than such a round makes.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from functools import partial
from threading import Lock
from types import TracebackType
from typing import Final

from muri_opt.rounds import Limits

LONGEST: Final = 10.0
"""Seconds of the longest limit under which the collector waits, and after which no further call makes it wait on."""


MANY: Final = 1_000_000
"""New objects after which there is a collection under a longer limit, or none."""


def _off() -> Callable[[], object] | None:
    """Switch the collector off; return what undoes that, ``None`` if it was off."""
    if not gc.isenabled():
        return None
    gc.disable()
    return gc.enable


def _rarely() -> Callable[[], object] | None:
    """Let the collector wait for many new objects; return what undoes that, ``None`` if it does already."""
    first, *others = gc.get_threshold()
    if not 0 < first < MANY:
        return None
    gc.set_threshold(MANY, *others)
    return partial(gc.set_threshold, first, *others)


class _Pauses:
    """How many calls, of all threads, want the collector to wait, which ``quiet`` does and says how to undo."""

    def __init__(self, quiet: Callable[[], Callable[[], object] | None]) -> None:
        self._lock, self._count, self._quiet = Lock(), 0, quiet
        self._undo: Callable[[], object] | None = None
        """What makes it as it was before the first of them, if that is another way."""
        self._since = 0.0
        """When the first of them began."""

    def begin(self) -> bool:
        """Let the collector wait; return whether it does: calls that overlap without end must not switch it off."""
        with self._lock:
            if not self._count:
                self._undo, self._since = self._quiet(), time.monotonic()
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
            if not self._count and self._undo is not None:
                self._undo()  # nothing is made after this: a collection is due, and whoever waits would wait for it

    def forget(self) -> None:
        """Forget the calls of the process that this one was forked from: their threads are not here."""
        self._lock = Lock()
        if self._count and self._undo is not None:
            self._undo()
        self._count = 0


_OFF: Final = _Pauses(_off)
_RARELY: Final = _Pauses(_rarely)
os.register_at_fork(after_in_child=_OFF.forget)
os.register_at_fork(after_in_child=_RARELY.forget)


class collector_waits:  # noqa: N801 - it is used like a function
    """Let Python's collector wait while an answer is worked out that is due soon; one that was off stays off.

    Under a longer limit, or none, there are fewer collections.

    A generator would not do: how it ends makes an object, and with it the collection that is due by then.
    """

    __slots__ = ("_begun", "_pauses")

    def __init__(self, limits: Limits) -> None:
        soon = limits.seconds is not None and limits.seconds <= LONGEST
        self._pauses, self._begun = _OFF if soon else _RARELY, False

    def __enter__(self) -> None:
        self._begun = self._pauses.begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._begun:
            self._pauses.end()
