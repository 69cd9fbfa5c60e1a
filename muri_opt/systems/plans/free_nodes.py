"""What is free while options are placed one after another."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.plans.options import PlanOptions


class FreeNodes:
    """Free GPUs, milli-CPUs and MiB per node, and the quota that guaranteed jobs have not used yet, per tenant.

    ``amounts`` has a row of each resource; ``gpus``, ``cpus`` and ``memory`` are those rows.

    >>> round_ = shipped_round("toy/five-plans")
    >>> FreeNodes(round_, PlanOptions.of(round_, PlanRules())).gpus
    array([4, 4])
    """

    def __init__(self, round_: Round, options: PlanOptions) -> None:
        amounts = round_.amounts
        self.options = options
        self.amounts: Ints = np.array([amounts.G, amounts.C, amounts.M])
        self.gpus, self.cpus, self.memory = self.amounts
        self.quota: Ints = amounts.U.copy()
        self._tenant = np.where(options.guaranteed, amounts.tenant, -1)
        self._asks = amounts.g
        self._parts = np.column_stack([options.g, options.c, options.m])[:, :, None]
        self._fitting: set[tuple[int, ...]] = set()
        self._full: set[tuple[int, ...]] = set()

    @cached_property
    def demands(self) -> list[tuple[int, ...]]:
        """What decides where each option has room: options with the same demand fit on the same nodes."""
        o = self.options
        return list(zip(*(column.tolist() for column in (o.q, o.g, o.c, o.m, o.kind, o.home)), strict=True))

    def room(self, option: int) -> NDArray[np.bool_]:
        """Return which nodes have room now for a part of the option, of those that may have one."""
        enough = (self.amounts >= self._parts[option]).all(axis=0)
        return np.asarray(enough & self.options.nodes(option), dtype=np.bool_)

    def fits(self, option: int) -> bool:
        """Return whether the parts of the option fit on distinct nodes now; quotas are another matter.

        Most of many jobs need what others do: it is looked up once, until there is more or less room.
        """
        demand = self.demands[option]
        if demand not in self._full and demand not in self._fitting:
            enough = int(np.count_nonzero(self.room(option))) >= int(self.options.q[option])
            (self._fitting if enough else self._full).add(demand)
        return demand in self._fitting

    def within_quota(self, job: int) -> bool:
        """Return whether the job may start beside what is placed: only guaranteed jobs use a quota."""
        tenant = int(self._tenant[job])
        return tenant < 0 or int(self._asks[job]) <= int(self.quota[tenant])

    def take(self, option: int, nodes: Ints) -> None:
        """Place one part of the option on each of the nodes."""
        self._fitting.clear()
        self._move(option, nodes, -1)

    def give(self, option: int, nodes: Ints) -> None:
        """Undo :meth:`take`."""
        self._full.clear()
        self._move(option, nodes, 1)

    def _move(self, option: int, nodes: Ints, sign: int) -> None:
        self.amounts[:, nodes] += sign * self._parts[option]
        job = self.options.job[option]
        if self._tenant[job] >= 0:
            self.quota[self._tenant[job]] += sign * self._asks[job]
