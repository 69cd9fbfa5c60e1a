"""Where jobs of many kinds would fit on what is free: a set of nodes is looked at once for all of the same needs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from muri_opt.rounds.amounts import Ints, gpus_that_fit, rooms_that_fit, unlike
from muri_opt.rounds.eligibility import Bools
from muri_opt.systems.capacity.node_sets import Demand
from muri_opt.systems.capacity.shaped_fit import fit_in_sets

Needs = tuple[int, int]
"""Milli-CPUs and MiB with each GPU."""
_AT_ONCE = 1 << 16
"""Numbers, of nodes for needs, that are looked at together: what that needs stays in the processor's cache."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GangsInSets:
    """What gangs ask, ready to be looked at in several states of a cluster: needs, GPUs and a demand each.

    Those at the places ``shaped`` are looked at one by one, and those at the places ``plain`` all at once: the u-th of
    them needs ``gpus[u]`` GPUs with ``needs[kind[v]]`` on the nodes ``inside[row[v]]`` of one of its sets, which are
    the entries v from ``first[u]`` on. Others fit nowhere.
    """

    asked: Sequence[tuple[Needs, int, Demand]]
    shaped: Sequence[int]
    plain: Sequence[int]
    gpus: Ints
    needs: Ints
    kind: Ints
    inside: Bools
    row: Ints
    first: Ints

    @classmethod
    def of(cls, asked: Sequence[tuple[Needs, int, Demand]], nodes: int) -> GangsInSets:
        """Return gangs of so many GPUs as they are asked for, in a cluster of so many nodes."""
        shaped = [at for at, (_, _, demand) in enumerate(asked) if demand.shaped]
        plain = [at for at, (_, gpus, demand) in enumerate(asked) if gpus > 0 and demand.sets and not demand.shaped]
        inside, row, sizes = _sets_of([asked[at][2] for at in plain], nodes)
        kinds, kind = _numbered([asked[at][0] for at in plain])
        return cls(
            asked=asked,
            shaped=shaped,
            plain=plain,
            gpus=np.array([asked[at][1] for at in plain], dtype=np.int64),
            needs=kinds,
            kind=np.repeat(kind, sizes),
            inside=inside,
            row=row,
            first=np.cumsum(sizes) - sizes,
        )


class RoomsInSets:
    """Free GPUs, milli-CPUs and MiB of nodes, which do not change, as room for jobs."""

    def __init__(self, gpus: Ints, cpus: Ints, memory: Ints) -> None:
        self._free = gpus, cpus, memory
        self._rooms: dict[Needs, Ints] = {}
        self._reaches: dict[tuple[Needs, int], tuple[Ints, list[int]]] = {}

    def of(self, needs: Needs) -> Ints:
        """Return how many GPUs of a job fit on each node."""
        if needs not in self._rooms:
            self._rooms[needs] = gpus_that_fit(needs, *self._free)
        return self._rooms[needs]

    def together(self, needs: Sequence[Needs], inside: Bools) -> list[int]:
        """Return how many GPUs of a job fit on some nodes in all: with ``needs[u]`` on those ``inside[u]``.

        >>> rooms = RoomsInSets(np.array([4, 2, 3]), np.array([8, 1, 9]), np.zeros(3))
        >>> rooms.together([(0, 0), (1, 0)], np.array([[True, True, False], [True, True, True]]))
        [6, 8]
        """
        kinds, kind = _numbered(needs)
        found: list[int] = gpus_inside(self._free, kinds, kind, inside, np.arange(len(kind))).tolist()
        return found

    def hold(self, gangs: GangsInSets) -> list[bool]:
        """Return whether gangs fit as their demands ask, on however many nodes; all at once.

        >>> demand = Demand(sets=(np.arange(2), np.array([2])), least=1, most=None, even=False)
        >>> rooms = RoomsInSets(np.array([4, 2, 3]), np.zeros(3), np.zeros(3))
        >>> rooms.hold(GangsInSets.of([((0, 0), 6, demand), ((0, 0), 7, demand)], 3))
        [True, False]
        """
        found = [False] * len(gangs.asked)
        for at in gangs.shaped:
            found[at] = self.fewest_nodes(*gangs.asked[at]) is not None
        if gangs.plain:
            room = gpus_inside(self._free, gangs.needs, gangs.kind, gangs.inside, gangs.row)
            most = np.maximum.reduceat(room, gangs.first)
            for at, well in zip(gangs.plain, (most >= gangs.gpus).tolist(), strict=True):
                found[at] = well
        return found

    def most_in_a_set(self, gpus: Ints, asked: Sequence[tuple[Needs, int, Demand]]) -> list[int]:
        """Return the most of some ``gpus`` of nodes that are in one of the sets of each gang that has room for it here.

        >>> rooms, sets = RoomsInSets(np.array([4, 2, 3]), np.zeros(3), np.zeros(3)), (np.arange(2), np.array([2]))
        >>> gang = (0, 0), 4, Demand(sets=sets, least=1, most=None, even=False)
        >>> rooms.most_in_a_set(np.array([1, 0, 3]), [gang])
        [1]
        """
        if not asked:
            return []
        inside, row, sizes = _sets_of([demand for _, _, demand in asked], len(gpus))
        needs, kind = _numbered([own for own, _, _ in asked])
        room = gpus_inside(self._free, needs, np.repeat(kind, sizes), inside, row)
        enough = room >= np.repeat([asks for _, asks, _ in asked], sizes)
        most: list[int] = np.maximum.reduceat((inside @ gpus)[row] * enough, np.cumsum(sizes) - sizes).tolist()
        return most

    def fewest_nodes(self, needs: Needs, gpus: int, demand: Demand, limit: int | None = None) -> int | None:
        """Return on how many nodes :func:`.shaped_fit.fit_in_sets` puts a gang, or ``None`` where it does not fit.

        >>> demand = Demand(sets=(np.arange(3),), least=1, most=None, even=False)
        >>> RoomsInSets(np.array([4, 2, 3]), np.zeros(3), np.zeros(3)).fewest_nodes((0, 0), 6, demand)
        2
        """
        if demand.shaped:
            share = fit_in_sets(self.of(needs), gpus, demand, limit)
            return None if share is None else int(np.count_nonzero(share))
        needed = gpus + 1
        for nodes in demand.sets:
            reach = self._reach(needs, nodes)
            if reach[-1] >= gpus:
                needed = min(needed, bisect_left(reach, gpus) + 1)
        return None if needed > gpus or (limit is not None and needed > limit) else needed

    def _reach(self, needs: Needs, nodes: Ints) -> Sequence[int]:
        """Return how many GPUs the one, two, three roomiest of some nodes hold, and so on."""
        key = needs, id(nodes)
        if key not in self._reaches:
            room = np.sort(np.maximum(self.of(needs)[nodes], 0))[::-1]
            self._reaches[key] = nodes, np.cumsum(room).tolist()  # as long as the nodes are kept, no others have the id
        return self._reaches[key][1]


def _sets_of(demands: Sequence[Demand], nodes: int) -> tuple[Bools, Ints, Ints]:
    """Return which of so many nodes are in each set of some demands, which of these every demand has, and how many.

    Each has one at least; sets that are one array have one row.
    """
    unlike_ones = {id(demand): demand for demand in demands}
    every = [*chain.from_iterable([demand.sets for demand in unlike_ones.values()])]
    sets = dict(zip(map(id, every), every, strict=True))
    place = dict(zip(sets, range(len(sets)), strict=True))
    inside = np.zeros((len(sets), nodes), dtype=np.bool_)
    if sets:
        inside[np.repeat(np.arange(len(sets)), [*map(len, sets.values())]), np.concatenate([*sets.values()])] = True
    rows = {one: [place[id(some)] for some in demand.sets] for one, demand in unlike_ones.items()}
    each = [rows[id(demand)] for demand in demands]
    row = np.array([*chain.from_iterable(each)], dtype=np.int64)
    return inside, row, np.array([*map(len, each)], dtype=np.int64)


def _numbered(needs: Sequence[Needs]) -> tuple[Ints, Ints]:
    """Return the needs that differ, and which of them each is."""
    number = {one: place for place, one in enumerate(dict.fromkeys(needs))}
    return np.array([*number], dtype=np.int64).reshape(-1, 2), np.array([number[one] for one in needs], dtype=np.int64)


def gpus_inside(free: tuple[Ints, Ints, Ints], needs: Ints, kind: Ints, inside: Bools, row: Ints) -> Ints:
    """Return how many GPUs with the needs ``needs[kind[u]]`` fit on the nodes of the row ``row[u]`` in all.

    ``free`` are the GPUs, milli-CPUs and MiB of each node.

    >>> free, inside = (np.array([4, 2]), np.array([8, 1]), np.zeros(2)), np.array([[True, True], [False, True]])
    >>> gpus_inside(free, np.array([[0, 0], [1, 0]]), np.array([0, 1, 1]), inside, np.array([0, 0, 1])).tolist()
    [6, 5, 1]
    """
    if not len(kind):
        return np.zeros(0, dtype=np.int64)
    least = (1, *needs.min(axis=0).tolist())
    has_room = np.all([has >= one for has, one in zip(free, least, strict=True)], axis=0)
    differ, there = _unlike_nodes(free, np.flatnonzero(has_room), inside)
    gpus, cpus, memory = differ.T
    if len(needs) * len(inside) <= len(kind):
        every: Ints = np.maximum(rooms_that_fit(needs, gpus, cpus, memory), 0) @ there.T
        return every[kind, row]
    found, step = np.zeros(len(kind), dtype=np.int64), max(1, _AT_ONCE // max(1, len(differ)))
    for start in range(0, len(kind), step):
        some = slice(start, start + step)
        kinds, of = np.unique(kind[some], return_inverse=True)
        rooms = np.maximum(rooms_that_fit(needs[kinds], gpus, cpus, memory), 0)
        found[some] = np.einsum("us,us->u", rooms[of], there[row[some]])
    return found


def nodes_inside(free: tuple[Ints, Ints, Ints], parts: Ints, inside: Bools, row: Ints) -> Ints:
    """Return on how many nodes of the row ``row[u]`` there is room for ``parts[u]``: GPUs, milli-CPUs and MiB.

    Parts have a GPU or more; ``free`` is what each node has of these.

    >>> free, inside = (np.array([4, 2]), np.array([8, 1]), np.zeros(2)), np.array([[True, True], [False, True]])
    >>> nodes_inside(free, np.array([[2, 1, 0], [3, 0, 0]]), inside, np.array([0, 1])).tolist()
    [2, 0]
    """
    rows, row = np.unique(row, return_inverse=True)
    differ, there = _unlike_nodes(free, np.flatnonzero(free[0] > 0), inside[rows])
    found, step = np.zeros(len(parts), dtype=np.int64), max(1, _AT_ONCE // max(1, len(differ)))
    for start in range(0, len(parts), step):
        some = slice(start, start + step)
        able = np.ones((len(parts[some]), len(differ)), dtype=np.bool_)
        for need, has in zip(parts[some].T, differ.T, strict=True):
            able &= need[:, np.newaxis] <= has
        found[some] = np.einsum("us,us->u", able, there[row[some]])
    return found


def _unlike_nodes(free: tuple[Ints, Ints, Ints], nodes: Ints, inside: Bools) -> tuple[Ints, Ints]:
    """Return what is free on some nodes, alike ones once if many are, and how many of each kind are in each row.

    In a cluster that is empty most are alike; in one that is full few have anything left.
    """
    every = np.column_stack(free)[nodes]
    differ, alike = unlike(every)
    if 2 * len(differ) > len(nodes):
        return every, inside[:, nodes].astype(np.int64)
    are = np.zeros((len(nodes), len(differ)))
    are[np.arange(len(nodes)), alike] = 1
    return differ, (inside[:, nodes].astype(np.float64) @ are).astype(np.int64)
