"""Which running jobs to move, and where to, so that a gang finds room; as few GPUs of them as possible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import combinations

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.philly.asked_once import AskedOnce
from muri_opt.systems.philly.cluster_state import ClusterState, find_placement
from muri_opt.systems.philly.eviction_cover import Item
from muri_opt.systems.philly.job_status import Bools, Held
from muri_opt.systems.philly.leaving_sets import MOST_ITEMS, Leaving
from muri_opt.systems.philly.locality import TOGETHER
from muri_opt.systems.philly.preemption import Removals

MOST_TRIALS = 32
"""Sets of jobs that are tried for one gang; and twice as many nodes are looked at for such sets."""
_AT_ONCE = 16
"""Nodes that are looked at together for such sets."""

Moves = tuple[dict[int, Held], Held]


class Moving(AskedOnce[Moves]):
    """What can be moved in a cluster. Made once, it answers for many gangs, till the state changes.

    Only jobs that ``may`` are moved, with at most ``budget`` GPUs together (``None``: any). It takes jobs from their
    nodes while it looks, and puts them back.
    """

    def __init__(self, state: ClusterState, may: Bools, budget: int | None) -> None:
        super().__init__(state)
        self._budget = int(state.amounts.g.sum()) if budget is None else budget
        self._removals = Removals(state, may, keeps_quota=False)
        self._looks: dict[int, object] = {}

    def _smallest(self, job: int, level: int) -> Moves | None:
        """Return jobs with the places they would move to, and where the gang is then; ``None`` if nothing was found.

        No job is spread further than its level. For a gang on one node they are the fewest GPUs whose jobs find room
        elsewhere, each at its tightest place, the largest first; that is a rule of thumb, and other places might have
        let fewer do.
        """
        state, one_node = self._state, self._state.status.locality.fewest[job] == 1
        gpus = int(state.amounts.g[job])
        held = find_placement(state, job, level)
        if held is not None:
            return {}, held
        if level < TOGETHER or state.gpus.sum() < gpus:
            return None
        if one_node:
            for trial, (node, jobs) in enumerate(self._sets(job)):
                found = self._moved(job, {node: gpus}, jobs)
                if found is not None:
                    return found
                if trial == MOST_TRIALS:
                    break
            if level == TOGETHER:
                return None
        leaving = self._removals.smallest(job, level)
        if leaving is None or int(state.amounts.g[list(leaving[0])].sum()) > self._budget:
            return None
        return self._moved(job, leaving[1], leaving[0])

    def _sets(self, job: int) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield nodes with jobs whose leaving makes room for the gang there, the fewest GPUs first."""
        state, gpus = self._state, int(self._state.amounts.g[job])
        nodes = np.flatnonzero(self._removals.room(job) >= gpus)
        least = np.maximum(gpus - state.gpus[nodes], 1)
        within = np.flatnonzero(least <= self._budget)
        order = within[np.argsort(least[within], kind="stable")]
        line = [(int(least[place]), int(nodes[place])) for place in self._unlike(nodes, order)]
        heap: list[tuple[int, int, tuple[int, ...]]] = []
        for start in range(0, len(line), _AT_ONCE):
            some = line[start : start + _AT_ONCE]
            for (first, node), found in zip(some, self._enough(job, [node for _, node in some]), strict=True):
                while heap and heap[0][0] < first:
                    _, at, jobs = heappop(heap)
                    yield at, jobs
                for cost, chosen in found:
                    heappush(heap, (cost, node, chosen))
        while heap and len(line) <= 2 * MOST_TRIALS:
            _, at, jobs = heappop(heap)
            yield at, jobs

    def _unlike(self, nodes: Ints, order: Ints) -> list[int]:
        """Return the first places of nodes, in an order, that differ in what they have free or in who may leave."""
        seen: dict[object, int] = {}
        for place in order.tolist():
            seen.setdefault(self._alike(int(nodes[place])), place)
            if len(seen) > 2 * MOST_TRIALS:
                break
        return list(seen.values())

    def _alike(self, node: int) -> object:
        """Return all that matters of a node to who may leave it."""
        if node not in self._looks:
            state = self._state
            free = (int(state.gpus[node]), int(state.cpus[node]), int(state.memory[node]))
            rack = int(state.status.locality.rack[node])
            self._looks[node] = (free, rack, *sorted(item.kind for item in self._removals.items(node)))
        return self._looks[node]

    def _enough(self, job: int, nodes: Sequence[int]) -> list[list[Leaving]]:
        """Return for each node the sets of jobs without which the gang has room there; none has a job to spare."""
        amounts, gpus = self._state.amounts, int(self._state.amounts.g[job])
        if self._state.status.rules.dedicated is not None:
            return [list(self._enough_alone(job, node, self._removals.items(node))) for node in nodes]
        return self._removals.sets.enough(
            nodes, (gpus, gpus * int(amounts.c[job]), gpus * int(amounts.m[job])), self._budget
        )

    def _enough_alone(self, job: int, node: int, items: Sequence[Item]) -> Iterator[Leaving]:
        """Yield the same of one node, where some jobs have their nodes to themselves."""
        state, amounts = self._state, self._state.amounts
        gpus, alone = int(amounts.g[job]), state.is_alone(job)
        others = np.delete(state.gpus, node)
        most = int(others.max(initial=0))
        must = [item for item in items if alone or state.is_alone(item.job)]
        rest = sorted((item for item in items if item not in must), key=lambda item: (item.gpus, item.job))[:MOST_ITEMS]
        need = np.array([gpus, gpus * amounts.c[job], gpus * amounts.m[job]])
        need -= np.array([state.gpus[node], state.cpus[node], state.memory[node]])
        for count in range(len(rest) + 1):
            for chosen in combinations(rest, count):
                jobs = [*must, *chosen]
                cost = sum(item.gpus for item in jobs)
                if cost > self._budget or any(not self._may_fit(item, most) for item in jobs):
                    continue
                freed = np.array([item.frees for item in jobs], dtype=np.int64).reshape(-1, 3)
                over = freed.sum(axis=0) - need
                spare = [item for item in chosen if (over >= np.array(item.frees)).all()]
                if (over >= 0).all() and not spare:
                    yield cost, tuple(item.job for item in jobs)

    def _may_fit(self, item: Item, most: int) -> bool:
        """Return whether a job that has to be on one node could be on another, by its GPUs."""
        status = self._state.status
        together = status.widest[item.job] == TOGETHER and status.locality.fewest[item.job] == 1
        return not together or item.gpus <= most

    def _moved(self, job: int, held: Held, leaving: tuple[int, ...]) -> Moves | None:
        """Return where the jobs find room beside the gang; the state is left as it was."""
        state = self._state
        where = {other: state.take(other) for other in leaving}
        state.put(job, held)
        places: dict[int, Held] = {}
        for other in sorted(leaving, key=lambda other: (-int(state.amounts.g[other]), other)):
            place = find_placement(state, other, int(state.status.widest[other]))
            if place is None:
                break
            state.put(other, place)
            places[other] = place
        for other in (*places, job):
            state.take(other)
        for other, place in where.items():
            state.put(other, place)
        if len(places) < len(leaving):
            return None
        return {other: place for other, place in places.items() if place != where[other]}, held
