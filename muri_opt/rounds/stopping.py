"""How an algorithm that knows no budget is stopped all the same: its steps look at the clock of their thread.

Who begins the algorithm says with :func:`stopped_after` how many seconds of the processor it may use. Its steps, deep
inside as they may be, call :func:`look_at_clock`, which raises :class:`TooLate` once they are used up. An algorithm
leaves nothing half-done behind: it returns a decision or nothing. Outside such a block, as under a limit of work or
none, nothing is ever raised. Seconds of the processor are what expectations are made of, too: other programs on the
machine stop nobody.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from typing import Final


class TooLate(Exception):  # noqa: N818 - it is no error that an algorithm does not end in time
    """An algorithm has used up its time; whoever began it takes another answer."""


class _Stop(threading.local):
    """When the algorithm of this thread is stopped, by the thread's own clock."""

    until: float = inf
    next_look: float = inf
    """Before this moment of ``time.monotonic`` the thread's clock cannot say that its time is over."""


_STOP: Final = _Stop()


@contextmanager
def stopped_after(seconds: float | None) -> Iterator[None]:
    """Let steps inside raise :class:`TooLate` after so many seconds of the processor; ``None`` stops nothing."""
    before = _STOP.until, _STOP.next_look
    _STOP.until = inf if seconds is None else time.thread_time() + seconds
    _STOP.next_look = inf if seconds is None else time.monotonic() + seconds
    try:
        yield
    finally:
        _STOP.until, _STOP.next_look = before


def look_at_clock() -> None:
    """Raise :class:`TooLate` if the time of the algorithm that calls this is used up.

    The clock of the thread takes 0.5 to 5 microseconds, that of the machine a tenth of one. A thread uses no more of
    the processor than passes meanwhile, so its own clock is asked only when that much has passed.
    """
    if _STOP.next_look < inf and time.monotonic() >= _STOP.next_look:
        left = _STOP.until - time.thread_time()
        if left < 0:
            raise TooLate
        _STOP.next_look = time.monotonic() + left
