"""GPUs of groups on single nodes, as columns of the joint program where nodes are limited in CPUs or memory.

Elsewhere a column in a region only says how many GPUs a group has there: who fits is told by sums over regions. With
CPUs or memory of single nodes in the way that would be a relaxation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from muri_opt.modelling import ModelBuilder
from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.node_bits import nodes_of
from muri_opt.systems.joint.jobs.group_value import Group, Place
from muri_opt.systems.joint.nodes.places import has_limited_nodes
from muri_opt.systems.joint.nodes.regions import Region

if TYPE_CHECKING:
    from muri_opt.systems.joint.program.columns import Key

MOST_SHARES = 3_000
"""Columns for GPUs of groups on nodes up to which there are any."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeShares:
    """A column for each group and region (a pair) and each node of the region: the GPUs that the group has there.

    The k-th of them is of the pair ``pair[k]`` and on node ``node[k]``; ``of_key[c]`` is the pair of the c-th column of
    the program, -1 for one that says itself where it is. ``cpus`` and ``memory`` are milli-CPUs and MiB with each GPU
    of a pair.
    """

    of_key: Ints
    pair: Ints
    node: Ints
    cpus: Ints
    memory: Ints

    @classmethod
    def of(cls, round_: Round, keys: Sequence[Key]) -> NodeShares:
        """Return the columns of a round; none where no node is limited, or there would be too many."""
        amounts = round_.amounts
        nodes = len(amounts.G)
        pairs: dict[tuple[Group, Region], int] = {}
        if has_limited_nodes(round_):
            for key in keys:
                if _is_in_region(key):
                    pairs.setdefault((key.group, key.region), len(pairs))
        on = [nodes_of(region, nodes) for _, region in pairs]
        if sum(map(len, on)) > MOST_SHARES:
            on, pairs = [], {}
        of_key = [pairs.get((key.group, key.region), -1) if _is_in_region(key) else -1 for key in keys]
        needs = [amounts.needs_of(group) for group, _ in pairs]
        cpus, memory = np.array(needs, dtype=np.int64).reshape(-1, 2).T
        return cls(
            of_key=np.array(of_key, dtype=np.int64),
            pair=np.repeat(np.arange(len(on)), [len(some) for some in on]),
            node=np.concatenate([*on, np.zeros(0, dtype=np.int64)]).astype(np.int64),
            cpus=cpus,
            memory=memory,
        )

    def __len__(self) -> int:
        return len(self.pair)

    def add(self, builder: ModelBuilder, round_: Round, x: Ints, gpus: Ints) -> Ints:
        """Add the columns, and the rows ``shares``: what a group has on nodes is what it has in all.

        ``gpus`` are those of the columns ``x``. Where there are none, a program has no family of them.
        """
        y = np.zeros(0, dtype=np.int64)
        if len(self):
            y = builder.add_columns("y", np.column_stack([self.pair, self.node]), upper=round_.amounts.G[self.node])
        some = np.flatnonzero(self.of_key >= 0)
        rows = np.concatenate([self.pair, self.of_key[some]])
        numbers = np.concatenate([np.ones_like(y), -gpus[some]])
        entries = (rows, np.concatenate([y, x[some]]), numbers)
        builder.add_rows("shares", np.arange(len(self.cpus)), entries=entries, sense="=", rhs=0)
        return y

    @property
    def uses(self) -> tuple[Ints, Ints, Ints]:
        """GPUs, milli-CPUs and MiB that a unit of each column takes of its node."""
        return np.ones_like(self.pair), self.cpus[self.pair], self.memory[self.pair]

    def places(self, values: Ints) -> dict[int, Place]:
        """Return where the pairs are that have GPUs."""
        found: dict[int, list[tuple[int, int]]] = {}
        for at in np.flatnonzero(values).tolist():
            found.setdefault(int(self.pair[at]), []).append((int(self.node[at]), int(values[at])))
        return {pair: Place(tuple(sorted(parts))) for pair, parts in found.items()}

    def encoded(self, placed: Sequence[tuple[int, Sequence[tuple[int, int]]]]) -> Ints:
        """Return the columns of pairs with their nodes and GPUs there."""
        values, number = np.zeros(len(self), dtype=np.int64), dict[tuple[int, int], int]()
        if placed and len(self):
            number = {key: at for at, key in enumerate(zip(self.pair.tolist(), self.node.tolist(), strict=True))}
        for pair, parts in placed:
            for node, gpus in parts:
                values[number[pair, node]] = gpus
        return values


def _is_in_region(key: Key) -> bool:
    """Return whether a column may be anywhere in a region, on any nodes of it."""
    return key.spot is None and key.way is None
