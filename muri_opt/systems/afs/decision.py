"""From GPUs per node of elastic jobs to a decision."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.decision import Decision
from muri_opt.rounds.quantities import MICROSECONDS_PER_SECOND
from muri_opt.systems.capacity import Placed, group_decision, parts_decision
from muri_opt.systems.capacity.held_parts import Parts
from muri_opt.systems.curves import Curves


def share_decision(round_: Round, curves: Curves, shares: Mapping[int, Ints]) -> Decision:
    """Return the decision that gives job j ``shares[j][s]`` GPUs of node s; every other job waits for its first GPU.

    A job that must be on several nodes waits for its first GPU on each. The period of a job is the time of one
    iteration with its share.

    >>> round_ = shipped_round("toy/three-elastic")
    >>> curves = Curves.of(round_.jobs, round_.cluster.total_gpus)
    >>> share_decision(round_, curves, {0: np.array([3])}).assignments[0].gpus
    {'n0': 3}
    """
    asks = np.array([1 if job.nodes is None else job.nodes.least for job in round_.jobs], dtype=np.int64)
    placed = []
    for job, share in sorted(shares.items()):
        asks[job] = share.sum()
        period = curves.unit[job] / (int(curves.speed[job, asks[job]]) * MICROSECONDS_PER_SECOND)
        placed.append(Placed(jobs=(job,), share=share, period_seconds=period))
    return group_decision(round_, placed, consolidate=False, asks=asks)


def pooled_decision(round_: Round, curves: Curves, placed: Mapping[int, Parts]) -> Decision:
    """Return the same for GPUs of nodes, in a round that says nothing of where jobs may be.

    >>> round_ = shipped_round("toy/three-elastic")
    >>> curves = Curves.of(round_.jobs, round_.cluster.total_gpus)
    >>> pooled_decision(round_, curves, {0: [(0, 3)]}).assignments[0].gpus
    {'n0': 3}
    """
    jobs, asks = np.array([*placed], dtype=np.int64), np.ones(len(round_.jobs), dtype=np.int64)
    asks[jobs] = [sum(gpus for _, gpus in parts) for parts in placed.values()]
    speeds = curves.speed[jobs, asks[jobs]].tolist()
    periods = {
        job: curves.unit[job] / (speed * MICROSECONDS_PER_SECOND) for job, speed in zip(placed, speeds, strict=True)
    }
    return parts_decision(round_, placed, periods, asks)
