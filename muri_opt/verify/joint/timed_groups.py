"""The periods of all groups of a joint decision at once: as they should be, and in the orders that they are given."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from muri_opt.rounds import Decision
from muri_opt.verify.amounts import word_for
from muri_opt.verify.joint.value import Workers
from muri_opt.verify.muri.periods import group_periods

_PATTERN = "cyclic"


class Timed(NamedTuple):
    """Nanoseconds, not slowed down: of the best order, and of the order that the group has."""

    least: int
    in_order: int


def timed_groups(workers: Workers, decision: Decision) -> dict[int, Timed]:
    """Return the periods of the groups of more than one job, by the place of their assignment.

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
    for size, groups in alike.items():
        stages = np.array([*groups.values()], dtype=np.int64)
        orders = np.array([decision.assignments[place].order for place in groups], dtype=np.int64)
        seated = stages[np.arange(len(groups))[:, None], orders]
        best = group_periods(_PATTERN, stages, worst=False)
        own = group_periods(_PATTERN, seated, worst=False, order=range(size))
        found.update(zip(groups, map(Timed, best.tolist(), own.tolist()), strict=True))
    return found
