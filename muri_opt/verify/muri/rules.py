"""How jobs share GPUs, and the period of one group: the settings of the chapter *grouping*."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from muri_opt.rounds import INFORMATION, Job
from muri_opt.rounds.field_groups import PLACES, STATES
from muri_opt.verify.amounts import micro, word_for
from muri_opt.verify.muri.free import OWN
from muri_opt.verify.muri.periods import FOUR_SLOTS, Ints, group_periods
from muri_opt.verify.settings import Setting, one_of

NO_SLOWDOWN = (Fraction(1),) * 4
AUTHORS_SLOWDOWN = (Fraction(1), Fraction(1330, 1015), Fraction(1500, 1015), Fraction(1370, 1015))
"""By how much groups of 1 to 4 jobs are slowed down in the authors' simulator; 1.015 is what it adds to a job alone."""
QUEUE_SLOWDOWN = (*AUTHORS_SLOWDOWN[:3], Fraction(1300, 1015))
"""The same where the authors group in queue order, without a matching."""
SLOWDOWNS: Final = {"none": NO_SLOWDOWN, "muri": AUTHORS_SLOWDOWN, "muri-without-blossom": QUEUE_SLOWDOWN}
UNITS: Final = {"efficiency": 1_000_000, "gpu-time": 1_000_000, "progress": 1_000, "completion": 1}
"""By the objective, how often the ratio that it counts is counted; weights by *completion* are millionths already."""
SETTINGS: Final[Mapping[str, Setting]] = {
    "order": one_of("srsf", "las", "fifo", "srtf"),
    "group": one_of("4", "3", "2", "1"),
    "pattern": one_of("cyclic", "muri-cyclic", "muri-4slot", "muri-4slot-steady"),
    "slowdown": one_of(*SLOWDOWNS),
    "ordering": one_of("best", "worst"),
    "objective": one_of("efficiency", "gpu-time", "progress", "completion"),
    "sizes": one_of("equal", "mixed"),
    "restarts": one_of("ignore", "pay"),
    "horizon": Setting(usual="600", least=1e-6),
    "run": one_of("lock-step", "free", "best"),
    "own": one_of(*OWN),
}
HONOURED: Final = INFORMATION | PLACES | STATES | {"job.priority", "tenant.parent"}
"""The fields of format 2 that these rules check."""
_SURELY_SHORT: Final = 1 << 50
"""Times below this, in microseconds, fit a machine word many times over."""
MEASURED: Final = "round.together"
"""The one that they check besides where groups may run freely."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """Pattern of the slots, slow-down by group size, whether the worst order of a group counts instead of the best,
    what a group is worth, and whether its jobs may have unequal GPU counts.

    ``order`` ranks jobs where their rank counts, and no group is larger than ``largest_group``. Where restarts are
    paid, a group that changes running jobs works only what their restarts leave of ``horizon`` microseconds. ``run`` is
    ``lock-step``, ``free`` or ``best``, and ``own`` names the resources of which every job then has its own part.
    """

    order: str = "srsf"
    largest_group: int = 4
    pattern: str = "cyclic"
    slowdowns: tuple[Fraction, ...] = NO_SLOWDOWN
    worst: bool = False
    objective: str = "efficiency"
    mixed: bool = False
    horizon: int | None = None
    run: str = "lock-step"
    own: str = "cpu"

    @classmethod
    def of(cls, chosen: Mapping[str, str]) -> Sharing:
        """Return what the settings of the chapter say."""
        return cls(
            order=chosen["order"],
            largest_group=int(chosen["group"]),
            pattern=chosen["pattern"],
            slowdowns=SLOWDOWNS[chosen["slowdown"]],
            worst=chosen["ordering"] == "worst",
            objective=chosen["objective"],
            mixed=chosen["sizes"] == "mixed",
            horizon=micro(float(chosen["horizon"])) if chosen["restarts"] == "pay" else None,
            run=chosen["run"],
            own=chosen["own"],
        )

    def most_jobs(self, stages: int) -> int:
        """Return how many jobs of so many stages can share: one per slot; four slots are for three stages only."""
        slots = max(1, stages)
        if self.pattern in FOUR_SLOTS:
            slots = 4 if stages == 3 else 1
        return min(self.largest_group, slots)

    def slowdown(self, size: int) -> Fraction:
        """Return by how much a group of so many jobs is slowed down."""
        return self.slowdowns[size - 1]

    def period(self, jobs: Sequence[Job], order: Sequence[int] | None = None) -> int:
        """Return the period of a group in microseconds, not slowed down, over all orders or only the given one."""
        return int(group_periods(self.pattern, stages_of(jobs)[None], worst=self.worst, order=order)[0])


def stages_of(jobs: Sequence[Job]) -> Ints:
    """Return the stage times of jobs in whole microseconds, a row per job; as many 0 where a job does not say them."""
    count = max((len(job.stage_seconds or ()) for job in jobs), default=0)
    rows = [job.stage_seconds or (0.0,) * count for job in jobs]
    times = np.rint(np.array(rows, dtype=np.float64).reshape(len(jobs), count) * 1_000_000)  # as round() does
    if float(times.sum(axis=1).max(initial=0.0)) < _SURELY_SHORT:
        return times.astype(np.int64)
    whole = [[micro(seconds) for seconds in row] for row in rows]
    longest = max(map(sum, whole))
    return np.array(whole, dtype=word_for(8 * longest)).reshape(len(jobs), count)
