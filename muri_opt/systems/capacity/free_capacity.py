"""What is still free while gangs are placed one after another."""

from __future__ import annotations

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints


class Leftover:
    """Free GPUs, milli-CPUs and MiB per node, and free quota per tenant.

    ``asks[j]`` are the GPUs that job j counts for in its tenant's quota: those it asks for, unless its share is
    decided otherwise.

    >>> Leftover(shipped_round("toy/two-gangs")).room(0)
    array([4, 4])
    """

    def __init__(self, round_: Round, asks: Ints | None = None) -> None:
        self._amounts = round_.amounts
        self.asks: Ints = self._amounts.g if asks is None else asks
        self.gpus: Ints = self._amounts.G.copy()
        self.cpus: Ints = self._amounts.C.copy()
        self.memory: Ints = self._amounts.M.copy()
        self.quota: Ints = self._amounts.U.copy()

    def within_quota(self, *jobs: int) -> bool:
        """Return whether the tenants of the jobs may hold their GPUs, too."""
        asked = np.zeros_like(self.quota)
        for job in jobs:
            if self._amounts.tenant[job] >= 0:
                asked[self._amounts.tenant[job]] += self.asks[job]
        return bool((asked <= self.quota)[asked > 0].all())

    def room(self, *jobs: int) -> Ints:
        """Return how many GPUs, with the CPUs and memory of all the jobs that share them, fit on each node now."""
        return self._amounts.most_gpus(jobs, self.gpus, self.cpus, self.memory)

    def take(self, share: Ints, *jobs: int) -> None:
        """Give jobs that share GPUs ``share[s]`` of each node s, with the CPUs and memory they need together."""
        taken = list(jobs)
        self.gpus -= share
        self.cpus -= share * self._amounts.c[taken].sum()
        self.memory -= share * self._amounts.m[taken].sum()
        for job in jobs:
            if self._amounts.tenant[job] >= 0:
                self.quota[self._amounts.tenant[job]] -= self.asks[job]
