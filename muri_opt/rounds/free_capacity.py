"""What is free while jobs are placed: the one place where capacity is taken and given back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds.amounts import Amounts, Ints
from muri_opt.rounds.borrowing import Borrowed

Nodes = int | slice | Ints
"""One node, all of them, or some, each once."""


class FreeCapacity:
    """Free GPUs, milli-CPUs and MiB of every node, and free GPUs of every tenant's quota.

    ``left[r, s]`` is what node s has left of resource r; ``gpus``, ``cpus`` and ``memory`` are the rows of ``left``.
    ``quota`` is below 0 where a tenant has more than its quota; ``borrowed`` is what tenants borrow, if any may.
    """

    def __init__(self, amounts: Amounts) -> None:
        self.amounts = amounts
        self.left: Ints = np.array([amounts.G, amounts.C, amounts.M])
        self.gpus, self.cpus, self.memory = self.left
        self.quota: Ints = amounts.U.copy()
        self.borrowed = None if amounts.borrowing is None else Borrowed(amounts.borrowing)

    def most_gpus(self, *jobs: int) -> Ints:
        """Return how many GPUs, with the CPUs and memory of all the jobs that share them, fit on each node now."""
        return self.amounts.most_gpus(jobs, self.gpus, self.cpus, self.memory)

    def holds(self, part: Ints) -> NDArray[np.bool_]:
        """Return which nodes have so many GPUs, milli-CPUs and MiB left, a column of three."""
        enough = self.left >= part
        return np.asarray(enough[0] & enough[1] & enough[2])

    def occupy(self, nodes: Nodes, gpus: int | Ints, cpus: int | Ints, memory: int | Ints) -> None:
        """Take so much of each of the nodes."""
        self.gpus[nodes] -= gpus
        self.cpus[nodes] -= cpus
        self.memory[nodes] -= memory

    def release(self, nodes: Nodes, gpus: int | Ints, cpus: int | Ints, memory: int | Ints) -> None:
        """Give back what :meth:`occupy` took."""
        self.occupy(nodes, -gpus, -cpus, -memory)

    def has_quota(self, tenant: int, gpus: int) -> bool:
        """Return whether a tenant may have so many GPUs more; one that is not listed (-1) may have any number."""
        if self.borrowed is not None and not self.borrowed.allows(tenant, gpus):
            return False
        if self.amounts.lines is None:
            return tenant < 0 or bool(gpus <= self.quota[tenant])
        return all(gpus <= self.quota[one] for one in self.amounts.line(tenant))

    def charge(self, tenant: int, gpus: int) -> None:
        """Count GPUs that a tenant gets against its quota, and those above it; what it gives back is below 0."""
        if self.borrowed is not None:
            self.borrowed.add(tenant, gpus)
        if self.amounts.lines is None:
            if tenant >= 0:
                self.quota[tenant] -= gpus
            return
        for one in self.amounts.line(tenant):
            self.quota[one] -= gpus
