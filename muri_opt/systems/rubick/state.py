"""The allocation Rubick starts from and changes: who runs by which option on which nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.plans.allocation import PlanAllocation, arrivals, guaranteed_first
from muri_opt.systems.plans.options import PlanOptions
from muri_opt.systems.rubick.slopes import NOTHING, Curves

NOWHERE: Final[Ints] = np.empty(0, dtype=np.int64)
"""The nodes of a job that waits."""


class State(PlanAllocation):
    """Placements, and what the algorithm knows of the jobs beside them.

    ``rank`` are the jobs in the order of priority and submission. ``firm`` jobs run and may not restart; ``starving``
    ones have waited too long to be evicted. ``level`` is that of each job's priority, 0 the first.
    """

    def __init__(self, round_: Round, options: PlanOptions, firm: set[int], starving: set[int]) -> None:
        super().__init__(round_, options)
        self.curves = Curves(options)
        self.rank = {job: place for place, job in enumerate(arrivals(round_))}
        self.node_gpus = round_.amounts.G
        self.firm = firm
        self.starving = starving
        self.level: list[int] = options.level.tolist()

    def option(self, job: int) -> int:
        """Return the option a job has now."""
        placement = self.placements.get(job)
        return NOTHING if placement is None else placement.option

    def own(self, job: int) -> Ints:
        """Return the nodes a job has now."""
        placement = self.placements.get(job)
        return NOWHERE if placement is None else placement.nodes

    def take(self, job: int, option: int, nodes: Ints) -> None:
        """Place a job that has no placement; where it stays at home, without a restart."""
        super().take(job, self.settled(option, nodes), nodes)

    def keep_present(self) -> None:
        """Place every running job where it runs, guaranteed ones first, as far as its plan is allowed there and fits.

        A round does not say how many CPUs a running job has: it starts with the fewest its plan can have there, and
        more are a step like any other, without a restart.
        """
        options = self.options
        homes: dict[int, list[int]] = {}
        for o in np.flatnonzero(options.home >= 0).tolist():
            homes.setdefault(int(options.job[o]), []).append(o)
        queue = guaranteed_first(options, [job for job in self.rank if job in homes])
        if self.stay_together(queue, *options.totals):
            return
        for job in queue:
            self.start(job, sorted(homes[job], key=self.curves.total.__getitem__))

    def within_reach(self, job: int) -> list[int]:
        """Return the options a job may change to, worth most first: a firm job none that restarts it."""
        options = self.curves.best_first[job]
        if job in self.firm and job in self.placements:
            return [o for o in options if self.options.home[o] >= 0]
        return options

    def short(self, options: Sequence[int]) -> NDArray[np.bool_]:
        """Return per option, resource and node whether a part would need more than is free."""
        return np.asarray(self.free.left < self.curves.parts[options][:, :, None])
