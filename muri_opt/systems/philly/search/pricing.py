"""The best that every node can hold at given prices: one table for what may come, and every choice of who goes.

The pricing problem of the decomposition: a knapsack in up to three dimensions by dynamic programming, whose table
serves all classes of nodes, for every subset of residents that may stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.philly.search.prices import Floats, Ground, Prices, Weights

CELLS = 20_000
"""Cells of the table; CPUs and memory are counted in larger units where there would be more."""

Part = tuple[int, int]
"""A kind of gangs and how many GPUs of one of them are on a node."""
Pattern = tuple[int, int, tuple[Part, ...]]
"""A class of nodes, which of its residents stay (as bits), and the parts that come."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Offer:
    """What each class of nodes earns at most at given prices, and the bound of the round that follows."""

    earned: Floats
    bound: float
    stay: Ints
    cell: Ints
    table: _Table

    def pattern(self, which: int) -> Pattern:
        """Return the best pattern of a class."""
        return which, int(self.stay[which]), self.table.parts(int(self.cell[which]))


class Pricing:
    """Finds the best patterns of a ground, whatever the prices."""

    def __init__(self, ground: Ground, cells: int = CELLS) -> None:
        self.ground = ground
        self.grid = _Grid.of(ground, cells)
        self.choices = tuple(_choices(ground, self.grid))

    def offer(self, weights: Weights, prices: Prices) -> Offer:
        """Return what nodes earn at these prices."""
        ground, residents = self.ground, self.ground.rooms.residents
        table = _Table(ground, self.grid, weights, prices)
        once = np.append(prices.once, 0.0)[residents.kind]
        each = weights.worth * residents.worth + weights.kept - once
        gain = residents.units * (each + ground.premium(weights, prices, residents.tenant))
        earned = np.zeros(len(ground.rooms))
        stay, cell = np.zeros((2, len(ground.rooms)), dtype=np.int64)
        best = table.best.ravel()
        for choice in self.choices:
            worth = gain[choice.residents] @ choice.bits + np.where(choice.fits, best[choice.cell], -np.inf)
            taken = np.argmax(worth, axis=1)
            rows = np.arange(len(taken))
            earned[choice.classes], stay[choice.classes] = worth[rows, taken], taken
            cell[choice.classes] = choice.cell[rows, taken]
        bound = ground.apart_from_nodes(weights, prices) + float(ground.rooms.count @ earned)
        return Offer(earned=earned, bound=bound, stay=stay, cell=cell, table=table)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Choices:
    """Classes with the same number of residents: every set of those that stay, and the cell of what is left."""

    classes: Ints
    residents: Ints
    bits: Floats
    cell: Ints
    fits: np.ndarray[tuple[int, int], np.dtype[np.bool_]]


def _choices(ground: Ground, grid: _Grid) -> Iterator[_Choices]:
    rooms, residents = ground.rooms, ground.rooms.residents
    mine = [rooms.of_class(which) for which in range(len(rooms))]
    sizes = np.array([len(some) for some in mine], dtype=np.int64)
    use = np.column_stack([residents.units, residents.units * residents.c, residents.units * residents.m])
    for size in np.unique(sizes).tolist():
        classes = np.flatnonzero(sizes == size)
        parts = np.array([mine[which] for which in classes.tolist()], dtype=np.int64).reshape(len(classes), size)
        bits = (np.arange(1 << size) >> np.arange(size)[:, None]) & 1
        left = rooms.room[classes][:, None, :] - np.einsum("cra,rb->cba", use[parts], bits)
        fits = (left >= 0).all(axis=2)
        cell = np.where(fits, grid.cell(np.maximum(left, 0)), 0)
        yield _Choices(classes=classes, residents=parts, bits=bits.astype(np.float64), cell=cell, fits=fits)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grid:
    """Room in units, for GPUs and for CPUs and memory where they can run short before the GPUs do."""

    axes: tuple[int, ...]
    units: tuple[int, ...]
    shape: tuple[int, ...]

    @classmethod
    def of(cls, ground: Ground, cells: int) -> _Grid:
        asks, room, residents = ground.asks, ground.rooms.room, ground.rooms.residents
        each = (np.ones_like(asks.g), asks.c, asks.m)
        axes = [0]
        for axis, theirs in ((1, residents.c), (2, residents.m)):
            mine = int(each[axis].max(initial=0))
            most = max(mine, int(theirs.max(initial=0)))  # what residents leave may be short of it as well
            if mine and bool((room[:, 0] * most > room[:, axis]).any()):
                axes.append(axis)
        units = [max(1, int(np.gcd.reduce(each[axis]))) if len(asks) else 1 for axis in axes]
        largest = [
            min(int(room[:, axis].max(initial=0)), int(each[axis].max(initial=0) * room[:, 0].max(initial=0)))
            for axis in axes
        ]
        shape = [has // unit + 1 for has, unit in zip(largest, units, strict=True)]
        while prod(shape) > cells and max(shape[1:], default=0) > 2:
            longest = 1 + int(np.argmax(shape[1:]))
            units[longest] *= 2
            shape[longest] = largest[longest] // units[longest] + 1
        return cls(axes=tuple(axes), units=tuple(units), shape=tuple(shape))

    def cell(self, room: Ints) -> Ints:
        """Return the cells of rooms (GPUs, CPUs, memory along the last axis)."""
        found = np.zeros(room.shape[:-1], dtype=np.int64)
        for axis, unit, length in zip(self.axes, self.units, self.shape, strict=True):
            found = found * length + np.minimum(room[..., axis] // unit, length - 1)
        return found

    def sizes(self, each: tuple[int, int, int], gpus: int) -> tuple[int, ...]:
        """Return the units that so many GPUs take, with what goes with each of them."""
        return tuple(gpus * each[axis] // unit for axis, unit in zip(self.axes, self.units, strict=True))


class _Table:
    """The most profit of gangs that may come, within every room; of each gang one part at most."""

    def __init__(self, ground: Ground, grid: _Grid, weights: Weights, prices: Prices) -> None:
        asks = ground.asks
        extra = weights.kept * asks.moves + ground.premium(weights, prices, asks.tenant) - prices.once
        self.ground, self.grid = ground, grid
        self.near = np.where(asks.near >= 0, weights.worth * asks.near + extra, 0.0)
        self.apart = np.where(asks.apart >= 0, weights.worth * asks.apart + extra, 0.0)
        self.kinds: list[int] = []
        self.taken: list[np.ndarray[tuple[int, ...], np.dtype[np.int16]]] = []
        self.best: Floats = np.zeros(grid.shape)
        for kind, copies in self._worthwhile():
            for _ in range(copies):
                self._add(kind)

    def _worthwhile(self) -> Iterator[tuple[int, int]]:
        """Yield the kinds that a best pattern may need, and how many of each: few of equal size are enough."""
        asks, most = self.ground.asks, self.grid.shape[0] - 1
        needed: dict[int, int] = {}
        for gain, size in ((self.near, asks.least), (self.apart, np.ones_like(asks.g))):
            some = np.flatnonzero((gain > 0) & (size <= most))
            order = some[np.lexsort((-gain[some], asks.m[some], asks.c[some], size[some]))]
            seen: tuple[int, int, int] | None = None
            room = 0
            for kind in order.tolist():
                alike = (int(size[kind]), int(asks.c[kind]), int(asks.m[kind]))
                if alike != seen:
                    seen, room = alike, most // alike[0]
                copies = min(room, int(asks.count[kind]))
                if copies:
                    needed[kind] = max(needed.get(kind, 0), copies)
                    room -= copies
        yield from sorted(needed.items())

    def _add(self, kind: int) -> None:
        asks, shape = self.ground.asks, self.grid.shape
        each = (1, int(asks.c[kind]), int(asks.m[kind]))
        gpus, after = int(asks.g[kind]), self.best.copy()
        taken = np.zeros(shape, dtype=np.int16)
        for units in range(1, min(gpus, shape[0] - 1) + 1):
            gain = self.near[kind] if asks.near[kind] >= 0 and units >= asks.least[kind] else self.apart[kind]
            if units == gpus and asks.near[kind] < 0:
                continue
            sizes = self.grid.sizes(each, units)
            if gain <= 0 or any(size >= length for size, length in zip(sizes, shape, strict=True)):
                continue
            here = tuple(slice(size, None) for size in sizes)
            there = tuple(slice(0, length - size) for size, length in zip(sizes, shape, strict=True))
            with_it = self.best[there] + units * gain
            better = with_it > after[here]
            after[here][better] = with_it[better]
            taken[here][better] = units
        self.kinds.append(kind)
        self.taken.append(taken)
        self.best = after

    def parts(self, cell: int) -> tuple[Part, ...]:
        """Return the parts of a best pattern within the room of a cell."""
        asks, found = self.ground.asks, []
        at = tuple(int(place) for place in np.unravel_index(cell, self.grid.shape))
        for kind, taken in zip(reversed(self.kinds), reversed(self.taken), strict=True):
            units = int(taken[at])
            if units:
                found.append((kind, units))
                sizes = self.grid.sizes((1, int(asks.c[kind]), int(asks.m[kind])), units)
                at = tuple(place - size for place, size in zip(at, sizes, strict=True))
        return tuple(sorted(found))
