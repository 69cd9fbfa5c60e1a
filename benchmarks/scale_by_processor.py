"""Rounds in time at scale by the clock of the processor: as if other programs left the machine alone.

Run with ``python -m benchmarks.scale_by_processor [policy ...] [--jobs N]``, as :mod:`benchmarks.scale`. Every second,
those of the limit too, is one of the processor in the calling process; what a solver process takes does not count.
"""

from __future__ import annotations

import time

time.monotonic = time.perf_counter = time.process_time  # before anything is imported that looks at a clock

from benchmarks.scale import main  # noqa: E402

if __name__ == "__main__":
    main()
