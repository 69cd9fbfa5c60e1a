"""The shares of the chapter *sharing*: every GPU count a job may have, and what it is worth."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.afs.node_sizes import share_sizes
from muri_opt.systems.curves import Curves

MICROSECONDS_PER_HUNDREDTH = 10_000
WEIGHT = 10**10
SHORTEST = 1000
"""The root of a second in microseconds: no job weighs more than one of a second."""
THOUSANDTHS = 1000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShareTable:
    """Pairs of a job and a GPU count it may have, in ascending order, and the value of each."""

    jobs: Ints
    gpus: Ints
    value: Ints

    @classmethod
    def of(cls, round_: Round, objective: str, packing: str) -> ShareTable:
        """Return the shares of a round and what they are worth.

        Under ``speed`` a share is worth its speed against one GPU, over the root of the time the job takes on one GPU;
        under ``speed-up`` the same with no weight, for jobs of unknown length. Under ``time`` it is worth Q - t_j(k),
        hundredths of a second, where Q is just above the sum of all t_j(1): one more job that runs outweighs any
        speed, and among equally many the sum of their remaining times is least.
        """
        curves = Curves.of(round_.jobs, round_.cluster.total_gpus)
        legal = share_sizes(round_.cluster, packing)
        jobs, place = np.nonzero(legal <= curves.cap[:, None])
        gpus = legal[place]
        work = [job.remaining_iterations or 0 for job in round_.jobs]
        if objective == "time":
            left = curves.microseconds(work) // MICROSECONDS_PER_HUNDREDTH
            value = 1 + left[:, 1].sum() - left[jobs, gpus]
        else:
            weight = np.full(len(work), THOUSANDTHS, dtype=np.int64)
            if objective == "speed":
                weight = speed_weights(curves.microseconds(work)[:, 1])
            value = weight[jobs] * curves.speed[jobs, gpus] // curves.speed[jobs, 1]
        return cls(jobs=jobs, gpus=gpus, value=value)


def speed_weights(alone: Ints) -> Ints:
    """Return what a job's speed against one GPU weighs: less, the longer it takes ``alone`` on one, by the root."""
    return np.array([WEIGHT // max(SHORTEST, isqrt(time)) for time in alone.tolist()], dtype=np.int64)
