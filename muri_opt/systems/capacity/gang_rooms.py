"""Gangs placed whole one after another: as ``place_gang`` does, and the same places sooner where any nodes will do."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.stopping import look_at_clock
from muri_opt.systems.capacity.free_capacity import Leftover
from muri_opt.systems.capacity.gang_fit import place_gang
from muri_opt.systems.capacity.held_parts import Parts
from muri_opt.systems.capacity.room_sets import RoomSets


class GangPlacer(Protocol):
    """Takes room for gangs, one after another, beside what is placed already."""

    def place(self, job: int, held: Ints | None) -> Ints | None:
        """Place a gang and return its GPUs per node, on those ``held`` if it can; ``None``: there is no room."""

    def end(self) -> None:
        """Let what was left before be what the gangs leave."""


def gang_placer(round_: Round, left: Leftover, *, consolidate: bool) -> GangPlacer:
    """Return who places gangs beside what is placed already; it is changed with every gang, its nodes in the end.

    >>> round_ = shipped_round("toy/two-gangs")
    >>> gang_placer(round_, Leftover(round_), consolidate=False).place(1, None)
    array([4, 2])
    """
    anywhere = left.sets is None and left.types is None and not consolidate
    return _Anywhere(round_, left) if anywhere else _OneByOne(round_, left, consolidate=consolidate)


class _OneByOne:
    """Looks at all nodes for every gang."""

    def __init__(self, round_: Round, left: Leftover, *, consolidate: bool) -> None:
        self._round, self._left, self._consolidate = round_, left, consolidate

    def place(self, job: int, held: Ints | None) -> Ints | None:
        share = place_gang(self._round, self._left, job, consolidate=self._consolidate, held=held)
        if share is not None:
            self._left.take(share, job)
        return share

    def end(self) -> None:
        """Nothing is left to do."""


class _Anywhere:
    """Looks at the nodes by the room that they have for a kind of gang."""

    def __init__(self, round_: Round, left: Leftover) -> None:
        amounts = round_.amounts
        self._left, self._count = left, len(left.gpus)
        self._gpus: list[int] = amounts.g.tolist()
        self._tenant: list[int] = amounts.tenant.tolist()
        self._asks: list[int] = left.asks.tolist()
        self._kind = list(zip(amounts.c.tolist(), amounts.m.tolist(), strict=True))
        self._rooms = RoomSets(left.gpus.tolist(), left.cpus.tolist(), left.memory.tolist())

    def place(self, job: int, held: Ints | None) -> Ints | None:
        look_at_clock()
        kind, home = self._kind[job], None if held is None else _parts_of(held)
        stays = home is not None and sum(gpus for _, gpus in home) == self._gpus[job]
        if stays and home is not None and self._rooms.holds(kind, home):
            parts, share = home, held
        else:
            found = self._rooms.best_fit(kind, self._gpus[job])
            if found is None:
                return None
            parts, share = found, np.zeros(self._count, dtype=np.int64)
            for node, gpus in parts:
                share[node] = gpus
        self._rooms.take(kind, parts)
        self._left.charge(self._tenant[job], self._asks[job])
        return share

    def end(self) -> None:
        self._left.left[:] = self._rooms.free


def _parts_of(share: Ints) -> Parts:
    nodes = share.nonzero()[0]
    return list(zip(nodes.tolist(), share[nodes].tolist(), strict=True))
