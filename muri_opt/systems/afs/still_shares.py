"""Shares that stay as they are if they are decided again, in a round that says where jobs may be.

There, where jobs are decides which of their sets of nodes they choose, and so what is shared among whom: shares that
are carried out may be decided differently at once. They are decided again, as if they were, until nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from muri_opt.rounds import Assignment, Decision, Round, after
from muri_opt.systems.afs.share_fit import Shares
from muri_opt.systems.capacity.held_parts import Parts

MOST_TURNS: Final = 4
"""How often shares are decided again before the first ones are taken."""


def still_shares(round_: Round, decide: Callable[[Round], Shares]) -> Shares:
    """Return GPUs per node of every job that runs, as ``decide`` gives them again once they are carried out.

    >>> round_ = shipped_round("toy/three-elastic")
    >>> still_shares(round_, lambda then: {0: np.array([2 if then.jobs[0].state == "waiting" else 3])})
    {0: array([3])}
    """
    first = placed = decide(round_)
    for _ in range(MOST_TURNS):
        again = decide(_carried_out(round_, placed))
        if again.keys() == placed.keys() and all(np.array_equal(placed[job], again[job]) for job in placed):
            return placed
        placed = again
    return first


def still_parts(round_: Round, decide: Callable[[Round], dict[int, Parts]]) -> dict[int, Parts]:
    """Return the same of shares that are lists of nodes with their GPUs.

    >>> round_ = shipped_round("toy/three-elastic")
    >>> still_parts(round_, lambda then: {0: [(0, 2 if then.jobs[0].state == "waiting" else 3)]})
    {0: [(0, 3)]}
    """
    nodes = len(round_.cluster.nodes)

    def shares(then: Round) -> Shares:
        found: Shares = {}
        for job, parts in decide(then).items():
            found[job] = np.zeros(nodes, dtype=np.int64)
            for node, gpus in parts:
                found[job][node] = gpus
        return found

    placed = still_shares(round_, shares)
    return {job: [(node, int(share[node])) for node in share.nonzero()[0].tolist()] for job, share in placed.items()}


def _carried_out(round_: Round, placed: Shares) -> Round:
    """Return the round in which the jobs run where they were placed, and no others."""
    nodes = round_.cluster.nodes
    return after(
        round_,
        Decision(
            assignments=tuple(
                Assignment(
                    jobs=(round_.jobs[job].id,),
                    gpus={nodes[node].id: int(share[node]) for node in share.nonzero()[0].tolist()},
                )
                for job, share in placed.items()
            ),
            waiting=(),
        ),
    )
