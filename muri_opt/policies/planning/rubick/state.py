"""The allocation Rubick starts from and changes, with the lowest slope on every node."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.instance import Round
from muri_opt.instance.amounts import Ints
from muri_opt.plans import PlanOptions
from muri_opt.policies.planning.rubick.giving import Giving
from muri_opt.policies.planning.rubick.slopes import NOTHING, Curves
from muri_opt.policies.planning.seating import Seating, arrivals, guaranteed_first

RESOURCES: Final = (0, 1, 2)
"""GPUs, CPUs, memory: the order in which they are taken."""


class State(Seating):
    """Seats, slopes and, per node, the lowest slope and what can be taken."""

    def __init__(self, round_: Round, options: PlanOptions, firm: set[int], starving: set[int]) -> None:
        super().__init__(round_, options)
        self.curves = Curves(options)
        self.giving = Giving(options, self.curves, self.settled, firm, starving)
        self.rank = {job: place for place, job in enumerate(arrivals(round_))}
        count = len(round_.cluster.nodes)
        self._low = np.full((2, 3, count), np.inf)
        self._takeable = np.zeros((2, 3, count), dtype=np.int64)
        self._stale: tuple[set[int], set[int]] = (set(), set())
        self._most_free: int | None = None
        self._lowest = np.inf

    def option(self, job: int) -> int:
        """Return the option a job has now."""
        seat = self.seats.get(job)
        return NOTHING if seat is None else seat.option

    def take(self, job: int, option: int, nodes: Ints) -> None:
        """Seat a job that has no seat; where it stays at home, without a restart."""
        super().take(job, self.settled(option, nodes), nodes)
        self._changed(nodes)

    def leave(self, job: int) -> None:
        """Take its seat from a job."""
        nodes = self.seats[job].nodes
        super().leave(job)
        self._changed(nodes)

    def keep_present(self) -> None:
        """Seat every running job where it runs, guaranteed ones first, as far as its plan is allowed there and fits.

        A round does not say how many CPUs a running job has: it starts with the fewest its plan can have there, and
        more are a step like any other, without a restart.
        """
        options = self.options
        for job in guaranteed_first(options, list(self.rank)):
            homes = [o for o in options.of_job(job) if options.home[o] >= 0]
            self.start(job, sorted(homes, key=lambda o: self.curves.total[o]))

    def within_reach(self, job: int) -> list[int]:
        """Return the options a job may change to, worth most first: a firm job none that restarts it."""
        options = self.curves.best_first[job]
        if job in self.giving.firm and job in self.seats:
            return [o for o in options if self.options.home[o] >= 0]
        return options

    def lowest(self, *, forced: bool) -> tuple[NDArray[np.float64], Ints]:
        """Return per resource and node the lowest slope of a job there, and how much all jobs there could give."""
        at = int(forced)
        for node in self._stale[at]:
            self._summarise(node, forced=forced)
        self._stale[at].clear()
        return self._low[at], self._takeable[at]

    def hopeless(self, option: int, slope: float) -> bool:
        """Return whether no node has or gets enough GPUs for a part of a job that waits, at its slope per GPU."""
        if self._most_free is None:
            self._most_free = int(self.free.gpus.max(initial=0))
            self._lowest = float(self.lowest(forced=False)[0][0].min(initial=np.inf))
        return self.curves.part[option][0] > self._most_free and self._lowest >= slope

    def _changed(self, nodes: Ints) -> None:
        self._most_free = None
        for stale in self._stale:
            stale.update(nodes.tolist())

    def _summarise(self, node: int, *, forced: bool) -> None:
        low, most = [np.inf] * 3, [0] * 3
        for job in self.on_node[node]:
            seat = self.seats[job]
            for resource in RESOURCES:
                step = self.giving.step(job, seat, node, resource, forced=forced)
                if step is not None:
                    low[resource] = min(low[resource], step.slope)
                    most[resource] += self.curves.part[seat.option][resource]
        self._low[int(forced), :, node] = low
        self._takeable[int(forced), :, node] = most
