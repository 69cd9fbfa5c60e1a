"""Jobs that are put on nodes and taken away again: who is where, and what that leaves free."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from muri_opt.rounds.amounts import Amounts
from muri_opt.rounds.free_capacity import FreeCapacity

Held = TypeVar("Held", bound=Mapping[int, int])
"""GPUs per position of a node."""


class JobsOnNodes(FreeCapacity, Generic[Held]):
    """Free capacity, where every job is (``at``), and the jobs of every node (``residents``).

    ``cpus_alone`` says whether a job without GPUs takes its CPUs and memory from its node.
    """

    def __init__(self, amounts: Amounts, *, cpus_alone: bool = False) -> None:
        super().__init__(amounts)
        self.at: dict[int, Held] = {}
        self.residents: list[set[int]] = [set() for _ in range(len(self.gpus))]
        self._least = int(cpus_alone)

    def put(self, job: int, held: Held) -> None:
        """Put a job that is nowhere on nodes, with the CPUs and memory that go with its GPUs."""
        self._move(job, held, 1)
        self.at[job] = held
        for node in held:
            self.residents[node].add(job)

    def take(self, job: int) -> Held:
        """Take a job from its nodes; return where it was."""
        held = self.at.pop(job)
        self._move(job, held, -1)
        for node in held:
            self.residents[node].remove(job)
        return held

    def _move(self, job: int, held: Held, sign: int) -> None:
        amounts = self.amounts
        cpus, memory = sign * int(amounts.c[job]), sign * int(amounts.m[job])
        for node, gpus in held.items():
            units = max(gpus, self._least)
            self.occupy(node, sign * gpus, units * cpus, units * memory)
        self.charge(int(amounts.tenant[job]), sign * sum(held.values()))
