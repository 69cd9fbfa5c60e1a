"""A better decision node by node: each takes what is best for it beside all the others.

Block coordinate ascent: one node is solved exactly while all others are fixed, until none can be improved.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from muri_opt.rounds import Budget, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.free_capacity import FreeCapacity
from muri_opt.systems.plans.node_patterns.items import Items, node_families
from muri_opt.systems.plans.node_patterns.node_dp import retraced
from muri_opt.systems.plans.node_patterns.patterns import tables_of
from muri_opt.systems.plans.node_patterns.size_grid import Grid
from muri_opt.systems.plans.options import PlanOptions

_TURNS = 4
"""Turns of each node, on average, after which the search ends even if there is more to be gained."""

_NODE = 5e-3
"""Work for the turn of a node."""


def repacked(
    round_: Round,
    options: PlanOptions,
    chosen: Mapping[int, Ints],
    *,
    cells: int,
    budget: Budget,
) -> dict[int, Ints]:
    """Return a choice worth at least as much, in which no node gains by taking other jobs that run on one node.

    A job counts with what it gains there beyond what it has now, whether it is on the node, on another, from which it
    then goes, or waits. Jobs in several parts stay where they are, and no job starts that would use a quota.
    """
    state = _Nodes(round_, options, chosen)
    open_ = dict.fromkeys(state.hosts)
    for _ in range(_TURNS * len(state.hosts)):
        if not open_ or budget.over():
            break
        budget.spend(_NODE)
        node = next(iter(open_))
        del open_[node]
        open_ |= dict.fromkeys(state.improve(node, cells))
    return state.chosen


class _Nodes:
    """A choice that changes: the item of each job, and where it runs."""

    def __init__(self, round_: Round, options: PlanOptions, chosen: Mapping[int, Ints]) -> None:
        self.items = Items.of(round_, options, together=False)
        self.chosen = dict(chosen)
        items = self.items
        self.now = np.full(len(items.members), -1, dtype=np.int64)
        self.node = np.full(len(items.members), -1, dtype=np.int64)
        self.hosts: dict[int, Ints] = {}
        self.free = FreeCapacity(round_.amounts)  # beside the jobs in several parts
        for family in node_families(round_, items):
            stays = {node: np.concatenate(home.homes) for home in family.at_home for node in home.nodes.tolist()}
            for node in family.nodes.tolist():
                some = np.concatenate([family.free, stays.get(node, np.zeros(0, dtype=np.int64))])
                self.hosts[node] = np.sort(some[items.q[some] == 1])
        for option, nodes in chosen.items():
            item = items.item_of(option)
            kind = items.owner[item]
            self.now[kind] = item
            if items.q[item] == 1:
                self.node[kind] = nodes[0]
            else:
                self.free.occupy(nodes, *items.use[item].tolist())

    def improve(self, node: int, cells: int) -> list[int]:
        """Give a node what is best for it, and return the nodes that lost a job by that."""
        items = self.items
        here = self.node == node
        fixed = (self.now >= 0) & (self.node < 0) | (self.now < 0) & (items.tenant >= 0)
        has = np.where((self.now >= 0) & ~here, items.e[self.now], 0)
        some, room = self.hosts[node], self.free.left[:, node].copy()
        some = some[~fixed[items.owner[some]] & (items.use[some] <= room).all(axis=1)]
        gain = items.e - has[items.owner]
        new = _best(items, some, gain, room, cells)
        old = self.now[here]
        if gain[new].sum() <= gain[old].sum():
            return []
        for item in old.tolist():
            self._stop(items.owner[item])
        left = []
        for item in new.tolist():
            kind = items.owner[item]
            if self.now[kind] >= 0:
                left.append(int(self.node[kind]))
                self._stop(kind)
            self.now[kind], self.node[kind] = item, node
            self.chosen[int(items.option[item])] = np.array([node], dtype=np.int64)
        return left

    def _stop(self, kind: int) -> None:
        del self.chosen[int(self.items.option[self.now[kind]])]
        self.now[kind] = self.node[kind] = -1


def _best(items: Items, some: Ints, gain: Ints, room: Ints, cells: int) -> Ints:
    """Return which of the items gain most within a room, at most one of each job."""
    rough = Grid.of(items.use[some], room, cells=cells, up=True)
    sizes = np.zeros((len(items.owner), len(rough.extent)), dtype=np.int64)
    sizes[some] = rough.sizes
    grid = Grid(sizes=sizes, extent=rough.extent, exact=rough.exact)
    profit = gain.astype(np.float32)
    tables, groups = tables_of(items, some, profit, grid)
    return np.array(retraced(tables, groups, grid.extent, profit, sizes), dtype=np.int64)
