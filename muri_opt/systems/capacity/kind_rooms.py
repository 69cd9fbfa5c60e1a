"""The room for each kind of gang on nodes where nothing is placed any more, worked out once for all gangs of a kind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.capacity.free_capacity import Leftover


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KindRoom:
    """How many GPUs of a kind of gang fit on each node: of the ``empty`` cluster, and ``now``; and on all of them."""

    empty: Ints
    now: Ints
    most: int
    free: int
    reach: Ints
    """The GPUs that fit now on the roomiest node, on the two roomiest, and so on."""
    empty_reach: Ints

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
        amounts = self._amounts
        kind = int(amounts.c[job]), int(amounts.m[job])
        if kind not in self._known:
            empty, now = amounts.most_gpus([job], amounts.G, amounts.C, amounts.M), self._left.room(job)
            reach, empty_reach = (np.cumsum(np.sort(room)[::-1]) for room in (now, empty))
            most, free = int(empty.sum()), int(now.sum())
            self._known[kind] = KindRoom(
                empty=empty, now=now, most=most, free=free, reach=reach, empty_reach=empty_reach
            )
        return self._known[kind]
