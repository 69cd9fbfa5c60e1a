"""Jobs of one priority count before all of a smaller one: the value of a round as one whole number of many digits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.afs.program_columns import ShareTable
from muri_opt.systems.priority_levels import level_weights, levels_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PriorityClass:
    """Jobs that count together: a unit of their value is worth ``weight``, and all they can have at most ``best``.

    The weight is more than all classes after it can be worth.
    """

    jobs: Ints
    weight: int
    best: int


def priority_classes(round_: Round, table: ShareTable) -> tuple[PriorityClass, ...]:
    """Return the classes of a round's jobs, the largest priority first; where no job says one, all are one class.

    ``best`` is the sum of what each job's best share is worth.
    """
    best = np.zeros(len(round_.jobs), dtype=np.int64)
    np.maximum.at(best, table.jobs, table.value)
    level, worth = levels_of(round_), best.tolist()
    members = [np.flatnonzero(level == place) for place in range(int(level.max(initial=-1)) + 1)]
    return tuple(
        PriorityClass(jobs=jobs, weight=weight, best=sum(worth[job] for job in jobs.tolist()))
        for jobs, weight in zip(members, level_weights(level, worth), strict=False)
    )
