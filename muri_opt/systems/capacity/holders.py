"""Who holds what: the running groups of a decision, node by node, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.eligibility import Bools
from muri_opt.systems.capacity.free_capacity import Entries, entries, summed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
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

    def most(self, amounts: Ints, nodes: Ints, number: int = 2) -> list[tuple[str, int]]:
        """Return the ``number`` of jobs that hold most of ``amounts`` on these nodes, largest first.

        The amounts are its own: GPUs, milli-CPUs or MiB.
        """
        key = id(amounts), nodes.tobytes(), number
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = self._most(amounts, nodes, number)
        return found

    def _most(self, amounts: Ints, nodes: Ints, number: int) -> list[tuple[str, int]]:
        here = self.on(nodes).nonzero()[0]
        held = np.bincount(self.group[here], weights=amounts[here])
        found = list[tuple[str, int]]()
        while len(found) < min(number, len(held)):
            largest = int(held.argmax())
            if held[largest] <= 0:
                break
            found.append(("' and '".join(self.names[largest]), int(held[largest])))
            held[largest] = 0
        return found
