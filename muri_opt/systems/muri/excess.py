"""How many GPUs groups ask for beyond what there is: in all or, where jobs ask for nodes, in parts of the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.muri.group_locations import GroupLocations, connected
from muri_opt.systems.muri.periods import Group


class Excess(Protocol):
    """What groups of jobs, by their places in a list, ask for beyond what there is."""

    def left(self) -> bool:
        """Return whether too many GPUs are asked for."""

    def asks(self, first: Group, second: Group, gpus: int) -> bool:
        """Return whether merging two groups of so many GPUs helps."""

    def merge(self, first: Group, second: Group, gpus: int) -> None:
        """Count two groups as one."""


class TotalExcess:
    """Groups that may be on all GPUs: every merging helps while they ask for more."""

    def __init__(self, sizes: Iterable[int], gpus: int) -> None:
        self._over = sum(sizes) - gpus

    def left(self) -> bool:
        """Return whether too many GPUs are asked for."""
        return self._over > 0

    def asks(self, first: Group, second: Group, gpus: int) -> bool:
        """Return whether too many GPUs are asked for, whoever the groups are."""
        return self._over > 0

    def merge(self, first: Group, second: Group, gpus: int) -> None:
        """Count two groups as one."""
        self._over -= gpus


class PartExcess:
    """Groups that may be on certain nodes only: merging helps if both have to be in a part that is asked too much.

    Parts are the nodes of each kind of jobs, and those of all kinds that have nodes in common.
    """

    def __init__(self, sizes: Sequence[int], locations: GroupLocations) -> None:
        self._locations = locations
        looks = dict.fromkeys(zip(locations.kind.tolist(), sizes, strict=True))
        parts = [self._nodes(frozenset((kind,)), gpus) for kind, gpus in looks]
        self._parts = [*dict.fromkeys([*connected(parts), *parts])]
        self._known: dict[tuple[frozenset[int], int], NDArray[np.bool_]] = {}
        self._over: Ints = np.array(
            [-sum(locations.whole[node] for node in part) for part in self._parts], dtype=np.int64
        )
        for job, gpus in enumerate(sizes):
            self._over += gpus * self._inside((job,), gpus)

    def left(self) -> bool:
        """Return whether too many GPUs of some part are asked for."""
        return bool((self._over > 0).any())

    def asks(self, first: Group, second: Group, gpus: int) -> bool:
        """Return whether both groups have to be in a part of which too many GPUs are asked for."""
        return bool(((self._over > 0) & self._inside(first, gpus) & self._inside(second, gpus)).any())

    def merge(self, first: Group, second: Group, gpus: int) -> None:
        """Count two groups as one, where both may be."""
        before = self._inside(first, gpus).astype(np.int64) + self._inside(second, gpus)
        self._over += gpus * (self._inside(first + second, gpus) - before)

    def _inside(self, group: Group, gpus: int) -> NDArray[np.bool_]:
        """Return which parts have all nodes where a group may be; a group that can be nowhere is in none."""
        key = self._locations.kinds(group), gpus
        if key not in self._known:
            nodes = self._nodes(*key)
            self._known[key] = np.array([bool(nodes) and nodes <= part for part in self._parts], dtype=np.bool_)
        return self._known[key]

    def _nodes(self, kinds: frozenset[int], gpus: int) -> frozenset[int]:
        return frozenset[int]().union(*(location.nodes for location in self._locations.of(kinds, gpus)))
