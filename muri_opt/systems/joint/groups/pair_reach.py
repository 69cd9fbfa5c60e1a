"""Which jobs of a block can gain by sharing in twos at a price of a GPU: far from all, and the fewer the larger a size.

Nobody runs faster in a group than its own stages take. So two jobs add at most what each would with nothing but its
stages, on the GPUs of both; where that is not above what they gain alone, their period need not be looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.joint.groups.offers import Offers
from muri_opt.systems.joint.jobs.job_model import Floats

_ROUNDING = 1e-5
"""A part by which what two jobs add, in short floats, may be larger for rounding."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reach:
    """Rows of ``jobs``, and what each of them gains ``alone``, at one price of a GPU.

    A pair of a row b gains on the s-th size only if both are among the first ``sizes[s, b]`` of the row.
    """

    jobs: Ints
    alone: Floats
    sizes: Ints

    @classmethod
    def at(cls, price: float, offers: Offers, jobs: Ints, gained: Floats) -> Reach:
        """Return the reach of rows of jobs, -1 where a row has none, in each those first that gain on large sizes.

        Rows of many such jobs come first, too. ``gained[j]`` is what job j gains alone.
        """
        there = jobs >= 0
        alone = np.where(there, gained[jobs], 0.0)
        times = offers.stages[:, :, offers.grid].sum(axis=0, dtype=np.float64)
        most = offers.work[jobs][..., None] / times[offers.kind[jobs]] * (1 + _ROUNDING)
        paid = (price / 2 + offers.charge[jobs])[..., None] * offers.sizes
        above = np.where((offers.shares[jobs] & there)[..., None], most - paid - alone[..., None], -np.inf)
        can = above + above.max(axis=1, keepdims=True) > 0
        reach = (can * np.arange(1, 1 + len(offers.grid))).max(axis=2, initial=0)
        rows = np.argsort(-reach.sum(axis=1), kind="stable")[:, None]
        line = np.argsort(-reach, axis=1, kind="stable")[rows[:, 0]]
        sizes = (reach[rows[:, 0]] > np.arange(len(offers.grid))[:, None, None]).sum(axis=2)
        return cls(jobs=jobs[rows, line], alone=alone[rows, line], sizes=sizes)
