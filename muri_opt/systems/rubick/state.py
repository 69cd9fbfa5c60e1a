"""The allocation Rubick starts from and changes, with what room costs on every node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.plans.allocation import Seating, arrivals, guaranteed_first
from muri_opt.systems.plans.options import PlanOptions
from muri_opt.systems.rubick.node_occupants import Crowd, Given
from muri_opt.systems.rubick.node_prices import Prices
from muri_opt.systems.rubick.shrink_steps import Giving
from muri_opt.systems.rubick.slopes import NOTHING, Curves

NOWHERE: Final[Ints] = np.empty(0, dtype=np.int64)
"""The nodes of a job that waits."""


class State(Seating):
    """Seats, slopes and, per node, the crowd on it and the prices at which it gives."""

    def __init__(self, round_: Round, options: PlanOptions, firm: set[int], starving: set[int]) -> None:
        super().__init__(round_, options)
        self.curves = Curves(options)
        self.giving = Giving(options, self.curves, self.settled, firm, starving)
        self.rank = {job: place for place, job in enumerate(arrivals(round_))}
        count = len(round_.cluster.nodes)
        self._crowds: list[dict[tuple[int | None, bool], Crowd]] = [{} for _ in range(count)]
        self._slopes: dict[tuple[int, int], float] = {}
        self._prices = (Prices(self.free.gpus), Prices(self.free.gpus))
        self._stale = (set(range(count)), set(range(count)))
        self._refused: dict[int, bool] = {}

    def option(self, job: int) -> int:
        """Return the option a job has now."""
        seat = self.seats.get(job)
        return NOTHING if seat is None else seat.option

    def own(self, job: int) -> Ints:
        """Return the nodes a job has now."""
        seat = self.seats.get(job)
        return NOWHERE if seat is None else seat.nodes

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
        homes: dict[int, list[int]] = {}
        for o in np.flatnonzero(options.home >= 0).tolist():
            homes.setdefault(int(options.job[o]), []).append(o)
        for job in guaranteed_first(options, [job for job in self.rank if job in homes]):
            self.start(job, sorted(homes[job], key=self.curves.total.__getitem__))

    def within_reach(self, job: int) -> list[int]:
        """Return the options a job may change to, worth most first: a firm job none that restarts it."""
        options = self.curves.best_first[job]
        if job in self.giving.firm and job in self.seats:
            return [o for o in options if self.options.home[o] >= 0]
        return options

    def slope(self, job: int) -> float:
        """Return the steepest way up from what a job has now."""
        key = self._standing(job), self.option(job)
        if key not in self._slopes:
            self._slopes[key] = self.curves.slope(key[1], self.within_reach(job))
        return self._slopes[key]

    def refuse(self, job: int, *, taking: bool) -> None:
        """Remember that a job, or one like it, gets nothing until somebody's seat changes."""
        self._refused[self._standing(job)] = taking

    def refuses(self, job: int, *, taking: bool) -> bool:
        """Return whether it is known that a job gets nothing now; who gets nothing by taking gets nothing without."""
        known = self._refused.get(self._standing(job))
        return known is not None and known >= taking

    def short(self, options: Sequence[int]) -> NDArray[np.bool_]:
        """Return per option, resource and node whether a part would need more than is free."""
        return np.asarray(self.free.left < self.curves.parts[options][:, :, None])

    def prices(self, own: Ints, *, forced: bool) -> Prices:
        """Return what room costs now on every node but the ``own`` ones of a job whose seat is free already."""
        prices, stale = self._prices[forced], self._stale[forced]
        for node in stale.difference(own.tolist()):
            prices.update(self.crowd(node, NOTHING, {}, forced=forced))
        stale.intersection_update(own.tolist())
        return prices

    def too_flat(self, job: int) -> bool:
        """Return whether a job that waits is nowhere steep enough to get a GPU from another."""
        return self.slope(job) <= self.prices(NOWHERE, forced=False).lowest

    def crowd(self, node: int, receiver: int, given: Given, *, forced: bool) -> Crowd:
        """Return who is on a node and may give there for a receiver, after what they have ``given`` elsewhere.

        The seat of the receiver itself must be free already.
        """
        others = self.on_node[node]
        if given and not given.keys().isdisjoint(others):
            return self._crowd(node, receiver, given, forced=forced)
        key = (receiver if receiver in others else None, forced)
        if key not in self._crowds[node]:
            self._crowds[node][key] = self._crowd(node, receiver, {}, forced=forced)
        return self._crowds[node][key]

    def _standing(self, job: int) -> int:
        """Return a number that is the same for jobs to which the same is open: those that wait and are alike."""
        return job if job in self.seats else ~self.curves.number[job]

    def _crowd(self, node: int, receiver: int, given: Given, *, forced: bool) -> Crowd:
        others = sorted(self.on_node[node] - {receiver}, key=self.rank.__getitem__, reverse=True)
        crowd = Crowd(
            giving=self.giving,
            node=node,
            forced=forced,
            seats={other: self.seats[other] for other in others},
            free=(int(self.free.gpus[node]), int(self.free.cpus[node]), int(self.free.memory[node])),
        )
        for other in others:
            if other in given:
                crowd = crowd.changed(other, given[other])
        return crowd

    def _changed(self, nodes: Ints) -> None:
        self._refused.clear()
        for node in nodes.tolist():
            self._crowds[node].clear()
        for stale in self._stale:
            stale.update(nodes.tolist())
