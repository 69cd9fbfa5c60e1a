"""The verifier's own arithmetic of amounts: whole numbers, of any size where they need it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from muri_opt.rounds import Cluster, Job, Node, Round, WaitingReason
from muri_opt.rounds.memoise import recalled

Ints = NDArray[np.int64]
Sizes = tuple[int, int, int]
"""GPUs, milli-CPUs and MiB."""
NO_LIMIT = 1 << 62
"""What a node has of CPUs or memory that it does not limit: more than anything can take."""
_FEW_ROOMS = 64
"""Different rooms up to which they are looked at one by one."""
_LARGEST_WORD = 1 << 63
_FLOAT_DIGITS = 800
"""Binary digits of numbers that floats hold, with those of a factor beside them."""


class Need(NamedTuple):
    """What a gang takes: GPUs in all, and milli-CPUs and MiB with each of them (rounded up)."""

    gpus: int
    milli: int
    mebibytes: int


class Room(NamedTuple):
    """What a node has; ``None`` is no limit."""

    gpus: int
    milli: int | None
    mebibytes: int | None

    def holds(self, need: Need) -> int:
        """Return how many GPUs of a gang fit here; written out, as it is asked for every job and kind of node."""
        most = need.gpus if need.gpus < self.gpus else self.gpus
        if need.milli and self.milli is not None and most * need.milli > self.milli:
            most = self.milli // need.milli
        if need.mebibytes and self.mebibytes is not None and most * need.mebibytes > self.mebibytes:
            most = self.mebibytes // need.mebibytes
        return most if most > 0 else 0

    @property
    def possible(self) -> bool:
        """Whether no more was taken than there is."""
        return self.gpus >= 0 and (self.milli or 0) >= 0 and (self.mebibytes or 0) >= 0

    @property
    def sizes(self) -> Sizes:
        """What there is as plain numbers."""
        milli = NO_LIMIT if self.milli is None else self.milli
        return self.gpus, milli, NO_LIMIT if self.mebibytes is None else self.mebibytes

    def without(self, need: Need, gpus: int) -> Room:
        """Return what is left after ``gpus`` GPUs of a gang."""
        return self.less(gpus, gpus * need.milli, gpus * need.mebibytes)

    def less(self, gpus: int, milli: int, mebibytes: int) -> Room:
        """Return what is left after so much was taken."""
        return Room(
            gpus=self.gpus - gpus,
            milli=None if self.milli is None else self.milli - milli,
            mebibytes=None if self.mebibytes is None else self.mebibytes - mebibytes,
        )


def node_with(node: Node, room: Room) -> Node:
    """Return a node that has so much."""
    return replace(
        node,
        gpus=room.gpus,
        cpus=None if room.milli is None else room.milli / 1000,
        memory_gib=None if room.mebibytes is None else room.mebibytes / 1024,
    )


def times(sizes: Sizes, number: int) -> Sizes:
    """Return so many times an amount."""
    return sizes[0] * number, sizes[1] * number, sizes[2] * number


def minus(room: Sizes, taken: Sizes) -> Sizes:
    """Return what is left of a room; of what it does not limit there is no less."""
    gpus, milli, mebibytes = room
    return (
        gpus - taken[0],
        milli if milli == NO_LIMIT else milli - taken[1],
        mebibytes if mebibytes == NO_LIMIT else mebibytes - taken[2],
    )


def held_by(room: Sizes, unit: Sizes, parts: int) -> int:
    """Return how many of so many equal parts a room holds."""
    for has, each in zip(room, unit, strict=True):
        if each * parts > has:
            parts = max(0, has // each)
    return parts


def need_of(job: Job) -> Need:
    """Return what a job takes."""
    return _need(job.gpus, job.cpus or 0.0, job.memory_gib or 0.0)


@lru_cache(maxsize=1 << 14)
def _need(gpus: int, cpus: float, memory_gib: float) -> Need:
    """Return what a job of these amounts takes; most jobs ask for what others ask, and every rule asks again."""
    share = max(gpus, 1)
    milli, mib = round(cpus * 1000), round(memory_gib * 1024)
    return Need(gpus=gpus, milli=(milli + share - 1) // share, mebibytes=(mib + share - 1) // share)


def said_of(job: Job, binding: WaitingReason) -> WaitingReason:
    """Return the reason a job that does not run is to be told: what binds, or that it runs now and is stopped."""
    return WaitingReason.STOPPED if job.state == "running" else binding


def room_of(node: Node) -> Room:
    """Return what an empty node has."""
    return Room(
        gpus=node.gpus,
        milli=None if node.cpus is None else round(node.cpus * 1000),
        mebibytes=None if node.memory_gib is None else round(node.memory_gib * 1024),
    )


def empty_rooms(round_: Round) -> list[Room]:
    """Return the rooms of the empty cluster, in the order of its nodes."""
    return [*_rooms(round_.cluster)]


def empty_sizes(round_: Round) -> Ints:
    """Return what the nodes of the empty cluster have of each resource, in a row for each node."""
    return _sizes(round_.cluster).copy()


@recalled
def _rooms(cluster: Cluster) -> tuple[Room, ...]:
    return tuple(map(room_of, cluster.nodes))


@recalled
def _sizes(cluster: Cluster) -> Ints:
    return sizes_of(_rooms(cluster))


def sizes_of(rooms: Iterable[Room]) -> Ints:
    """Return what rooms have of each resource, in a row for each."""
    return np.array([room.sizes for room in rooms], dtype=np.int64).reshape(-1, 3)


def smallest_node_count(rooms: Counter[Room], need: Need) -> int | None:
    """Return on how few nodes a gang fits, or ``None`` where it does not; ``rooms`` counts the nodes of each room."""
    return fewest_of(holding_nodes(rooms, need), need.gpus)


def holding_nodes(rooms: Mapping[Room, int], need: Need) -> Counter[int]:
    """Return how many nodes hold so many GPUs of a gang, by that number; those that hold none are left out."""
    holding: dict[int, int] = {}
    for room, nodes in rooms.items():
        most = room.holds(need)
        if most:
            holding[most] = holding.get(most, 0) + nodes
    return Counter(holding)


class CountedRooms:
    """The nodes of a cluster counted by their rooms; gangs that need the same with a GPU are looked at once."""

    def __init__(self, rooms: Iterable[Room]) -> None:
        self._rooms = Counter([room for room in rooms if room.gpus > 0])  # no other takes a gang
        self._sizes: Ints = np.ascontiguousarray(sizes_of(self._rooms).T)
        self._nodes = np.array([*self._rooms.values()], dtype=np.int64)
        self._known: dict[tuple[int, int], Counter[int]] = {}

    @classmethod
    def of_some(cls, rooms: Sequence[Room], sizes: Ints, nodes: Ints) -> CountedRooms:
        """Return ``nodes[k]`` nodes with the room ``rooms[k]``, whose :func:`sizes_of` are known."""
        counted = cls(())
        there = np.flatnonzero((nodes > 0) & (sizes[:, 0] > 0))
        numbers = zip(there.tolist(), nodes[there].tolist(), strict=True)
        counted._rooms = Counter({rooms[kind]: count for kind, count in numbers})
        counted._sizes, counted._nodes = np.ascontiguousarray(sizes[there].T), nodes[there]
        return counted

    def holding(self, need: Need) -> Counter[int]:
        """Return how many nodes hold so many GPUs of a gang, however many it asks for, by that number."""
        key = need.milli, need.mebibytes
        found = self._known.get(key)
        if found is None:
            many = len(self._rooms) > _FEW_ROOMS
            found = self._known[key] = self._of_many(*key) if many else holding_nodes(self._rooms, whole(need))
        return found

    def _of_many(self, milli: int, mebibytes: int) -> Counter[int]:
        """Return the same as :func:`holding_nodes`, where nodes have very many different rooms: all at once."""
        holds = self._holds(milli, mebibytes)
        line = np.argsort(holds, kind="stable")
        first = np.flatnonzero(np.diff(holds[line], prepend=-NO_LIMIT))
        nodes = np.add.reduceat(self._nodes[line], first)
        each_most = zip(holds[line[first]].tolist(), nodes.tolist(), strict=True)
        return Counter({most: count for most, count in each_most if most > 0})

    def _holds(self, milli: int, mebibytes: int) -> Ints:
        """Return how many GPUs with such amounts each different room holds; below 0 where more was taken than it had.

        Room that does not limit an amount has :data:`NO_LIMIT` of it.
        """
        holds: Ints = self._sizes[0]
        for has, each in zip(self._sizes[1:], (milli, mebibytes), strict=True):
            if each:
                holds = np.minimum(holds, has // each)
        return holds

    def together(self, need: Need) -> int:
        """Return how many GPUs of a gang fit on all nodes in all, however many it asks for."""
        return int(self._nodes @ np.maximum(self._holds(need.milli, need.mebibytes), 0))

    def nodes_with(self, sizes: Sizes) -> int:
        """Return how many nodes have so much of each resource, of GPUs at least one."""
        gpus, milli, mebibytes = self._sizes
        return int(self._nodes @ ((gpus >= sizes[0]) & (milli >= sizes[1]) & (mebibytes >= sizes[2])))

    def fewest(self, need: Need) -> int | None:
        """Return on how few nodes a gang fits, or ``None`` where it does not."""
        return fewest_of(self.holding(need), need.gpus)


def whole(need: Need) -> Need:
    """Return what a gang of any size takes with each GPU."""
    return Need(gpus=NO_LIMIT, milli=need.milli, mebibytes=need.mebibytes)


def fewest_of(holding: Mapping[int, int], gpus: int) -> int | None:
    """Return how few of the nodes that hold so many GPUs each hold all ``gpus``; ``None`` where all of them do not."""
    missing, count = gpus, 0
    for most in sorted(holding, reverse=True):
        if missing <= 0:
            break
        if most:
            used = min(holding[most], -(-missing // most))
            missing, count = missing - used * most, count + used
    return count if missing <= 0 else None


def micro(seconds: float) -> int:
    """Return the whole microseconds nearest to ``seconds``."""
    return round(seconds * 1_000_000)


def word_for(largest: int) -> type:
    """Return the type of an exact array of whole numbers up to ``largest``: machine words, or any size at a cost."""
    return np.int64 if largest < _LARGEST_WORD else object


def beyond_floats(largest: int) -> int:
    """Return how many binary digits numbers up to ``largest`` lose so that floats hold them, and products with others.

    Where jobs have many priorities each outweighs all smaller ones together, and values have thousands of digits.
    """
    return max(0, largest.bit_length() - _FLOAT_DIGITS)
