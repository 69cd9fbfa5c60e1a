"""Who holds what: the running groups of a decision, node by node, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.eligibility import Bools
from muri_opt.systems.capacity.free_capacity import Entries, entries, summed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Holders:
    """Entries (group, node) with the GPUs, milli-CPUs and MiB that the group has there.

    ``group[e]`` has ``gpus[e]`` GPUs of ``node[e]``, and ``cpus[e]`` and ``memory[e]`` with them. ``names`` are the ids
    of the groups' jobs, ``size`` the GPUs of each group, ``tenant`` the tenant of its first job.
    """

    node: Ints
    group: Ints
    gpus: Ints
    cpus: Ints
    memory: Ints
    size: Ints
    tenant: Ints
    names: tuple[tuple[str, ...], ...]

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
        """Return the ``number`` of jobs that hold most of ``amounts`` (one per entry) on these nodes, largest first."""
        here = np.where(self.on(nodes), amounts, 0)
        held = np.bincount(self.group, weights=here, minlength=len(self.names)).astype(np.int64)
        found = list[tuple[str, int]]()
        while len(found) < min(number, len(held)) and held.max() > 0:
            largest = int(held.argmax())
            found.append(("' and '".join(self.names[largest]), int(held[largest])))
            held[largest] = 0
        return found
