"""The periods of all groups of a joint decision at once: as they should be, and in the orders that they are given."""

from __future__ import annotations

import numpy as np

from muri_opt.rounds import Decision
from muri_opt.verify.amounts import word_for
from muri_opt.verify.joint.value import Workers
from muri_opt.verify.muri.periods import Timed, timed

_PATTERN = "cyclic"


def timed_groups(workers: Workers, decision: Decision) -> dict[int, Timed]:
    """Return the periods, in nanoseconds, of the groups of more than one job, by the place of their assignment.

    Groups that make no sense, with too many or unknown jobs, on GPUs that they cannot have or in no order, are left
    out, and so are those of periods beyond machine words.
    """
    index = workers.round_.job_index
    alike: dict[int, dict[int, list[list[int]]]] = {}
    for place, assignment in enumerate(decision.assignments):
        size, gpus = len(assignment.jobs), sum(assignment.gpus.values())
        if size < 2 or sorted(assignment.order) != [*range(size)] or not all(job in index for job in assignment.jobs):
            continue
        members = [index[job] for job in assignment.jobs]
        if workers.able(members, gpus):
            times = [workers.jobs[job].stages_on(gpus) for job in members]
            if word_for(sum(map(sum, times))) is np.int64:
                alike.setdefault(size, {})[place] = times
    found: dict[int, Timed] = {}
    for groups in alike.values():
        stages = np.array([*groups.values()], dtype=np.int64)
        orders = np.array([decision.assignments[place].order for place in groups], dtype=np.int64)
        found.update(zip(groups, timed(_PATTERN, stages, orders, worst=False), strict=True))
    return found
