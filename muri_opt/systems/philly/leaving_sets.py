"""Which jobs could leave a node so that a gang has room there: all sets of few jobs looked at together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.philly.cluster_state import ClusterState
from muri_opt.systems.philly.eviction_cover import Amount, Cover, Item, in_search_order
from muri_opt.systems.philly.locality import TOGETHER

MOST_ITEMS: Final = 10
"""Jobs of a node of which all sets are looked at, the smallest of them."""
_TOO_DEAR: Final = 1 << 62

Leaving = tuple[int, tuple[int, ...]]
"""Jobs that leave a node, and the GPUs they have in all."""


class LeavingSets:
    """The sets of jobs that may leave each node, and what they free there. A set is a number: job i of a node is bit i.

    ``items`` says who may leave a node. Jobs that share their nodes with nobody are not provided for. The jobs of a
    node are in the order of the search for the cheapest set, the last first: of equally cheap sets the search finds
    that of the largest number.
    """

    def __init__(self, state: ClusterState, items: Callable[[int], Sequence[Item]]) -> None:
        self._state, self._items = state, items
        self._width = min(MOST_ITEMS, max(map(len, state.residents), default=0))
        self._members: Ints = (np.arange(1 << self._width)[:, None] >> np.arange(self._width)) & 1
        self._row: dict[int, int] = {}
        self._jobs: list[list[Item]] = []
        self._sums: Ints = np.zeros((7, 0, 1 << self._width), dtype=np.int64)
        """GPUs, milli-CPUs and MiB freed, GPUs in all, the largest job that has to be on one node, and both costs."""
        order = np.argsort(-state.gpus, kind="stable")[:2].tolist()
        self._roomiest = (order[0], *(int(state.gpus[node]) for node in order)) if order else (-1,)

    def cheapest(self, nodes: Sequence[int], needs: Amount) -> list[Cover | None]:
        """Return for each of the nodes the cheapest jobs without which a gang has what it needs there."""
        rows = [self._row_of(node) for node in nodes]
        does, dear, cheap = self._does(rows, nodes, needs), self._sums[5][rows], self._sums[6][rows]
        for cost in (dear, cheap):
            least = np.where(does, cost, _TOO_DEAR).min(axis=1)
            does &= cost == least[:, None]
        numbers = does.shape[1] - 1 - does[:, ::-1].argmax(axis=1)
        found: list[Cover | None] = []
        for place, number in enumerate(numbers.tolist()):
            jobs = tuple(item.job for item in reversed(self._members_of(rows[place], number)))
            cost_of = int(dear[place, number]), int(cheap[place, number])
            found.append((cost_of, jobs) if does[place, number] else None)
        return found

    def enough(self, nodes: Sequence[int], needs: Amount, budget: int) -> list[list[Leaving]]:
        """Return for each of the nodes the sets of at most so many GPUs that leave what a gang needs, no job to spare.

        A job that has to be on one node is in none of them if no other node has as many free GPUs.
        """
        rows = [self._row_of(node) for node in nodes]
        does = self._does(rows, nodes, needs)
        spare = np.zeros_like(does)
        for bit in range(self._width):
            halves = (len(rows), -1, 2, 1 << bit)
            with_it, without = does.reshape(halves)[:, :, 1], does.reshape(halves)[:, :, 0]
            spare.reshape(halves)[:, :, 1] |= with_it & without
        others = np.array([self._most_elsewhere(node) for node in nodes])
        gpus, largest = self._sums[3][rows], self._sums[4][rows]
        fits = does & ~spare & (gpus <= budget) & (largest <= others[:, None])
        found: list[list[Leaving]] = [[] for _ in nodes]
        for place, number in zip(*(part.tolist() for part in np.nonzero(fits)), strict=True):
            chosen = sorted(self._members_of(rows[place], number), key=lambda item: (item.gpus, item.job))
            found[place].append((int(gpus[place, number]), tuple(item.job for item in chosen)))
        return found

    def _does(self, rows: list[int], nodes: Sequence[int], needs: Amount) -> NDArray[np.bool_]:
        """Return for each of the nodes and sets whether a gang has what it needs there without the set."""
        need = np.array(needs, dtype=np.int64)[:, None] - self._state.left[:, list(nodes)]
        return np.asarray((self._sums[:3, rows] >= need[:, :, None]).all(axis=0))

    def _members_of(self, row: int, number: int) -> list[Item]:
        return [item for bit, item in enumerate(self._jobs[row]) if number >> bit & 1]

    def _most_elsewhere(self, node: int) -> int:
        """Return the free GPUs of the roomiest other node."""
        first, *most = self._roomiest
        return most[node == first] if len(most) > 1 or node != first else 0

    def _row_of(self, node: int) -> int:
        """Return the row of the tables in which the sets of a node are, made when it is first asked for."""
        if node not in self._row:
            if len(self._row) == self._sums.shape[1]:
                more = np.zeros((7, max(64, len(self._row)), 1 << self._width), dtype=np.int64)
                self._sums = np.concatenate([self._sums, more], axis=1)
            row = self._row[node] = len(self._row)
            items = sorted(self._items(node), key=lambda item: (item.gpus, item.job))[: self._width]
            items = in_search_order(items)[::-1]
            self._jobs.append(items)
            members = self._members[:, : len(items)]
            each = [(*item.frees, item.gpus, 0, item.dear, item.cheap) for item in items]
            self._sums[:, row] = (members @ np.array(each, dtype=np.int64).reshape(-1, 7)).T
            whole = [item.gpus if self._stays_whole(item.job) else 0 for item in items]
            self._sums[4, row] = (members * np.array(whole, dtype=np.int64)).max(axis=1, initial=0)
        return self._row[node]

    def _stays_whole(self, job: int) -> bool:
        """Return whether a job has to be on one node."""
        status = self._state.status
        return bool(status.widest[job] == TOGETHER and status.locality.fewest[job] == 1)
