"""Jobs of the same model put together, and how fast groups of models run: columns without naming jobs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.joint.groups.offers import Offers
from muri_opt.systems.joint.jobs.cyclic_period import least_period
from muri_opt.systems.joint.jobs.job_model import Floats

MOST_ENTRIES = 3_000_000
"""Groups of classes, each with each number of GPUs."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Alike:
    """Classes of jobs: ``of[j]`` is that of job j, -1 where it never shares.

    A row of ``groups`` are the classes of a group, -1 where it has fewer members; ``rate[u, k]`` is one over its period
    on ``counts[k]`` GPUs, 0 where it cannot have them.
    """

    of: Ints
    groups: Ints
    rate: Floats

    @classmethod
    def read(cls, offers: Offers) -> Alike | None:
        """Return the jobs of a round by their models; ``None`` where there are too many groups of these."""
        of = np.full(len(offers.kind), -1, dtype=np.int64)
        sharers = np.flatnonzero(offers.shares)
        if not len(sharers) or offers.most_jobs < 2:
            return cls(of=of, groups=np.zeros((0, 1), dtype=np.int64), rate=np.zeros((0, len(offers.counts))))
        kinds, of[sharers] = np.unique(offers.kind[sharers], return_inverse=True)
        if _entries(len(kinds), offers.most_jobs) * (len(offers.counts) - 1) > MOST_ENTRIES:
            return None
        times, count = offers.stages[:, kinds].astype(np.float64), np.bincount(of[sharers])
        parts, rates = [], []
        for size in range(2, offers.most_jobs + 1):
            rows = np.array(list(combinations_with_replacement(range(len(count)), size)), dtype=np.int64)
            rows = rows[_enough(rows, count)]
            period = least_period([times[:, rows[:, j]] for j in range(size)]) * offers.slowdown[size - 1]
            parts.append(np.pad(rows, ((0, 0), (0, offers.most_jobs - size)), constant_values=-1))
            rates.append(1.0 / period)
        return cls(of=of, groups=np.concatenate(parts), rate=np.concatenate(rates))


def _enough(rows: Ints, count: Ints) -> NDArray[np.bool_]:
    """Return which groups of classes have no more members of one than there are jobs of it."""
    wanted = (rows[:, :, None] == rows[:, None, :]).sum(axis=2)
    enough: NDArray[np.bool_] = (wanted <= count[rows]).all(axis=1)
    return enough


def _entries(classes: int, most: int) -> int:
    total, groups = 0, classes
    for size in range(2, most + 1):
        groups = groups * (classes + size - 1) // size
        total += groups
    return total
