"""What a session is told of live jobs at every round: the iterations left, and what they have had, as columns."""

from __future__ import annotations

import numpy as np

from muri_opt.replay.engine.job_state import Live, positions
from muri_opt.replay.outcome import Floats, Ints
from muri_opt.rounds.quantities import MICROSECONDS_PER_SECOND, MILLISECONDS_PER_SECOND
from muri_opt.systems import JobHistory


class JobProgress:
    """Reads the accounts. ``before_promotion`` is what a promoted job had had by then: it does not count."""

    def __init__(self) -> None:
        self.before_promotion: dict[int, tuple[float, float, float]] = {}

    def had(self, live: Live, jobs: Ints) -> JobHistory:
        """Return what the jobs have had since they were promoted, as the policy is told."""
        attained, executed, waited = live.attained(jobs), live.executed(jobs), live.waited(jobs)
        if self.before_promotion:
            none = (0.0, 0.0, 0.0)
            before = np.array([self.before_promotion.get(job, none) for job in jobs.tolist()]).reshape(-1, 3)
            attained, executed, waited = attained - before[:, 0], executed - before[:, 1], waited - before[:, 2]
        return JobHistory(
            gpus=live.accounts.asked[jobs],
            attained=_snapped(attained, MILLISECONDS_PER_SECOND),
            executed=_snapped(executed, MICROSECONDS_PER_SECOND),
            waited=_snapped(waited, MICROSECONDS_PER_SECOND),
        )

    def promote(self, live: Live, job: int) -> None:
        """Let a job begin anew in the eyes of the policy."""
        place = positions([job])
        now = (live.attained(place), live.executed(place), live.waited(place))
        self.before_promotion[job] = (float(now[0][0]), float(now[1][0]), float(now[2][0]))

    def columns(self, live: Live, jobs: Ints) -> dict[str, Ints | Floats]:
        """Return what a session is to know of the jobs now, by field."""
        had = self.had(live, jobs)
        return {
            "remaining_iterations": live.whole_iterations(jobs),
            "attained_gpu_seconds": had.attained,
            "executed_seconds": had.executed,
            "waiting_seconds": had.waited,
            "restarts": live.accounts.restarts[jobs],
        }


def _snapped(amounts: Floats, parts: int) -> Floats:
    snapped: Floats = np.maximum(np.rint(amounts * parts), 0.0) / parts
    return snapped
