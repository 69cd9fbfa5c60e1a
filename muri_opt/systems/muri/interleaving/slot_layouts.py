"""Who may sit where: the ways to put the jobs of a group on the slots of a cycle."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, permutations

import numpy as np

from muri_opt.rounds.amounts import Ints


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Some slots of the cycle and the orders in which the jobs may take them.

    In the a-th of the orders, the job at position ``orders[a, c]`` of the group begins its first stage in slot
    ``slots[c]``; every other slot stays empty.
    """

    slots: tuple[int, ...]
    orders: Ints

    def slots_of_jobs(self) -> Ints:
        """Return an array whose entry (a, j) is the slot of job j in the a-th order."""
        places = np.empty_like(self.orders)
        np.put_along_axis(places, self.orders, np.broadcast_to(self.slots, self.orders.shape), axis=1)
        return places


@lru_cache(maxsize=64)
def every_layout(jobs: int, slots: int) -> tuple[Layout, ...]:
    """Return all orders on all choices of slots.

    Turning the whole cycle changes nothing, so the first job always sits in slot 0: of k! / (k - p)! ways,
    (k - 1)! / (k - p)! are left.
    """
    others = np.array([(0, *rest) for rest in permutations(range(1, jobs))], dtype=np.int64)
    return tuple(Layout((0, *rest), others) for rest in combinations(range(1, slots), jobs - 1))


@lru_cache(maxsize=64)
def packed_layout(jobs: int, slots: int) -> tuple[Layout, ...]:
    """Return all orders on the first slots; the empty slots, ``slots - jobs`` of them, come last."""
    del slots  # however many there are, the jobs sit on the first ones
    return (Layout(tuple(range(jobs)), np.array(list(permutations(range(jobs))), dtype=np.int64)),)


@lru_cache(maxsize=64)
def packed_or_opposite(jobs: int, slots: int) -> tuple[Layout, ...]:
    """Return all orders on the first slots and, for two jobs, also the second job half a cycle after the first."""
    packed = packed_layout(jobs, slots)
    return (*packed, Layout((0, 2), np.array([[0, 1]], dtype=np.int64))) if jobs == 2 else packed
