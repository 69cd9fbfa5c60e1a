"""How many GPUs of each kind of job fit on every node, as bit sets: the tightest node is found without asking all.

Jobs that need the same CPUs and memory with a GPU are of one kind. For each kind and each number of GPUs the nodes
that have room for exactly so many are the bits of one Python integer; the first of them is its lowest bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Final

import numpy as np

from muri_opt.rounds.node_bits import EVERY_NODE, Bits, bits_of_each
from muri_opt.systems.capacity.amount_levels import AmountLevels
from muri_opt.systems.capacity.held_parts import Parts
from muri_opt.systems.capacity.node_looks import Kind, NodeLooks

PartAmounts = tuple[int, int, int]
"""GPUs, milli-CPUs and MiB of a part that is on one node."""
GPUS_ALONE: Final = (0, 0)
FEW_NODES: Final = 160
"""Nodes with free GPUs up to which they are looked at one by one."""
_NEVER: Final = 1 << 62


class RoomSets:
    """What is free on the nodes while shares are placed; the same nodes are found as by :func:`.node_fit.best_fit`."""

    def __init__(self, gpus: Sequence[int], cpus: Sequence[int], memory: Sequence[int]) -> None:
        self._gpus, self._cpus, self._memory = [*gpus], [*cpus], [*memory]
        self._open = [*range(len(self._gpus))]
        """Nodes that had a GPU left when they were last looked at: nothing is given back."""
        self._room: dict[Kind, dict[int, int]] = {}
        self._sets: dict[Kind, dict[int, Bits]] = {}
        self._whole: dict[Kind, int] = {}
        """The GPUs of a kind that fit on all nodes together."""
        self._changed: list[int] = []
        """Nodes of which something was taken, in turn."""
        self._seen: dict[Kind, int] = {}
        """How many of these changes the sets of each kind that was asked for know of."""
        self._looks = NodeLooks(self.free, self._changed)
        """What is asked of kinds that have no sets."""
        self._levels: tuple[AmountLevels, AmountLevels] | None = None
        """Nodes by the CPUs and the memory they have left, once it was asked for."""
        self._levels_seen = 0
        self._failed: dict[Kind, dict[Bits, int]] = {}
        """The smallest share of each kind that found no room among some nodes: no larger one ever will."""

    @property
    def free(self) -> list[list[int]]:
        """GPUs, milli-CPUs and MiB that every node has left."""
        return [self._gpus, self._cpus, self._memory]

    def holds(self, kind: Kind, parts: Iterable[tuple[int, int]]) -> bool:
        """Return whether the nodes have room for these parts of a job."""
        cpus, memory = kind
        for node, gpus in parts:
            if gpus > self._gpus[node] or gpus * cpus > self._cpus[node] or gpus * memory > self._memory[node]:
                return False
        return True

    def room(self, kind: Kind, among: Bits = EVERY_NODE) -> int:
        """Return the largest share that jobs of a kind find room for, on nodes ``among`` some, as bits."""
        if self._may_look(kind, among):
            return self._looks.room(kind, among)
        sets = self._now(kind)
        if among == EVERY_NODE:
            return self._whole[kind]
        return sum([room * (nodes & among).bit_count() for room, nodes in sets.items()])

    def has_room(self, kind: Kind, among: Bits) -> bool:
        """Return whether jobs of a kind find room for a GPU on nodes ``among`` some, as bits."""
        if self._may_look(kind, among):
            return self._looks.room(kind, among) > 0
        return any(nodes & among for nodes in self._now(kind).values())

    def _may_look(self, kind: Kind, among: Bits) -> bool:
        """Return whether to look at some nodes for a kind instead of at its sets, which it has none yet."""
        return kind not in self._sets and self._looks.may(kind, among)

    def with_room(self, kinds: Sequence[Kind]) -> list[Bits]:
        """Return on which nodes there is room for a GPU of each kind, all at once."""
        gpus, cpus, memory = np.array(self.free, dtype=np.int64).reshape(3, -1)
        milli, mib = np.array(kinds, dtype=np.int64).reshape(-1, 2).T[:, :, np.newaxis]
        able = (gpus > 0) & ((milli <= cpus) | (milli == 0)) & ((mib <= memory) | (mib == 0))
        return bits_of_each(able)

    def best_fit(self, kind: Kind, gpus: int, regions: Sequence[Bits] = (EVERY_NODE,)) -> Parts | None:
        """Return GPUs of nodes for a share, or ``None``: of the tightest that holds it, or the roomiest and a rest.

        They are in the first of some regions that holds it.
        """
        sets: Mapping[int, Bits] | None = None
        failed = self._failed.setdefault(kind, {})
        if len(regions) > 1:  # many of them may be full
            has_gpus = reduce(or_, self._now(GPUS_ALONE).values(), 0)
            regions = [among for among in regions if among & has_gpus]
        for among in regions:
            if failed.get(among, _NEVER) <= gpus:
                continue
            if self._may_look(kind, among):
                node = self._looks.tightest(kind, gpus, among)
                if node is not None:
                    return [(node, gpus)]
                if self._looks.room(kind, among) < gpus:
                    failed[among] = gpus
                    continue
            sets = self._now(kind) if sets is None else sets
            parts = _best_among(sets, gpus, among)
            if parts is not None:
                return parts
            failed[among] = gpus
        return None

    def fit_parts(self, parts: Sequence[PartAmounts], among: Bits = EVERY_NODE) -> Parts | None:
        """Return a node with its GPUs for each part, or ``None``: the tightest nodes, the largest parts first.

        Parts have a GPU or more. Only nodes ``among`` some, as bits, are looked at.
        """
        found, sets = Parts(), self._now(GPUS_ALONE)
        for part in parts:
            best = self._tightest(sets, part, among)
            if best is None:
                return None
            among &= ~(1 << best)
            found.append((best, part[0]))
        return found

    def _tightest(self, sets: Mapping[int, Bits], part: PartAmounts, among: Bits) -> int | None:
        """Return the node with the fewest GPUs that has room for a part, where ``sets`` has the nodes by their GPUs."""
        gpus, milli, mib = part
        cpus, memory, open_ = self._cpus, self._memory, among & self._nodes_with(milli, mib)
        for room in sorted([room for room, nodes in sets.items() if room >= gpus and nodes & open_]):
            nodes = sets[room] & open_
            while nodes:
                first = nodes & -nodes
                node = first.bit_length() - 1
                if milli <= cpus[node] and mib <= memory[node]:
                    return node
                nodes ^= first
        return None

    def holds_parts(self, parts: Sequence[PartAmounts], nodes: Sequence[int]) -> bool:
        """Return whether nodes have room for a part each."""
        return all(
            gpus <= self._gpus[node] and self._has(node, milli, mib)
            for node, (gpus, milli, mib) in zip(nodes, parts, strict=True)
        )

    def _nodes_with(self, milli: int, mib: int) -> Bits:
        """Return the nodes that have so many milli-CPUs and MiB left, with few that have less."""
        if not milli and not mib:
            return EVERY_NODE
        if self._levels is None:
            self._levels = AmountLevels(self._cpus), AmountLevels(self._memory)
        else:
            since = self._changed[self._levels_seen :]
            for levels in self._levels:
                levels.look_at(since)
        self._levels_seen = len(self._changed)
        cpus, memory = self._levels
        return cpus.nodes_with(milli) & memory.nodes_with(mib)

    def _has(self, node: int, milli: int, mib: int) -> bool:
        return milli <= self._cpus[node] and mib <= self._memory[node]

    def take_parts(self, parts: Sequence[PartAmounts], nodes: Sequence[int]) -> None:
        """Give a job such parts, one on each of the nodes."""
        for node, (gpus, milli, mib) in zip(nodes, parts, strict=True):
            self._gpus[node] -= gpus
            self._cpus[node] -= milli
            self._memory[node] -= mib
            self._changed.append(node)

    def take(self, kind: Kind, parts: Iterable[tuple[int, int]]) -> None:
        """Give a job of this kind these parts."""
        cpus, memory = kind
        for node, gpus in parts:
            self._gpus[node] -= gpus
            self._cpus[node] -= gpus * cpus
            self._memory[node] -= gpus * memory
            self._changed.append(node)

    def _now(self, kind: Kind) -> dict[int, Bits]:
        """Return the nodes by the room on them, with what was taken since the kind was last asked for."""
        seen, count = self._seen.get(kind), len(self._changed)
        if seen == count:
            return self._sets[kind]
        since = None if seen is None else set(self._changed[seen:])
        self._seen[kind] = count
        if since is None or 2 * len(since) > len(self._open):
            return self._begin(kind)
        room, sets, (milli, mib) = self._room[kind], self._sets[kind], kind
        gpus, cpus, memory = self._gpus, self._cpus, self._memory
        for node in since:
            fits, before = gpus[node], room.get(node, 0)
            if milli and fits * milli > cpus[node]:  # written out here and below, as a call takes longer than this
                fits = cpus[node] // milli
            if mib and fits * mib > memory[node]:
                fits = memory[node] // mib
            fits = max(fits, 0)
            if fits != before:
                bit = 1 << node
                if before:
                    sets[before] ^= bit
                if fits:
                    sets[fits] = sets.get(fits, 0) ^ bit
                self._whole[kind] += fits - before
                room[node] = fits
        return sets

    def _begin(self, kind: Kind) -> dict[int, Bits]:
        """Find the nodes by the room on them from what is free now; in a cluster that is full few have any."""
        gpus, cpus, memory, (milli, mib) = self._gpus, self._cpus, self._memory, kind
        self._open = [node for node in self._open if gpus[node] > 0]
        if len(self._open) > FEW_NODES:
            return self._begin_with_many(kind)
        room, sets = dict[int, int](), dict[int, Bits]()
        for node in self._open:
            fits = gpus[node]
            if milli and fits * milli > cpus[node]:
                fits = cpus[node] // milli
            if mib and fits * mib > memory[node]:
                fits = memory[node] // mib
            if fits > 0:
                room[node] = fits
                sets[fits] = sets.get(fits, 0) | 1 << node
        self._room[kind], self._sets[kind], self._whole[kind] = room, sets, sum(room.values())
        return sets

    def _begin_with_many(self, kind: Kind) -> dict[int, Bits]:
        """Do the same where many nodes have GPUs left, all nodes at once."""
        room, (cpus, memory) = np.array(self._gpus, dtype=np.int64), kind
        if cpus:
            room = np.minimum(room, np.array(self._cpus, dtype=np.int64) // cpus)
        if memory:
            room = np.minimum(room, np.array(self._memory, dtype=np.int64) // memory)
        every = room.tolist()
        sizes = sorted(fits for fits in set(every) if fits > 0)
        bits = np.packbits(room == np.array(sizes, dtype=np.int64)[:, np.newaxis], axis=1, bitorder="little")
        sets = {fits: int.from_bytes(row.tobytes(), "little") for fits, row in zip(sizes, bits, strict=True)}
        self._room[kind] = {node: fits for node, fits in enumerate(every) if fits > 0}
        self._sets[kind], self._whole[kind] = sets, sum(self._room[kind].values())
        return sets


def _best_among(sets: Mapping[int, Bits], gpus: int, among: Bits) -> Parts | None:
    """Return the best fit on nodes among some, where ``sets`` has the nodes by how many GPUs there is room for."""
    whole = min([room for room, nodes in sets.items() if room >= gpus and nodes & among], default=0)
    if whole:
        return [(_first(sets[whole] & among), gpus)]
    inside = {room: nodes & among for room, nodes in sets.items() if nodes & among}
    if sum([room * nodes.bit_count() for room, nodes in inside.items()]) < max(1, gpus):
        return None
    found = Parts()
    while True:
        enough = [room for room in inside if room >= gpus]
        room = min(enough) if enough else max(inside)
        found.append((_first(inside[room]), min(room, gpus)))
        if enough:
            return found
        inside[room] &= inside[room] - 1
        if not inside[room]:
            del inside[room]
        gpus -= room


def _first(nodes: Bits) -> int:
    """Return the first of some nodes."""
    return (nodes & -nodes).bit_length() - 1
