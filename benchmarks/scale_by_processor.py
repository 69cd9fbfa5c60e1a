"""Rounds in time at scale by the clock of the processor: as if other programs left the machine alone.

Run with ``python -m benchmarks.scale_by_processor [policy ...] [--jobs N]``, as :mod:`benchmarks.scale`. Every second,
those of the limit too, is one of the processor in the calling process; what a solver process takes does not count.
"""

from __future__ import annotations

import time
from typing import Final

FINENESS: Final = 1e-3
"""Seconds by which what a search takes for ``time.monotonic`` may be late."""


class ProcessorClock:
    """Seconds of the processor, asked for only where they can have changed by more than :data:`FINENESS`.

    The system takes up to 5 microseconds to tell them, 50 times as long as for the time of day: searches that look at
    the clock in each of their steps would be measured to take longer than they do.
    """

    def __init__(self) -> None:
        self._passing = time.monotonic
        self._asked, self._seconds = self._passing(), time.process_time()

    def __call__(self) -> float:
        """Return the seconds of the processor, those of a moment ago where that is enough."""
        now = self._passing()
        if now - self._asked > FINENESS:
            self._asked, self._seconds = now, time.process_time()
        return self._seconds


time.monotonic = ProcessorClock()  # before anything is imported that looks at a clock
time.perf_counter = time.process_time

from benchmarks.scale import main  # noqa: E402

if __name__ == "__main__":
    main()
