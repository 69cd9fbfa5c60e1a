"""The best choice if only the GPUs of the cluster counted, by dynamic programming, put on nodes as far as it goes.

The relaxation to a single resource: a multiple-choice knapsack, whose value is the counting bound of the chapter
*planning*.
"""

from __future__ import annotations

import numpy as np

from muri_opt.algorithms.knapsack import OneResource
from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.plans.free_nodes import FreeNodes
from muri_opt.systems.plans.options import PlanOptions

_MOST_STEPS = 50_000_000
"""Options times GPUs up to which the programme is run: some tenths of a second."""


def best_by_gpus(round_: Round, options: PlanOptions) -> list[int] | None:
    """Return options, at most one per job, that are worth most within the GPUs of the cluster; ``None`` if too many.

    No decision is worth more. Where all of them find nodes, they are the best decision there is.
    """
    total = round_.cluster.total_gpus
    if len(options) * (total + 1) > _MOST_STEPS:
        return None
    gpus = options.q * options.g
    mine = [options.of_job(job) for job in range(len(round_.jobs))]
    spans = [slice(some.start, some.stop) for some in mine]
    programme = OneResource([(gpus[span], options.e[span]) for span in spans], total)
    return [some.start + place for some, place in zip(mine, programme.chosen(total), strict=True) if place >= 0]


def placed_by_gpus(round_: Round, options: PlanOptions, chosen: list[int]) -> dict[int, Ints]:
    """Return nodes for as many of the options as find them.

    Homes come first, then the largest parts, several parts before one of the same size, each where it is tightest.
    """
    free = FreeNodes(round_, options)
    found = {}
    order = sorted(chosen, key=lambda o: (options.home[o] < 0, -int(options.g[o]), -int(options.q[o])))
    for option in order:
        room = np.flatnonzero(free.room(option))
        if len(room) >= options.q[option] and free.within_quota(int(options.job[option])):
            tight = np.lexsort((free.cpus[room], free.gpus[room]))
            nodes = room[tight[: options.q[option]]]
            free.take(option, nodes)
            found[option] = nodes
    return found
