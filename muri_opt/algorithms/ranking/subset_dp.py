"""The exact order of few jobs without a solver: dynamic programming over the sets of jobs that can come first."""

from __future__ import annotations

import numpy as np

from muri_opt.errors import RefusalError
from muri_opt.modelling import Ints

MOST_JOBS = 16
"""Jobs up to which the 2**n sets and n tables of them are small (8 MB)."""


def best_order(before: Ints) -> Ints:
    """Return an order of least disagreement for a table of pairs.

    ``least[S]`` is the least disagreement among the jobs of S; the last of them, a, adds the weight of the lists that
    put it before one of the others. Sets are filled in by size, all of one size at a time.
    """
    jobs = len(before)
    if jobs > MOST_JOBS:
        raise RefusalError("jobs", str(jobs), f"at most {MOST_JOBS}; use kemeny_order with a solver")
    late = np.zeros((jobs, 1), dtype=np.int64)
    for job in range(jobs):  # late[a, S]: what a costs after the jobs of S; the sets with a job follow those without
        late = np.concatenate([late, late + before[:, job, None]], axis=1)
    sets = np.arange(1 << jobs)
    size = sum((sets >> job) & 1 for job in range(jobs)) if jobs else np.zeros(1, dtype=np.int64)
    least = np.full(1 << jobs, np.iinfo(np.int64).max, dtype=np.int64)
    least[0] = 0
    for members in range(1, jobs + 1):
        same = np.flatnonzero(size == members)
        for job in range(jobs):
            ours = same[(same >> job) & 1 == 1]
            rest = ours ^ (1 << job)
            least[ours] = np.minimum(least[ours], least[rest] + late[job, rest])
    order, left = [], (1 << jobs) - 1
    while left:
        rest = [(job, left ^ (1 << job)) for job in range(jobs) if left >> job & 1]
        last, left = next((job, s) for job, s in reversed(rest) if least[left] == least[s] + late[job, s])
        order.append(last)
    return np.array(order[::-1], dtype=np.int64)
