"""What a rule divides GPUs among: jobs with their curves, the most each may have, and how long they take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.afs.present_shares import PresentShares


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Demand:
    """The jobs a rule divides GPUs among: positions in the round, curves, caps, remaining times."""

    jobs: Ints
    speed: Ints
    cap: Ints
    time: Ints
    ladder: Sequence[int] | None

    def of(self, part: Ints) -> Demand:
        """Return the demand of some of the jobs."""
        return replace(self, jobs=self.jobs[part], speed=self.speed[part], cap=self.cap[part], time=self.time[part])

    def held(self, round_: Round) -> Ints:
        """Return the GPUs each job holds now, 0 for one that waits."""
        return PresentShares.of(round_).held[self.jobs]

    def arrivals(self, round_: Round) -> Ints:
        """Return the jobs of the demand in the order of their submission, then of the round."""
        submitted = [round_.jobs[job].submitted or 0.0 for job in self.jobs.tolist()]
        return np.argsort(submitted, kind="stable")
