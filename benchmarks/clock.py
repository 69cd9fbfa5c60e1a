"""The clock of the benchmarks."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def median(action: Callable[[], object], repeats: int = 5, *, first_counts: bool = False) -> float:
    """Return the median wall time of ``action``; a first call, unless it counts, only warms up."""
    if not first_counts:
        action()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
    return statistics.median(times)
