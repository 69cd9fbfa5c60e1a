"""Which sets of jobs could leave a node so that a gang has room there: all sets of few jobs looked at together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.philly.cluster_state import ClusterState
from muri_opt.systems.philly.eviction_cover import Amount
from muri_opt.systems.philly.locality import TOGETHER
from muri_opt.systems.philly.preemption import Removals

MOST_ITEMS: Final = 10
"""Jobs of a node of which all sets are looked at, the smallest of them."""

Leaving = tuple[int, tuple[int, ...]]
"""Jobs that leave a node, and the GPUs they have in all."""


class NodeSets:
    """The sets of jobs that may leave each node, and what they free there. A set is a number: job i of a node is bit i.

    Jobs that share their nodes with nobody are not provided for.
    """

    def __init__(self, floor: ClusterState, removals: Removals) -> None:
        self._floor, self._removals = floor, removals
        self._width = min(MOST_ITEMS, max(map(len, floor.residents), default=0))
        numbers = np.arange(1 << self._width)
        self._members: Ints = (numbers[:, None] >> np.arange(self._width)) & 1
        self._row: dict[int, int] = {}
        self._jobs: list[list[int]] = []
        self._frees: Ints = np.zeros((0, len(numbers), 3), dtype=np.int64)
        self._gpus: Ints = np.zeros((0, len(numbers)), dtype=np.int64)
        self._largest: Ints = np.zeros((0, len(numbers)), dtype=np.int64)
        order = np.argsort(-floor.gpus, kind="stable")[:2].tolist()
        self._roomiest = (order[0], *(int(floor.gpus[node]) for node in order)) if order else (-1,)

    def enough(self, nodes: Sequence[int], needs: Amount, budget: int) -> list[list[Leaving]]:
        """Return for each of the nodes the sets of at most so many GPUs that leave what a gang needs, no job to spare.

        A job that has to be on one node is in none of them if no other node has as many free GPUs.
        """
        rows = [self._row_of(node) for node in nodes]
        need = np.array(needs, dtype=np.int64) - self._floor.left[:, list(nodes)].T
        does: NDArray[np.bool_] = np.asarray((self._frees[rows] >= need[:, None, :]).all(axis=2))
        spare = np.zeros_like(does)
        for bit in range(self._width):
            halves = (len(rows), -1, 2, 1 << bit)
            with_it, without = does.reshape(halves)[:, :, 1], does.reshape(halves)[:, :, 0]
            spare.reshape(halves)[:, :, 1] |= with_it & without
        others = np.array([self._most_elsewhere(node) for node in nodes])
        fits = does & ~spare & (self._gpus[rows] <= budget) & (self._largest[rows] <= others[:, None])
        found: list[list[Leaving]] = [[] for _ in nodes]
        for place, number in zip(*(part.tolist() for part in np.nonzero(fits)), strict=True):
            jobs = self._jobs[rows[place]]
            chosen = tuple(job for bit, job in enumerate(jobs) if number >> bit & 1)
            found[place].append((int(self._gpus[rows[place], number]), chosen))
        return found

    def _most_elsewhere(self, node: int) -> int:
        """Return the free GPUs of the roomiest other node."""
        first, *most = self._roomiest
        return most[node == first] if len(most) > 1 or node != first else 0

    def _row_of(self, node: int) -> int:
        """Return the row of the tables in which the sets of a node are, made when it is first asked for."""
        if node not in self._row:
            if len(self._row) == len(self._gpus):
                more = max(64, len(self._gpus))
                self._frees, self._gpus, self._largest = (
                    np.concatenate([part, np.zeros((more, *part.shape[1:]), dtype=np.int64)])
                    for part in (self._frees, self._gpus, self._largest)
                )
            row = self._row[node] = len(self._row)
            items = sorted(self._removals.items(node), key=lambda item: (item.gpus, item.job))[: self._width]
            self._jobs.append([item.job for item in items])
            members = self._members[:, : len(items)]
            self._frees[row] = members @ np.array([item.frees for item in items], dtype=np.int64).reshape(-1, 3)
            self._gpus[row] = members @ np.array([item.gpus for item in items], dtype=np.int64)
            whole = [item.gpus if self._stays_whole(item.job) else 0 for item in items]
            self._largest[row] = (members * np.array(whole, dtype=np.int64)).max(axis=1, initial=0)
        return self._row[node]

    def _stays_whole(self, job: int) -> bool:
        """Return whether a job has to be on one node."""
        standing = self._floor.standing
        return bool(standing.widest[job] == TOGETHER and standing.locality.fewest[job] == 1)
