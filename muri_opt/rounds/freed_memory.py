"""Memory of arrays that were freed stays with the process: to hand it back and get it anew takes longer than the work.

The memory of the arrays of a round, some megabytes, is needed again by the next one. The C library of Linux gives back
what it takes to be large, and takes for large what is larger than the largest block that was ever freed, up to 32 MiB.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np

_NOT_LARGE: Final = 31 << 20
"""Bytes, a little less than the most that the C library learns from."""


@cache
def keep_freed_memory() -> None:
    """Let this process keep the memory of arrays up to 31 MiB when they are freed; other C libraries do as they do.

    A block of that size is got and freed, once: nothing is written to it, so it takes no memory.
    """
    np.empty(_NOT_LARGE, dtype=np.uint8)
