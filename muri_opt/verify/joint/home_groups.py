"""Which jobs may go on as they are, alone or in a group: only there they are worth what nothing was changed for.

A running job that has other GPUs or other partners restarts. So its full worth counts with the GPUs that it holds only,
and in a group only if all members hold the same GPUs of the same nodes, and so many of them may be a group that runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from muri_opt.verify.joint.value import Workers
from muri_opt.verify.muri.periods import Ints
from muri_opt.verify.sharing_now import Where, placed

MOST_GROUPS = 400_000
"""Groups that may go on, beyond which those of the placements with most jobs are not looked at."""


class Home(NamedTuple):
    """Jobs with stages that hold the same ``gpus``, so many in all; groups of these ``sizes`` of them may go on."""

    gpus: int
    jobs: tuple[int, ...]
    sizes: tuple[int, ...]

    @property
    def groups(self) -> int:
        """How many groups these are."""
        return sum(comb(len(self.jobs), size) for size in self.sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Homes:
    """``alone[j]`` are the GPUs with which job j may go on by itself, 0 if it may not; ``shared`` where groups may.

    Jobs that are ``crowded`` are in more groups than are looked at: of them anything may go on, whatever they have.
    """

    alone: tuple[int, ...]
    shared: tuple[Home, ...]
    crowded: frozenset[int]

    @classmethod
    def of(cls, workers: Workers) -> Homes:
        """Return where jobs may go on as they are."""
        alone, together = [0] * len(workers.jobs), dict[Where, list[int]]()
        for place, job in enumerate(workers.jobs):
            if job.home is None:
                continue
            gpus = sum(job.home.values())
            if gpus in job.by_gpus:
                alone[place] = gpus if workers.goes_on((place,), job.home) else 0
                if job.stages is not None and workers.most_jobs > 1:
                    together.setdefault(placed(job.home), []).append(place)
        homes = [_home(workers, jobs) for jobs in together.values() if len(jobs) > 1]
        shared, crowded, left = list[Home](), set[int](), MOST_GROUPS
        for home in sorted((home for home in homes if home.sizes), key=lambda home: (len(home.jobs), home.jobs)):
            left -= home.groups
            if left < 0:
                crowded.update(home.jobs)
            else:
                shared.append(home)
        return cls(alone=tuple(alone), shared=tuple(shared), crowded=frozenset(crowded))

    def groups(self, size: int) -> Iterator[tuple[int, Ints]]:
        """Yield the groups of so many jobs that may go on, in rows, those on the same number of GPUs together."""
        found: dict[int, list[tuple[int, ...]]] = {}
        for home in self.shared:
            if size in home.sizes:
                found.setdefault(home.gpus, []).extend(combinations(home.jobs, size))
        for gpus, rows in found.items():
            yield gpus, np.array(rows, dtype=np.int64)


def _home(workers: Workers, jobs: list[int]) -> Home:
    """Return which groups of the jobs of a placement may go on: that depends on how many they are, not on which."""
    where = workers.jobs[jobs[0]].home or {}
    most = min(workers.most_jobs, len(jobs))
    sizes = tuple(size for size in range(2, most + 1) if workers.goes_on(jobs[:size], where))
    return Home(gpus=sum(where.values()), jobs=tuple(jobs), sizes=sizes)
