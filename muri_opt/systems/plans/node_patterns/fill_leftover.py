"""What is still free, given to who gains by it.

A greedy insertion, the largest gain first, by best fit.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.plans.free_nodes import FreeNodes
from muri_opt.systems.plans.options import PlanOptions


def filled(round_: Round, options: PlanOptions, chosen: Mapping[int, Ints]) -> dict[int, Ints]:
    """Return the choice with waiting jobs started and running ones given a better option, where that fits.

    The options that gain most come first; a part goes to the node where it leaves the fewest GPUs free. Options that
    find no room to begin with are not tried.
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
    gain = options.e - present[options.job]
    some = np.flatnonzero((gain > 0) & _may_fit(options, free, now))
    for option in some[np.argsort(-gain[some], kind="stable")].tolist():
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


def _may_fit(options: PlanOptions, free: FreeNodes, now: Mapping[int, int]) -> NDArray[np.bool_]:
    """Return which options take no more of anything on a node than the freest node has, and their job's own part."""
    fits = np.ones(len(options), dtype=np.bool_)
    for each, left in ((options.g, free.gpus), (options.c, free.cpus), (options.m, free.memory)):
        own = np.zeros(len(options.first) - 1, dtype=np.int64)
        own[list(now)] = each[list(now.values())]
        fits &= each <= left.max(initial=0) + own[options.job]
    return fits
