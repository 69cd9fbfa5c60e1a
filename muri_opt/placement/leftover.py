"""What is still free while gangs are placed one after another."""

from __future__ import annotations

from muri_opt.instance import Round
from muri_opt.instance.amounts import Ints


class Leftover:
    """Free GPUs, milli-CPUs and MiB per node, and free quota per tenant."""

    def __init__(self, round_: Round) -> None:
        self._amounts = round_.amounts
        self.gpus: Ints = self._amounts.G.copy()
        self.cpus: Ints = self._amounts.C.copy()
        self.memory: Ints = self._amounts.M.copy()
        self.quota: Ints = self._amounts.U.copy()

    def within_quota(self, job: int) -> bool:
        """Return whether the job's tenant may hold its GPUs."""
        tenant = self._amounts.tenant[job]
        return bool(tenant < 0 or self._amounts.g[job] <= self.quota[tenant])

    def room(self, job: int) -> Ints:
        """Return how many GPUs of the job's kind fit on each node now."""
        return self._amounts.most_gpus(job, self.gpus, self.cpus, self.memory)

    def take(self, job: int, share: Ints) -> None:
        """Give the job ``share[s]`` GPUs of each node s, with the CPUs and memory they need."""
        self.gpus -= share
        self.cpus -= share * self._amounts.c[job]
        self.memory -= share * self._amounts.m[job]
        tenant = self._amounts.tenant[job]
        if tenant >= 0:
            self.quota[tenant] -= share.sum()
