"""What service a job is expected to need yet that has had some, by the service of jobs that ended."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muri_opt.verify.amounts import word_for


class ExpectedService:
    """The ``samples`` of service, in any order; those that are longer than what a job has had say what it may need.

    >>> ExpectedService([10, 40, 20]).of(15)
    10
    """

    def __init__(self, samples: Sequence[int]) -> None:
        self._line = sorted(samples)
        word = word_for(2 * len(samples) * max(samples, default=0))
        self._ends: NDArray[Any] = np.array(self._line, dtype=word)
        self._sums: NDArray[Any] = np.concatenate([np.zeros(1, dtype=word), np.cumsum(self._ends)])
        self._no_longer = np.array([bisect_right(self._line, end) for end in self._line], dtype=np.int64)
        """How many samples are no longer than each."""

    def of(self, had: int) -> int:
        """Return the least service that an end costs, of jobs as long as those samples that are longer than it had.

        Of jobs that run until the service of one of these samples, each takes up to that, or its own end; what all
        take is shared by those that have ended. Where no sample is longer, it is as long again.
        """
        first = bisect_right(self._line, had)
        ends = self._ends[first:]
        if not len(ends):
            return had
        over = np.arange(1, len(ends) + 1).astype(self._ends.dtype)
        spent = self._sums[first + 1 :] - self._sums[first] - had * over + (len(ends) - over) * (ends - had)
        return int((spent // (self._no_longer[first:] - first)).min())
