"""Who holds what: the running groups of a decision, node by node, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.eligibility import Bools
from muri_opt.systems.capacity.free_capacity import Entries, entries, summed

_MOST_NUMBERS = 1 << 18
"""Numbers that are looked at together."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Holders:
    """Entries (group, node) with the GPUs, milli-CPUs and MiB that the group has there.

    ``group[e]`` has ``gpus[e]`` GPUs of ``node[e]``, and ``cpus[e]`` and ``memory[e]`` with them. ``names`` are the ids
    of the groups' jobs, ``size`` the GPUs of each group, ``tenant`` the tenant of its first job. Who holds most of some
    nodes is ``known`` once it was asked for: what lacks is often the same for many jobs.
    """

    node: Ints
    group: Ints
    gpus: Ints
    cpus: Ints
    memory: Ints
    size: Ints
    tenant: Ints
    names: tuple[tuple[str, ...], ...]
    known: dict[tuple[int, bytes, int], list[tuple[str, int]]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, round_: Round, groups: Sequence[tuple[Sequence[int], Ints]]) -> Holders:
        """Return who holds what where groups of jobs have GPUs per node, and CPUs and memory with each GPU."""
        return cls.of_entries(round_, [jobs for jobs, _ in groups], entries([share for _, share in groups]))

    @classmethod
    def of_entries(cls, round_: Round, jobs: Sequence[Sequence[int]], of: Entries) -> Holders:
        """Return the same where it is known which groups have how many GPUs of which nodes."""
        c, m = summed(round_.amounts.c, jobs), summed(round_.amounts.m, jobs)
        group, node, gpus = of
        return cls.of_amounts(round_, jobs, group, node, (gpus, gpus * c[group], gpus * m[group]))

    @classmethod
    def of_amounts(
        cls,
        round_: Round,
        groups: Sequence[Sequence[int]],
        group: Ints,
        node: Ints,
        parts: tuple[Ints, Ints, Ints],
    ) -> Holders:
        """Return who holds what where entries of groups have such parts (GPUs, milli-CPUs, MiB) of nodes."""
        gpus, cpus, memory = parts
        return cls(
            node=node,
            group=group,
            gpus=gpus,
            cpus=cpus,
            memory=memory,
            size=np.bincount(group, weights=gpus, minlength=len(groups)).astype(np.int64),
            tenant=round_.amounts.tenant[[jobs[0] for jobs in groups]] if groups else np.zeros(0, dtype=np.int64),
            names=tuple([tuple([round_.jobs[job].id for job in jobs]) for jobs in groups]),
        )

    @cached_property
    def holding(self) -> list[str]:
        """The ids of the jobs of each group in quotes, and that they hold something."""
        return [f"{_joined(names)} hold{'s' * (len(names) == 1)}" for names in self.names]

    def on(self, nodes: Ints) -> Bools:
        """Return which entries are on these nodes."""
        there = np.zeros(max(int(self.node.max(initial=-1)), int(nodes.max(initial=-1))) + 1, dtype=np.bool_)
        there[nodes] = True
        return there[self.node]

    def of_groups(self, groups: Sequence[int]) -> Bools:
        """Return which entries are those of some groups."""
        some = np.zeros(len(self.names), dtype=np.bool_)
        some[list(groups)] = True
        return some[self.group]

    def freed(self, groups: Sequence[int], nodes: int) -> tuple[Ints, Ints, Ints]:
        """Return the GPUs, milli-CPUs and MiB of each of so many nodes that are free once groups are gone."""
        gone = self.of_groups(groups)
        gpus, cpus, memory = (
            np.bincount(self.node[gone], weights=held[gone], minlength=nodes).astype(np.int64)
            for held in (self.gpus, self.cpus, self.memory)
        )
        return gpus, cpus, memory

    def most(self, amounts: Ints, nodes: Ints, number: int = 2) -> list[tuple[str, int]]:
        """Return which ``number`` of groups hold most of ``amounts`` on these nodes, in words, and how much they do.

        The largest comes first. The amounts are its own: GPUs, milli-CPUs or MiB.
        """
        key = id(amounts), nodes.tobytes(), number
        found = self.known.get(key)
        if found is None:
            every = np.ones((1, len(nodes)), dtype=np.bool_)
            found = self.known[key] = self.most_of_each(amounts, nodes, every, number)[0]
        return found

    def most_of_each(self, amounts: Ints, nodes: Ints, where: Bools, number: int = 2) -> list[list[tuple[str, int]]]:
        """Return the same for several sets of these nodes at once: of set u those of which ``where[u]`` says so.

        >>> round_, share = shipped_round("toy/two-gangs"), np.array([3, 0])
        >>> holders = Holders.of(round_, [((0,), share), ((2,), np.array([1, 2]))])
        >>> holders.most_of_each(holders.gpus, np.array([0, 1]), np.array([[True, False], [True, True]]), 1)
        [[("'job-0' holds", 3)], [("'job-0' holds", 3)]]
        """
        entry, at = self._candidates(amounts, nodes, number)
        group, part = self.group[entry], amounts[entry]
        first = np.flatnonzero(np.diff(group, prepend=-1))
        if not len(first):
            return [[] for _ in where]
        found = list[list[tuple[str, int]]]()
        rows = max(1, _MOST_NUMBERS // len(entry))
        for start in range(0, len(where), rows):
            held = np.add.reduceat(where[start : start + rows, at] * part, first, axis=1)
            found += self._largest(held, group[first], number)
        return found

    def _candidates(self, amounts: Ints, nodes: Ints, number: int) -> tuple[Ints, Ints]:
        """Return the entries of groups that may be among those that hold most of any of the nodes, and on which.

        They are in the order of groups. Of groups that are on one node alone it is the ``number`` of those that hold
        most there.
        """
        place = np.full(1 + max(int(self.node.max(initial=-1)), int(nodes.max(initial=-1))), -1, dtype=np.int64)
        place[nodes] = np.arange(len(nodes))
        at = place[self.node]
        alone = np.bincount(self.group, minlength=1)[self.group] == 1
        line = np.lexsort((self.group, -amounts, at))
        line = line[alone[line]]
        begins = np.diff(at[line], prepend=-2) != 0
        rank = np.arange(len(line)) - np.flatnonzero(begins)[np.cumsum(begins) - 1]
        may = ~alone
        may[line[rank < number]] = True
        entry = np.flatnonzero(may & (at >= 0) & (amounts > 0))
        entry = entry[np.argsort(self.group[entry], kind="stable")]
        return entry, at[entry]

    def _largest(self, held: Ints, groups: Ints, number: int) -> list[list[tuple[str, int]]]:
        """Return the groups that hold most in each row, of equal ones the first; none that holds nothing."""
        found: list[list[tuple[str, int]]] = [[] for _ in held]
        every, holding = np.arange(len(held)), self.holding
        for _ in range(min(number, len(groups))):
            largest = held.argmax(axis=1)
            most = held[every, largest]
            for one, group, amount in zip(found, groups[largest].tolist(), most.tolist(), strict=True):
                if amount > 0:
                    one.append((holding[group], amount))
            held[every, largest] = 0
        return found


def _joined(names: Sequence[str]) -> str:
    """Return names in quotes, joined."""
    *others, last = map(repr, names)
    return f"{', '.join(others)} and {last}" if others else last
