"""Jobs of one priority count before all of a smaller one: the value of a round as one whole number of many digits."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.afs.program_columns import ShareTable

MOST_BITS = 10_000
"""How long a number the classes before the last make together, so that a value can be written as a decimal number."""


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

    ``best`` is the sum of what each job's best share is worth. Of very many classes those are one at the end that would
    make the values of the classes before it longer than ``MOST_BITS``.
    """
    best = np.zeros(len(round_.jobs), dtype=np.int64)
    np.maximum.at(best, table.jobs, table.value)
    priorities, rest = round_.priorities, len(round_.jobs)
    found: list[PriorityClass] = []
    reach = 1
    for priority in np.unique(priorities)[::-1]:
        jobs = np.flatnonzero(priorities == priority)
        most = int(best[jobs].sum(dtype=object))
        reach *= most + 1
        if reach.bit_length() > MOST_BITS:
            jobs = np.flatnonzero(priorities <= priority)
            most = int(best[jobs].sum(dtype=object))
        found.append(PriorityClass(jobs=jobs, weight=1, best=most))
        rest -= len(jobs)
        if not rest:
            break
    weight = 1
    for place in reversed(range(len(found))):
        found[place] = replace(found[place], weight=weight)
        weight *= found[place].best + 1
    return tuple(found)
