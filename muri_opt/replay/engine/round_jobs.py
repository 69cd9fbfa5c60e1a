"""Live jobs as the jobs of a round.

A round is made at every event, and all that changes of a job are a few numbers made here. They are snapped as a job
snaps them, so the checks of a new job, which take twenty times as long as all the rest, are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from msgspec.structs import force_setattr

from muri_opt.replay.engine.job_state import Live, Seat, positions
from muri_opt.replay.outcome import Floats, Ints
from muri_opt.replay.workload import Workload
from muri_opt.rounds import Cluster, Job
from muri_opt.rounds.quantities import MICROSECONDS_PER_SECOND, MILLISECONDS_PER_SECOND
from muri_opt.systems import JobHistory


class RoundJobs:
    """Makes the jobs of rounds. ``before_promotion`` is what a promoted job had had by then: it does not count.

    The job of a waiting or running stretch is kept: until the next change only the numbers that grow are new.
    """

    def __init__(self, workload: Workload, cluster: Cluster) -> None:
        self._jobs = workload.jobs
        self._names = [node.id for node in cluster.nodes]
        self._kept: dict[int, tuple[float, Seat | None, Job]] = {}
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

    def of(self, live: Live, jobs: Sequence[int]) -> tuple[Job, ...]:
        """Return the live jobs as they are now."""
        places = positions(jobs)
        had = self.had(live, places)
        since = live.accounts.since[places].tolist()
        numbers = zip(
            jobs,
            since,
            live.whole_iterations(places).tolist(),
            had.attained.tolist(),
            had.executed.tolist(),
            had.waited.tolist(),
            strict=True,
        )
        return tuple(
            self._job(live, job, when, left, attained, executed, waited)
            for job, when, left, attained, executed, waited in numbers
        )

    def _job(
        self, live: Live, job: int, since: float, left: int, attained: float, executed: float, waited: float
    ) -> Job:
        kept, seat = self._kept.get(job), live.seats.get(job)
        if kept is None or kept[0] != since or kept[1] is not seat:
            # A partner may have ended at the moment at which the others are seated anew.
            kept = self._kept[job] = (since, seat, self._stretch(live, job))
        found = copy(kept[2])
        force_setattr(found, "remaining_iterations", left)
        force_setattr(found, "attained_gpu_seconds", attained)
        force_setattr(found, "executed_seconds", executed)
        force_setattr(found, "waiting_seconds", waited)
        return found

    def _stretch(self, live: Live, job: int) -> Job:
        """Return the job with what stays as it is while it waits or sits where it does."""
        found, seat = copy(self._jobs[job]), live.seats.get(job)
        fields: dict[str, Any] = {
            "state": "waiting" if seat is None else "running",
            "placement": None if seat is None else dict(sorted((self._names[s], n) for s, n in seat.gpus.items())),
            "plan": live.plans.get(job, found.plan),
            "restarts": int(live.accounts.restarts[job]),
        }
        for field, value in fields.items():
            force_setattr(found, field, value)
        return found


def _snapped(amounts: Floats, parts: int) -> Floats:
    snapped: Floats = np.maximum(np.rint(amounts * parts), 0.0) / parts
    return snapped
