"""How jobs share GPUs under a policy, and the period of one group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from muri_opt.rounds import Job
from muri_opt.verify.amounts import micro, word_for
from muri_opt.verify.muri.periods import FOUR_SLOTS, Ints, group_periods

NO_SLOWDOWN = (Fraction(1),) * 4
AUTHORS_SLOWDOWN = (Fraction(1), Fraction(1330, 1015), Fraction(1500, 1015), Fraction(1370, 1015))
"""By how much groups of 1 to 4 jobs are slowed down in the authors' simulator; 1.015 is what it adds to a job alone."""
QUEUE_SLOWDOWN = (*AUTHORS_SLOWDOWN[:3], Fraction(1300, 1015))
"""The same where the authors group in queue order, without a matching."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """Pattern of the slots, slow-down by group size, whether the worst order of a group counts instead of the best,
    what a group is worth, and whether its jobs may have unequal GPU counts.
    """

    pattern: str = "cyclic"
    slowdowns: tuple[Fraction, ...] = NO_SLOWDOWN
    worst: bool = False
    objective: str = "efficiency"
    mixed: bool = False

    def most_jobs(self, stages: int) -> int:
        """Return how many jobs of so many stages can share: one per slot; four slots are for three stages only."""
        if self.pattern in FOUR_SLOTS:
            return 4 if stages == 3 else 1
        return max(1, stages)

    def slowdown(self, size: int) -> Fraction:
        """Return by how much a group of so many jobs is slowed down."""
        return self.slowdowns[size - 1]

    def period(self, jobs: Sequence[Job], order: Sequence[int] | None = None) -> int:
        """Return the period of a group in microseconds, not slowed down, over all orders or only the given one."""
        return int(group_periods(self.pattern, stages_of(jobs)[None], worst=self.worst, order=order)[0])


def stages_of(jobs: Sequence[Job]) -> Ints:
    """Return the stage times of jobs in whole microseconds, a row per job; as many 0 where a job does not say them."""
    count = max((len(job.stage_seconds or ()) for job in jobs), default=0)
    rows = [[micro(seconds) for seconds in job.stage_seconds or (0.0,) * count] for job in jobs]
    longest = max((sum(row) for row in rows), default=0)
    return np.array(rows, dtype=word_for(8 * longest)).reshape(len(jobs), count)
