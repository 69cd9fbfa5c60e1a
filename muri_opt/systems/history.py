"""What jobs have had so far, as a policy is told that is asked when it wants to decide again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.quantities import MICROSECONDS_PER_SECOND

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JobHistory:
    """GPUs, attained GPU-seconds, executed and waiting seconds of some jobs: an entry per job."""

    gpus: Ints
    attained: Floats
    executed: Floats
    waited: Floats

    @property
    def executed_microseconds(self) -> Ints:
        """The executed time in whole numbers."""
        return np.rint(self.executed * MICROSECONDS_PER_SECOND).astype(np.int64)

    @property
    def waited_microseconds(self) -> Ints:
        """The waiting time in whole numbers."""
        return np.rint(self.waited * MICROSECONDS_PER_SECOND).astype(np.int64)


def soonest(found: Iterable[int]) -> float:
    """Return the seconds until the first of some moments in microseconds that is still ahead; infinity for none."""
    ahead = [moment for moment in found if moment > 0]
    return min(ahead) / MICROSECONDS_PER_SECOND if ahead else inf


def end_of_patience(patience: int, waiting: JobHistory) -> float:
    """Return the seconds until the next waiting job has waited for longer than so many microseconds."""
    # Some policies ask for more than the patience, some for as much: a microsecond more is both.
    return soonest(patience + 1 - waited for waited in waiting.waited_microseconds.tolist())
