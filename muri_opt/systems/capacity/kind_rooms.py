"""The room for each kind of gang on nodes where nothing is placed any more, worked out once for all gangs of a kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Amounts, Ints, gpus_that_fit, rooms_that_fit
from muri_opt.systems.capacity.free_capacity import Leftover

_AT_ONCE: Final = 64
"""Kinds that are looked at together: what that needs stays in the processor's cache."""


@dataclass(frozen=True, kw_only=True, eq=False)
class KindRoom:
    """How many GPUs fit that need so many milli-CPUs and MiB each: ``most`` in the empty cluster, and ``free`` now."""

    needs: tuple[int, int]
    amounts: Amounts
    left: Leftover
    most: int
    free: int

    @cached_property
    def empty(self) -> Ints:
        """How many fit on each node of the empty cluster."""
        return gpus_that_fit(self.needs, self.amounts.G, self.amounts.C, self.amounts.M)

    @cached_property
    def now(self) -> Ints:
        """How many fit on each node now."""
        return gpus_that_fit(self.needs, self.left.gpus, self.left.cpus, self.left.memory)

    @cached_property
    def reach(self) -> Ints:
        """The GPUs that fit now on the roomiest node, on the two roomiest, and so on."""
        return _reach(self.now)

    @cached_property
    def empty_reach(self) -> Ints:
        """The same of the empty cluster."""
        return _reach(self.empty)

    def most_on(self, nodes: int) -> int:
        """Return how many GPUs fit now on so many nodes."""
        return int(self.reach[:nodes].max(initial=0))

    def nodes_needed(self, gpus: int) -> int:
        """Return how many of the roomiest nodes hold so many GPUs; one more than there are where all do not."""
        return int(np.searchsorted(self.reach, gpus)) + 1

    def nodes_needed_empty(self, gpus: int) -> int:
        """Return the same of the empty cluster."""
        return int(np.searchsorted(self.empty_reach, gpus)) + 1


class KindRooms:
    """The rooms by what gangs need with a GPU; wherever they may start is not looked at.

    >>> rooms = KindRooms(round_ := shipped_round("toy/two-gangs"), Leftover(round_))
    >>> rooms.of(0).most, rooms.of(0).nodes_needed(6)
    (8, 2)
    """

    def __init__(self, round_: Round, left: Leftover) -> None:
        self._amounts, self._left = round_.amounts, left
        self._known: dict[tuple[int, int], KindRoom] = {}

    def of(self, job: int) -> KindRoom:
        """Return the room for gangs like a job."""
        kind = self._amounts.c.item(job), self._amounts.m.item(job)
        if kind not in self._known:
            self.look_at([job])
        return self._known[kind]

    def look_at(self, jobs: Sequence[int]) -> None:
        """Look at many jobs at once: :meth:`of` then knows the room for each."""
        amounts, left = self._amounts, self._left
        asked = dict.fromkeys(zip(amounts.c[jobs].tolist(), amounts.m[jobs].tolist(), strict=True))
        new = [kind for kind in asked if kind not in self._known]
        for start in range(0, len(new), _AT_ONCE):
            some = new[start : start + _AT_ONCE]
            needs = np.array(some, dtype=np.int64)
            empty = rooms_that_fit(needs, amounts.G, amounts.C, amounts.M)
            now = rooms_that_fit(needs, left.gpus, left.cpus, left.memory)
            sums = (np.maximum(room, 0).sum(axis=1).tolist() for room in (empty, now))
            for kind, most, free in zip(some, *sums, strict=True):
                self._known[kind] = KindRoom(needs=kind, amounts=amounts, left=left, most=most, free=free)


def _reach(room: Ints) -> Ints:
    """Return how many GPUs the one, two, three roomiest nodes hold, and so on."""
    return np.cumsum(np.sort(room)[::-1])
