"""Gangs placed whole one after another: as ``place_gang`` does, and the same places sooner where any nodes will do."""

from __future__ import annotations

from typing import Protocol

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.memoise import recalled
from muri_opt.rounds.stopping import look_at_clock
from muri_opt.systems.capacity.free_capacity import Leftover
from muri_opt.systems.capacity.gang_fit import place_gang
from muri_opt.systems.capacity.held_parts import Parts
from muri_opt.systems.capacity.known_parts import KnownParts
from muri_opt.systems.capacity.node_looks import Kind
from muri_opt.systems.capacity.room_sets import RoomSets


class GangPlacer(Protocol):
    """Takes room for gangs, one after another, beside what is placed already."""

    def place(self, job: int, held: Ints | None) -> Ints | None:
        """Place a gang and return its GPUs per node, on those ``held`` if it can; ``None``: there is no room."""

    def put(self, job: int, share: Ints) -> None:
        """Place a gang where it is known to have room."""

    def fits(self, job: int) -> bool:
        """Return whether there is room for a gang."""

    def end(self) -> None:
        """Let what was left before be what the gangs leave."""


def gang_placer(round_: Round, left: Leftover, *, consolidate: bool, known: KnownParts | None = None) -> GangPlacer:
    """Return who places gangs beside what is placed already; it is changed with every gang, its nodes in the end.

    ``known`` has the parts of shares, those that gangs hold and those that they are given.

    >>> round_ = shipped_round("toy/two-gangs")
    >>> gang_placer(round_, Leftover(round_), consolidate=False).place(1, None)
    array([4, 2])
    """
    anywhere = left.sets is None and left.types is None and not consolidate
    return (
        _Anywhere(round_, left, known or KnownParts()) if anywhere else _OneByOne(round_, left, consolidate=consolidate)
    )


class _OneByOne:
    """Looks at all nodes for every gang."""

    def __init__(self, round_: Round, left: Leftover, *, consolidate: bool) -> None:
        self._round, self._left, self._consolidate = round_, left, consolidate

    def place(self, job: int, held: Ints | None) -> Ints | None:
        share = place_gang(self._round, self._left, job, consolidate=self._consolidate, held=held)
        if share is not None:
            self._left.take(share, job)
        return share

    def put(self, job: int, share: Ints) -> None:
        self._left.take(share, job)

    def fits(self, job: int) -> bool:
        return place_gang(self._round, self._left, job, consolidate=self._consolidate) is not None

    def end(self) -> None:
        """Nothing is left to do."""


class _Anywhere:
    """Looks at the nodes by the room that they have for a kind of gang."""

    def __init__(self, round_: Round, left: Leftover, known: KnownParts) -> None:
        look_at_clock()
        self._left, self._count, self._known = left, len(left.gpus), known
        self._gpus, self._tenant, self._kind = _asked(round_)
        self._asks: list[int] = self._gpus if left.asks is round_.amounts.g else left.asks.tolist()
        self._charges = bool(len(round_.amounts.U))
        self._rooms = RoomSets(*left.left.tolist())
        self._short: dict[Kind, int] = {}
        """The fewest GPUs for which gangs of a kind found no room: what is free only shrinks."""

    def place(self, job: int, held: Ints | None) -> Ints | None:
        kind, gpus = self._kind[job], self._gpus[job]
        if held is None or not self._stays(kind, gpus, parts := self._known.of(held)):
            found = self._found(kind, gpus)
            if found is None:
                return None
            parts, held = found, self._known.share(found, self._count)
        self._take(job, parts)
        return held

    def put(self, job: int, share: Ints) -> None:
        self._take(job, self._known.of(share))

    def fits(self, job: int) -> bool:
        return self._found(self._kind[job], self._gpus[job]) is not None

    def _take(self, job: int, parts: Parts) -> None:
        self._rooms.take(self._kind[job], parts)
        if self._charges:
            self._left.charge(self._tenant[job], self._asks[job])

    def _found(self, kind: Kind, gpus: int) -> Parts | None:
        """Return the best fit of a gang."""
        if gpus >= self._short.get(kind, gpus + 1):
            return None
        look_at_clock()
        found = self._rooms.best_fit(kind, gpus)
        if found is None:
            self._short[kind] = gpus
        return found

    def _stays(self, kind: Kind, gpus: int, home: Parts) -> bool:
        """Return whether a gang of so many GPUs can be where it is held."""
        has = home[0][1] if len(home) == 1 else sum([part for _, part in home])
        return has == gpus and self._rooms.holds(kind, home)

    def end(self) -> None:
        self._left.left[:] = self._rooms.free


@recalled
def _asked(round_: Round) -> tuple[list[int], list[int], list[Kind]]:
    """Return what the gangs of a round ask for as plain numbers: GPUs, tenants, and what goes with each GPU."""
    amounts = round_.amounts
    kinds = list(zip(amounts.c.tolist(), amounts.m.tolist(), strict=True))
    return amounts.g.tolist(), amounts.tenant.tolist(), kinds
