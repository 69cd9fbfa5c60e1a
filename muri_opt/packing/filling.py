"""What is still free, given to who gains by it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from muri_opt.instance import Round
from muri_opt.instance.amounts import Ints
from muri_opt.plans import FreeNodes, PlanOptions


def filled(round_: Round, options: PlanOptions, chosen: Mapping[int, Ints]) -> dict[int, Ints]:
    """Return the choice with waiting jobs started and running ones given a better option, where that fits.

    The options that gain most come first; a part goes to the node where it leaves the fewest GPUs free.
    """
    free = FreeNodes(round_, options)
    now: dict[int, int] = {}
    nodes: dict[int, Ints] = {}
    for option, where in chosen.items():
        free.take(option, where)
        now[int(options.job[option])] = option
        nodes[option] = where
    present = np.zeros(len(round_.jobs), dtype=np.int64)
    present[list(now)] = options.e[list(now.values())]
    for option in np.argsort(-(options.e - present[options.job]), kind="stable").tolist():
        job = int(options.job[option])
        old = now.get(job)
        if options.e[option] <= (0 if old is None else options.e[old]):
            continue
        if old is None and not free.within_quota(job):
            continue
        if old is not None:
            free.give(old, nodes[old])
        room = np.flatnonzero(free.room(option))
        if len(room) < options.q[option]:
            if old is not None:
                free.take(old, nodes[old])
            continue
        tightest = room[np.argsort(free.gpus[room], kind="stable")[: options.q[option]]]
        free.take(option, tightest)
        if old is not None:
            del nodes[old]
        now[job], nodes[option] = option, tightest
    return nodes
