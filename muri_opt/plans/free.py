"""What is free while options are placed one after another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from muri_opt.instance import Round
from muri_opt.instance.amounts import Ints
from muri_opt.plans.options import PlanOptions


class FreeNodes:
    """Free GPUs, milli-CPUs and MiB per node, and the quota that guaranteed jobs have not used yet, per tenant."""

    def __init__(self, round_: Round, options: PlanOptions) -> None:
        amounts = round_.amounts
        self.options = options
        self.gpus: Ints = amounts.G.copy()
        self.cpus: Ints = amounts.C.copy()
        self.memory: Ints = amounts.M.copy()
        self.quota: Ints = amounts.U.copy()
        self._tenant = np.where(options.guaranteed, amounts.tenant, -1)
        self._asks = amounts.g

    def room(self, option: int) -> NDArray[np.bool_]:
        """Return which nodes have room now for a part of the option, of those that may have one."""
        o = self.options
        enough = (self.gpus >= o.g[option]) & (self.cpus >= o.c[option]) & (self.memory >= o.m[option])
        return np.asarray(enough & o.nodes(option), dtype=np.bool_)

    def fits(self, option: int) -> bool:
        """Return whether the parts of the option fit on distinct nodes now; quotas are another matter."""
        return int(np.count_nonzero(self.room(option))) >= int(self.options.q[option])

    def within_quota(self, job: int) -> bool:
        """Return whether the job may start beside what is placed: only guaranteed jobs use a quota."""
        tenant = int(self._tenant[job])
        return tenant < 0 or int(self._asks[job]) <= int(self.quota[tenant])

    def take(self, option: int, nodes: Ints) -> None:
        """Place one part of the option on each of the nodes."""
        self._move(option, nodes, -1)

    def give(self, option: int, nodes: Ints) -> None:
        """Undo :meth:`take`."""
        self._move(option, nodes, 1)

    def _move(self, option: int, nodes: Ints, sign: int) -> None:
        o = self.options
        self.gpus[nodes] += sign * o.g[option]
        self.cpus[nodes] += sign * o.c[option]
        self.memory[nodes] += sign * o.m[option]
        job = o.job[option]
        if self._tenant[job] >= 0:
            self.quota[self._tenant[job]] += sign * self._asks[job]
