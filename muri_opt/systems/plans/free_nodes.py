"""What is free while options of jobs with plans are placed one after another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.free_capacity import FreeCapacity
from muri_opt.systems.plans.options import PlanOptions


class FreeNodes(FreeCapacity):
    """What options leave; only guaranteed jobs use a quota.

    >>> round_ = shipped_round("toy/five-plans")
    >>> FreeNodes(round_, PlanOptions.of(round_, PlanRules())).gpus
    array([4, 4])
    """

    def __init__(self, round_: Round, options: PlanOptions) -> None:
        super().__init__(round_.amounts)
        self.options = options
        self._tenant = np.where(options.guaranteed, self.amounts.tenant, -1)
        self._parts = options.parts[:, :, None]
        self._has_quotas = bool(len(self.amounts.U))
        self._demand = options.demand
        self._fitting: set[int] = set()
        self._full: set[int] = set()

    def room(self, option: int) -> NDArray[np.bool_]:
        """Return which nodes have room now for a part of the option, of those that may have one."""
        return self.holds(self._parts[option]) & self.options.nodes(option)

    def wide_room(self, option: int) -> NDArray[np.bool_]:
        """Return which nodes have room now for a larger part of an option that has some."""
        part = np.array(self.options.larger[option].part, dtype=np.int64)
        return self.holds(part[:, None]) & self.options.wide_nodes(option)

    def has_room(self, option: int, nodes: Ints, node: int) -> bool:
        """Return whether one of the nodes of an option has room now for the part of it that is there."""
        if option in self.options.larger and node in nodes[: self.options.larger[option].number]:
            return bool(self.wide_room(option)[node])
        return bool(self.room(option)[node])

    def fits(self, option: int) -> bool:
        """Return whether the parts of the option fit on distinct nodes now; quotas are another matter.

        Most of many jobs need what others do: it is looked up once, until there is more or less room.
        """
        demand = self._demand[option]
        if demand not in self._full and demand not in self._fitting:
            enough = int(np.count_nonzero(self.room(option))) >= int(self.options.q[option])
            if enough and option in self.options.larger:  # who has room for a larger part has it for a smaller one
                enough = int(np.count_nonzero(self.wide_room(option))) >= self.options.larger[option].number
            (self._fitting if enough else self._full).add(demand)
        return demand in self._fitting

    def first_fitting(self, wanted: Iterable[int]) -> Iterator[int]:
        """Yield those of some options that may fit now: all at home, and of the others those that do."""
        full, demand, moves = self._full, self._demand, self.options.moves
        for option in wanted:
            if moves[option] and (demand[option] in full or not self.fits(option)):
                continue  # many jobs need the same, so that this is often known
            yield option

    def within_quota(self, job: int) -> bool:
        """Return whether the job may start beside what is placed: only guaranteed jobs use a quota."""
        return not self._has_quotas or self.has_quota(int(self._tenant[job]), int(self.amounts.g[job]))

    def within_quotas(self, jobs: Ints) -> bool:
        """Return whether all of some jobs may start together."""
        if not self._has_quotas:
            return True
        charged, enough = list[tuple[int, int]](), True
        for job in jobs[self.options.guaranteed[jobs]].tolist():
            enough = enough and self.within_quota(job)
            charged.append((int(self._tenant[job]), int(self.amounts.g[job])))
            self.charge(*charged[-1])
        for tenant, gpus in charged:
            self.charge(tenant, -gpus)
        return enough

    def take(self, option: int, nodes: Ints) -> None:
        """Place one part of the option on each of the nodes, the larger ones on the first of them."""
        self._fitting.clear()
        self.left[:, nodes] -= self._parts[option]
        self._move_others(option, nodes, 1)

    def take_all(self, chosen: Mapping[int, Ints]) -> None:
        """Place all of some options on their nodes."""
        if not chosen:
            return
        self._fitting.clear()
        o, some = self.options, np.fromiter(chosen, dtype=np.int64, count=len(chosen))
        taken = np.zeros_like(self.left)
        of = np.repeat(some, [len(nodes) for nodes in chosen.values()])
        np.add.at(taken.T, np.concatenate(list(chosen.values())), self._parts[of, :, 0])
        self.left -= taken
        for option in o.larger.keys() & chosen.keys():
            self.occupy(chosen[option][: o.larger[option].number], *o.more(option))
        for job in o.job[some[o.guaranteed[o.job[some]]]].tolist() if self._has_quotas else ():
            self.charge(int(self._tenant[job]), int(self.amounts.g[job]))

    def give(self, option: int, nodes: Ints) -> None:
        """Undo :meth:`take`."""
        self._full.clear()
        self.left[:, nodes] += self._parts[option]
        self._move_others(option, nodes, -1)

    def _move_others(self, option: int, nodes: Ints, sign: int) -> None:
        """Take what larger parts have more than the others, and GPUs of a quota; or give it back."""
        o = self.options
        if option in o.larger:
            self.occupy(nodes[: o.larger[option].number], *(sign * more for more in o.more(option)))
        if self._has_quotas:
            job = o.job[option]
            self.charge(int(self._tenant[job]), sign * int(self.amounts.g[job]))
