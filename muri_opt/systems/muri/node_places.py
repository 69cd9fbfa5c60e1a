"""Nodes on which groups are placed one after another by first fit: what :class:`Leftover` does, for many groups.

Nearly all groups are on one node. Whether it has room for a group is asked of all nodes at once, by what the group
needs there, and only that node is changed.

The authors' simulator has equal nodes. Where nodes are unequal those with fewer GPUs come first, and of these those
with fewer CPUs and less memory, so that the large ones are left for those that need them; equal ones are in the order
of the round. Now and then the order of the round serves more: who asks for it (``as_listed``) compares the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Amounts, Ints
from muri_opt.rounds.memoise import recalled
from muri_opt.rounds.stopping import look_at_clock
from muri_opt.systems.capacity import Leftover, first_fit
from muri_opt.systems.capacity.free_capacity import summed_each
from muri_opt.systems.capacity.shares import flat

_NEAR: Final = 32
"""Nodes that are looked at one by one before all others are at once."""
Places = tuple[tuple[int, int], ...]
"""Nodes, each with GPUs of it, in the order of the nodes."""


_Groups = Mapping[tuple[int, ...], Places]
"""Groups of jobs, each with its GPUs of nodes."""


def places_of(share: Ints) -> Places:
    """Return GPUs per node as nodes and GPUs."""
    nodes = share.nonzero()[0]
    return tuple(zip(nodes.tolist(), share[nodes].tolist(), strict=True))


def share_of(places: Places, nodes: int) -> Ints:
    """Return nodes and GPUs as GPUs per node."""
    share = np.zeros(nodes, dtype=np.int64)
    for node, gpus in places:
        share[node] = gpus
    return share


class NodePlaces(Leftover):
    """What groups leave of the nodes.

    >>> NodePlaces(shipped_round("toy/two-gangs")).first(3, (0,))
    ((0, 3),)
    """

    def __init__(self, round_: Round, *, as_listed: bool = False) -> None:
        super().__init__(round_)
        self._c, self._m = _needs_of_jobs(self.amounts)
        self._of_groups = _needs_of_groups(self.amounts)
        self._largest = int(self.amounts.G.max(initial=0))
        self._line = None if as_listed else smallest_first(self.amounts)
        self._free = tuple(memoryview(has) for has in self.left)
        """What is left, one number at a time: an array takes three times as long to read or change one."""
        self._from: dict[tuple[int, int, int], int] = {}
        """By what is needed, the first node that may have it: while groups are only added, those before do not."""
        self._next: dict[int, list[int]] = {}
        """By GPUs, for each node a later one with none between that has so many for some job; itself if it may."""
        self._short: dict[int, list[tuple[int, int]]] = {}
        """By GPUs, the least CPUs and memory that no node has with so many: who needs more need not be looked for."""
        self._least = int(self.amounts.c.min(initial=UNLIMITED)), int(self.amounts.m.min(initial=UNLIMITED))

    @cached_property
    def no_quota(self) -> bool:
        """Whether no tenant has a quota."""
        return self.borrowed is None and bool((self.amounts.U >= UNLIMITED).all())

    def within_quota(self, *jobs: int) -> bool:
        """Return whether the tenants of the jobs may hold their GPUs, too."""
        return self.no_quota or super().within_quota(*jobs)

    def needs(self, jobs: Sequence[int]) -> tuple[int, int]:
        """Return the milli-CPUs and MiB that jobs need on each GPU they share."""
        if len(jobs) == 1:  # written out, as it is asked for every group and node
            return self._c[jobs[0]], self._m[jobs[0]]
        group = tuple(jobs)
        found = self._of_groups.get(group)
        if found is None:
            found = self._of_groups[group] = sum([self._c[job] for job in group]), sum([self._m[job] for job in group])
        return found

    def first(self, gpus: int, jobs: Sequence[int], spared: Ints | None = None) -> Places | None:
        """Return where first fit puts jobs that share so many GPUs, besides those ``spared`` of each node."""
        if spared is not None:
            return self._beside(gpus, jobs, self.gpus - spared)
        if gpus > self._largest:
            return self._on_several(self.room(*jobs), gpus)
        node = self._first_node(gpus, *self.needs(jobs))
        return None if node is None else ((node, gpus),)

    def place(self, gpus: int, jobs: Sequence[int]) -> Places | None:
        """Give jobs that share so many GPUs those that first fit finds, and return them; ``None`` if it finds none."""
        if gpus > self._largest or not self.no_quota:
            found = self.first(gpus, jobs)
            if found is None or not self.within_quota(*jobs):
                return None
            self.give(found, jobs)
            return found
        cpus, memory = self.needs(jobs)
        node = self._first_node(gpus, cpus, memory)
        if node is None:
            return None
        self._take(node, gpus, gpus * cpus, gpus * memory)
        return ((node, gpus),)

    def place_each(self, groups: Iterable[tuple[int, ...]]) -> dict[tuple[int, ...], Places]:
        """Place groups one after another, each on the GPUs that its jobs ask for; return where those are that fit."""
        asks, found = asks_of_jobs(self.amounts), dict[tuple[int, ...], Places]()
        for group in groups:
            look_at_clock()
            places = self.place(asks[group[0]], group)
            if places is not None:
                found[group] = places
        return found

    def _first_node(self, gpus: int, cpus: int, memory: int) -> int | None:
        """Return the first node that has so many GPUs with CPUs and memory."""
        key, nodes = (gpus, cpus, memory), len(self._free[0])
        start = self._from.get(key)
        if start is None:
            start = nodes if self._is_short(gpus, cpus, memory) else 0
        if start == nodes:
            self._from[key] = nodes
            return None
        if self._line is None:
            node = self._from[key] = self._from_node(start, gpus, cpus, memory)
            if node < nodes:
                return node
        else:
            able = self._able(gpus, cpus, memory, self.gpus, 0)
            if able.any():
                return self._first_of(able)
            self._from[key] = nodes
        self._note_short(gpus, cpus, memory)
        return None

    def _first_of(self, able: NDArray[np.bool_]) -> int:
        """Return the first of some nodes, of which there is one."""
        return int(able.argmax() if self._line is None else self._line[able[self._line].argmax()])

    def _on_several(self, room: Ints, gpus: int) -> Places | None:
        """Return where first fit puts a group that is larger than every node."""
        line, whole = self._line, self.amounts.G
        if line is None:
            share = first_fit(room, gpus, whole)
            return None if share is None else places_of(share)
        inside, share = first_fit(room[line], gpus, whole[line]), np.zeros_like(room)
        if inside is None:
            return None
        share[line] = inside
        return places_of(share)

    def _note_short(self, gpus: int, cpus: int, memory: int) -> None:
        """Note that no node has so many GPUs with as much."""
        known = self._short.get(gpus, [])
        if not self._is_short(gpus, cpus, memory):
            self._short[gpus] = [(cpus, memory), *((c, m) for c, m in known if c < cpus or m < memory)]

    def _is_short(self, gpus: int, cpus: int, memory: int) -> bool:
        """Return whether it is known that no node has so many GPUs with as much."""
        return any(c <= cpus and m <= memory for c, m in self._short.get(gpus, ()))

    def _from_node(self, start: int, gpus: int, cpus: int, memory: int) -> int:
        """Return the first node from one on that has so many GPUs with CPUs and memory, or how many nodes there are.

        Nodes that have not so many for any job are passed over ever after. Of the others a few are looked at one by
        one, as the first is mostly near, and then all that follow at once.
        """
        free_gpus, free_cpus, free_memory = self._free
        needs_cpus, needs_memory, nodes = gpus * cpus, gpus * memory, len(free_gpus)
        least_cpus, least_memory = gpus * self._least[0], gpus * self._least[1]
        following = self._next.get(gpus)
        if following is None:
            following = self._next[gpus] = [*range(nodes + 1)]
        node, last = start, start
        for _ in range(_NEAR):
            while (later := following[node]) != node:
                following[node] = node = following[later]
            following[last] = node
            if node == nodes:
                return nodes
            if free_gpus[node] >= gpus:
                if free_cpus[node] >= needs_cpus and free_memory[node] >= needs_memory:
                    return node
                gone = free_cpus[node] < least_cpus or free_memory[node] < least_memory
            else:
                gone = True
            last = node if gone else node + 1
            node += 1
        able = self._able(gpus, cpus, memory, self.gpus, node)
        ahead = int(able.argmax()) if len(able) else 0
        return node + ahead if len(able) and able[ahead] else nodes

    def _has(self, node: int, gpus: int, cpus: int, memory: int) -> bool:
        """Return whether a node has so many free GPUs with CPUs and memory."""
        free_gpus, free_cpus, free_memory = self._free
        return free_gpus[node] >= gpus and free_cpus[node] >= gpus * cpus and free_memory[node] >= gpus * memory

    def _beside(self, gpus: int, jobs: Sequence[int], free: Ints) -> Places | None:
        if gpus > self._largest:
            return self._on_several(np.minimum(self.room(*jobs), np.maximum(0, free)), gpus)
        able = self._able(gpus, *self.needs(jobs), free, 0)
        return ((self._first_of(able), gpus),) if able.any() else None

    def _able(self, gpus: int, cpus: int, memory: int, free: Ints, start: int) -> NDArray[np.bool_]:
        """Return which nodes, from one on, have so many free GPUs with CPUs and memory."""
        able: NDArray[np.bool_] = free[start:] >= gpus
        if cpus:
            able &= self.cpus[start:] >= gpus * cpus
        if memory:
            able &= self.memory[start:] >= gpus * memory
        return able

    def able(self, gpus: int, jobs: Sequence[int]) -> Ints:
        """Return the nodes that have so many GPUs for jobs that share them, the first first."""
        able = self._able(gpus, *self.needs(jobs), self.gpus, 0)
        return np.flatnonzero(able) if self._line is None else self._line[able[self._line]]

    def has(self, places: Places, jobs: Sequence[int]) -> bool:
        """Return whether the nodes have these GPUs for jobs that share them."""
        cpus, memory = self.needs(jobs)
        return all(self._has(node, gpus, cpus, memory) for node, gpus in places)

    def with_each_gpu(self, places: Places) -> tuple[int, int]:
        """Return the milli-CPUs and MiB that the nodes have left for each of these GPUs."""
        _, cpus, memory = self._free
        if len(places) == 1:
            ((node, gpus),) = places
            return cpus[node] // gpus, memory[node] // gpus
        return min([cpus[node] // gpus for node, gpus in places]), min([memory[node] // gpus for node, gpus in places])

    def would_have(self, places: Places, jobs: Sequence[int], gone: _Groups, come: _Groups) -> bool:
        """Return whether the nodes had these GPUs for jobs if some groups were gone and others had come."""
        cpus, memory = self.needs(jobs)
        for node, gpus in places:
            free = [has[node] for has in self._free]
            for groups, sign in ((gone, 1), (come, -1)):
                for group, where in groups.items():
                    each = (1, *self.needs(group))
                    for given in [sign * part for at, part in where if at == node]:
                        free = [has + given * need for has, need in zip(free, each, strict=True)]
            if free[0] < gpus or free[1] < gpus * cpus or free[2] < gpus * memory:
                return False
        return True

    def give(self, places: Places, jobs: Sequence[int]) -> None:
        """Give jobs that share GPUs these, with the CPUs, memory and quotas they need."""
        self.put(places, jobs, 1)
        self.charge_jobs(jobs)

    def give_if_free(self, places: Places, jobs: Sequence[int]) -> bool:
        """Give jobs these GPUs if the nodes have them; return whether they do."""
        if len(places) != 1:
            if not self.has(places, jobs):
                return False
            self.put(places, jobs, 1)
        else:  # written out, as it is asked for every group that runs
            ((node, gpus),) = places
            free_gpus, free_cpus, free_memory = self._free
            if free_gpus[node] < gpus:
                return False
            cpus, memory = self.needs(jobs)
            if free_cpus[node] < gpus * cpus or free_memory[node] < gpus * memory:
                return False
            self._take(node, gpus, gpus * cpus, gpus * memory)
        self.charge_jobs(jobs)
        return True

    def charge_jobs(self, jobs: Sequence[int]) -> None:
        """Charge the quotas of the tenants of jobs."""
        if not self.no_quota:
            for job in jobs:
                self.charge(int(self.amounts.tenant[job]), int(self.asks[job]))

    def give_all(self, groups: Sequence[tuple[Places, Sequence[int]]]) -> bool:
        """Give all groups their GPUs, as one after another would be, or none if some do not fit; say which.

        Where tenants have quotas nothing is given: who is within one depends on the order.
        """
        if not self.no_quota:
            return False
        group, node, gpus = flat(places for places, _ in groups)
        free_gpus = self.gpus - np.bincount(node, gpus, minlength=len(self.gpus)).astype(np.int64)
        if (free_gpus < 0).any():
            return False
        needs = summed_each((self.amounts.c, self.amounts.m), [jobs for _, jobs in groups])
        free = [free_gpus]
        for has, need in zip((self.cpus, self.memory), needs, strict=True):
            free.append(has.copy())
            np.subtract.at(free[-1], node, gpus * need[group])
            if (free[-1] < 0).any():
                return False
        self.gpus[:], self.cpus[:], self.memory[:] = free
        return True

    def put(self, places: Places, jobs: Sequence[int], times: int) -> None:
        """Take GPUs, CPUs and memory of nodes so many times; -1 gives them back."""
        cpus, memory = self.needs(jobs)
        if times < 0:
            for known in (self._from, self._next, self._short):
                known.clear()
        for node, gpus in places:
            self._take(node, times * gpus, times * gpus * cpus, times * gpus * memory)

    def _take(self, node: int, gpus: int, cpus: int, memory: int) -> None:
        free_gpus, free_cpus, free_memory = self._free
        free_gpus[node] -= gpus
        free_cpus[node] -= cpus
        free_memory[node] -= memory


@recalled
def smallest_first(amounts: Amounts) -> Ints | None:
    """Return the nodes from the smallest, equal ones in their order; ``None`` where they are listed like that."""
    has = amounts.G, amounts.C, amounts.M
    line = np.lexsort(has[::-1]).astype(np.int64)
    return None if (line[1:] > line[:-1]).all() else line


@recalled
def _needs_of_jobs(amounts: Amounts) -> tuple[list[int], list[int]]:
    """Return the milli-CPUs and the MiB that each job needs with a GPU, to be read one at a time."""
    return amounts.c.tolist(), amounts.m.tolist()


@recalled
def asks_of_jobs(amounts: Amounts) -> list[int]:
    """Return the GPUs that each job asks for, to be read one at a time."""
    return [*amounts.g.tolist()]


@recalled
def _needs_of_groups(amounts: Amounts) -> dict[tuple[int, ...], tuple[int, int]]:  # noqa: ARG001 - one for each
    """Return what groups of jobs were found to need with a GPU: a group is placed many times in a round."""
    return {}


@recalled
def kinds_of(amounts: Amounts) -> list[int]:
    """Return numbers of jobs, the same for those that ask for as much."""
    known: dict[tuple[int, int, int], int] = {}
    rows = zip(amounts.g.tolist(), amounts.c.tolist(), amounts.m.tolist(), strict=True)
    return [known.setdefault(row, len(known)) for row in rows]
