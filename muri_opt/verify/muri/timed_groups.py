"""The periods of all groups of a decision at once: as they should be, and in the orders that they are given."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from muri_opt.rounds import Decision, Job
from muri_opt.verify.muri.periods import Timed, slot_count, timed
from muri_opt.verify.muri.rules import Sharing, stages_of


def timed_groups(rules: Sharing, jobs: Mapping[str, Job], decision: Decision) -> dict[int, Timed]:
    """Return the periods, in microseconds, of the groups of more than one job, by the place of their assignment.

    Groups that make no sense, with too many or unknown jobs, without stage times or in no order, are left out.
    """
    kinds = max((len(job.stage_seconds or ()) for job in jobs.values()), default=0)
    most = min(4, slot_count(rules.pattern, kinds))
    alike: dict[int, list[int]] = {}
    for place, assignment in enumerate(decision.assignments):
        size = len(assignment.jobs)
        if not 1 < size <= most or sorted(assignment.order) != [*range(size)]:
            continue
        if all(job in jobs and jobs[job].stage_seconds is not None for job in assignment.jobs):
            alike.setdefault(size, []).append(place)
    found: dict[int, Timed] = {}
    for size, places in alike.items():
        some = [decision.assignments[place] for place in places]
        every = stages_of([jobs[job] for assignment in some for job in assignment.jobs])
        stages = every.reshape(len(some), size, every.shape[1])
        orders = np.array([assignment.order for assignment in some], dtype=np.int64)
        found.update(zip(places, timed(rules.pattern, stages, orders, worst=rules.worst), strict=True))
    return found
