"""What Rubick's algorithm works out again and again, remembered until somebody's placement changes.

Without any of this the decisions are the same; a test asks everything anew and compares.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.rubick.node_occupants import Given, Occupants
from muri_opt.systems.rubick.node_prices import Prices
from muri_opt.systems.rubick.shrink_steps import ShrinkSteps
from muri_opt.systems.rubick.slopes import NOTHING
from muri_opt.systems.rubick.state import NOWHERE, State

_NODES: Final = 32
"""Nodes whose prices are worked out between two looks at the clock."""


class CachedCosts:
    """Slopes of jobs, who is on a node and what room costs there, and which jobs got nothing.

    A slope depends on a job and what it has, and is kept for good. The rest depends on placements: whoever changes one
    says so by :meth:`forget`. All of it is for jobs of one ``level`` of priorities, to which others give. Prices are
    not worked out to the end where it ``is_late``.
    """

    def __init__(self, state: State, *, level: int, is_late: Callable[[], bool]) -> None:
        self._state, self._is_late = state, is_late
        self._steps = ShrinkSteps(state.options, state.curves, state.settled, state.firm, state.starving, level)
        nodes = len(state.on_node)
        self._slopes: dict[tuple[int, int], float] = {}
        self._occupants: list[dict[tuple[int | None, bool], Occupants]] = [{} for _ in range(nodes)]
        self._prices = (Prices(state.node_gpus), Prices(state.node_gpus))
        self._stale = (set(range(nodes)), set(range(nodes)))
        self._refused: dict[int, bool] = {}

    def forget(self, nodes: Ints) -> None:
        """Forget what depends on the placements of these nodes, and who was refused."""
        self._refused.clear()
        for node in nodes.tolist():
            self._occupants[node].clear()
        for stale in self._stale:
            stale.update(nodes.tolist())

    def slope(self, job: int) -> float:
        """Return the steepest way up from what a job has now."""
        key = self._standing(job), self._state.option(job)
        if key not in self._slopes:
            self._slopes[key] = self._state.curves.slope(key[1], self._state.within_reach(job))
        return self._slopes[key]

    def refuse(self, job: int, *, taking: bool) -> None:
        """Remember that a job, or one like it, gets nothing until somebody's placement changes."""
        self._refused[self._standing(job)] = taking

    def refuses(self, job: int, *, taking: bool) -> bool:
        """Return whether it is known that a job gets nothing now; who gets nothing by taking gets nothing without."""
        known = self._refused.get(self._standing(job))
        return known is not None and known >= taking

    def prices(self, own: Ints, *, forced: bool) -> Prices:
        """Return what room costs now on every node but the ``own`` ones of a job whose placement is free already."""
        prices, stale = self._prices[forced], self._stale[forced]
        for done, node in enumerate(stale.difference(own.tolist())):
            if done % _NODES == _NODES - 1 and self._is_late():
                break  # the others stay as they were: nobody is served by them any more
            prices.update(self.occupants(node, NOTHING, {}, forced=forced))
            stale.discard(node)
        return prices

    def too_flat(self, job: int) -> bool:
        """Return whether a job that waits is nowhere steep enough to get a GPU from another."""
        return self.slope(job) <= self.prices(NOWHERE, forced=False).lowest

    def occupants(self, node: int, receiver: int, given: Given, *, forced: bool) -> Occupants:
        """Return who is on a node and may give there for a receiver, after what they have ``given`` elsewhere.

        The placement of the receiver itself must be free already.
        """
        others = self._state.on_node[node]
        if given and not given.keys().isdisjoint(others):
            return self._on_node(node, receiver, given, forced=forced)
        key = (receiver if receiver in others else None, forced)
        if key not in self._occupants[node]:
            self._occupants[node][key] = self._on_node(node, receiver, {}, forced=forced)
        return self._occupants[node][key]

    def _on_node(self, node: int, receiver: int, given: Given, *, forced: bool) -> Occupants:
        state = self._state
        others = sorted(state.on_node[node] - {receiver}, key=state.rank.__getitem__, reverse=True)
        found = Occupants(
            steps=self._steps,
            node=node,
            forced=forced,
            placements={other: state.placements[other] for other in others},
            free=(int(state.free.gpus[node]), int(state.free.cpus[node]), int(state.free.memory[node])),
        )
        for other in others:
            if other in given:
                found = found.changed(other, given[other])
        return found

    def _standing(self, job: int) -> int:
        """Return a number that is the same for jobs to which the same is open: those that wait and are alike."""
        return job if job in self._state.placements else ~self._state.curves.number[job]
