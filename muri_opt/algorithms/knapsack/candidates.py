"""All that a job can be made to do, waiting included, with what it is worth, takes, and loses at given prices.

The loss is the reduced cost of an option in the Lagrangian relaxation: what loses more than the gap cannot be in a
better answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muri_opt.algorithms.knapsack.multipliers import Priced
from muri_opt.algorithms.knapsack.options import Ints, Options


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidates:
    """Options that lose little and, after them, waiting for the jobs where that is a candidate (option -1).

    ``now[j]`` is the place of the candidate that stands for job j in the choice they were made for.
    """

    job: Ints
    option: Ints
    value: Ints
    use: Ints
    loss: NDArray[Any]
    now: Ints

    def __len__(self) -> int:
        return len(self.job)

    def choice(self, places: Ints) -> Ints:
        """Return the option of each job, -1 where it waits, of one candidate per job."""
        return self.option[places]


def candidates(options: Options, priced: Priced, choice: Ints, most: int, *, all_wait: bool = False) -> Candidates:
    """Return what loses at most ``most``, what is in ``choice``, and waiting for every job if ``all_wait``."""
    near = priced.loss <= most
    near[choice[choice >= 0]] = True
    kept = np.flatnonzero(near)
    waits = np.flatnonzero((priced.idle <= most) | (choice < 0) | all_wait)
    job = np.concatenate([options.job[kept], waits])
    option = np.concatenate([kept, np.full(len(waits), -1, dtype=np.int64)])
    chosen = np.flatnonzero(option == choice[job])
    now = np.zeros(options.jobs, dtype=np.int64)
    now[job[chosen]] = chosen
    resources = len(options.capacity)
    return Candidates(
        job=job,
        option=option,
        value=np.concatenate([options.value[kept], np.zeros(len(waits), dtype=np.int64)]),
        use=np.concatenate([options.use[kept], np.zeros((len(waits), resources), dtype=np.int64)]),
        loss=np.concatenate([priced.loss[kept], priced.idle[waits]]),
        now=now,
    )
