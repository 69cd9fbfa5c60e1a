"""Two pairs of jobs, each half a cycle apart, that are worth more together than they pay.

In a cycle of four slots that add up, the period of two pairs is the sum over slots of the longer of the two times that
they take there. Pairs that take about as long in every slot are neighbours in a tree: of any two nodes of it a bound
tells whether two of their pairs may pay, and if so their halves meet, down to a few pairs each. Where jobs are alike a
great many groups are near their price, and few of them are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds.amounts import Ints

Floats = NDArray[np.floating[Any]]
STEPS: Final = 0.08
"""Steps of work for two pairs that meet."""
STEPS_OF_NODES: Final = 0.6
"""Steps for two nodes that meet."""
STEPS_OF_PAIR: Final = 40
"""Steps to put a pair into the tree."""
SLOTS: Final = 4
_OF_LEAF: Final = 4
_TOGETHER: Final = 1 << 16
_AT_ONCE: Final = 1 << 12
_FOLLOWED: Final = 1 << 12
"""Meetings of each level from which it is told how many there are."""
_ROUNDING: Final = 2e-6


class Met(NamedTuple):
    """Groups of four as two pairs, by the number of the first one: the jobs in slots 0 and 2, then in 1 and 3."""

    pair: Ints
    groups: Ints


class _Level(NamedTuple):
    """The nodes of a level of the tree, each for pairs that follow one another.

    ``shortest[s]`` is the shortest time of each in slot s, ``later[s]`` the same if they begin a slot later and, after
    those, three slots later. ``period`` is that of the shortest times.
    """

    shortest: Sequence[Floats]
    later: Sequence[Floats]
    period: Floats


class _Nodes(NamedTuple):
    """Nodes of one level that meet: the first by their place, the others by their place among those that are later."""

    one: Ints
    other: Ints


class PairTree:
    """All pairs of jobs by how long they take: ``first`` in slot 0, ``second`` in slot 2, those ``missing`` are none.

    The same at any prices.
    """

    def __init__(self, times: Sequence[Floats]) -> None:
        first, second = np.triu_indices(len(times[0]), 1)
        slots = [np.maximum(times[s][first], times[(s - 2) % SLOTS][second]).astype(np.float32) for s in range(SLOTS)]
        self.depth = max(0, int(np.ceil(np.log2(max(1, len(first)) / _OF_LEAF))))
        order = _neighbours(slots, self.depth)
        self.missing, order = order >= len(first), np.minimum(order, len(first) - 1)
        self.first, self.second = first[order], second[order]
        slots = [slot[order] for slot in slots]
        self.levels = [_level(slots, 1 << depth) for depth in range(self.depth + 1)]
        self.mine = [in_leaves(slot) for slot in slots]
        self.theirs = [np.concatenate([self.mine[s - 1], self.mine[s - 3]], axis=1) for s in range(SLOTS)]


class PairMeetings:
    """The pairs of a tree with what jobs add and pay; ``work`` is what the last meetings took, in steps."""

    def __init__(self, tree: PairTree, adds: Floats, pays: Floats) -> None:
        self.tree, self.work = tree, 0.0
        added = np.where(tree.missing, -np.inf, adds[tree.first] + adds[tree.second])
        paid = (1 - _ROUNDING) * (pays[tree.first] + pays[tree.second]).astype(np.float64)
        self._adds, self._pays = in_leaves(added), in_leaves(paid)
        # What pairs of each node add at most above their pay, at the period of its shortest times; and the least pay.
        self._profit, self._least = [], []
        for level in tree.levels:
            of_node = paid.reshape(len(level.period), -1)
            self._least.append(of_node.min(axis=1))
            self._profit.append((added.reshape(of_node.shape) - level.period[:, None] * of_node).max(axis=1))

    def above(self, fixed: Callable[[], float]) -> Iterator[Met]:
        """Yield the groups that may be worth more than they pay, with what they pay besides, which is above nothing.

        That is asked for again and again, as it may rise.
        """
        self.work, left = 0.0, [(0, _Nodes(np.zeros(2, dtype=np.int64), np.arange(2)))]
        while left:
            depth, nodes = left.pop()
            nodes = self._able(depth, nodes, fixed())
            if depth < self.tree.depth:
                left += [(depth + 1, part) for part in _cut(_halves(nodes, 1 << depth), _TOGETHER)]
                continue
            for part in _cut(nodes, _AT_ONCE):
                yield self._met(part, fixed())

    def count(self, fixed: float) -> float:
        """Return about how many steps that takes, by following some meetings of each level."""
        nodes, times, steps = _Nodes(np.zeros(2, dtype=np.int64), np.arange(2)), 1.0, 0.0
        for depth in range(self.tree.depth + 1):
            steps += STEPS_OF_NODES * times * len(nodes.one)
            nodes = self._able(depth, nodes, fixed)
            if len(nodes.one) > _FOLLOWED:
                times *= len(nodes.one) / _FOLLOWED
                some = np.linspace(0, len(nodes.one) - 1, _FOLLOWED).astype(np.int64)
                nodes = _Nodes(nodes.one[some], nodes.other[some])
            if depth < self.tree.depth:
                nodes = _halves(nodes, 1 << depth)
        return steps + STEPS * times * len(nodes.one) * _OF_LEAF**2

    def _able(self, depth: int, nodes: _Nodes, fixed: float) -> _Nodes:
        """Return the nodes of which two pairs may pay."""
        self.work += STEPS_OF_NODES * len(nodes.one)
        level, (one, other) = self.tree.levels[depth], nodes
        period: Any = np.maximum(level.shortest[0][one], level.later[0][other])
        for slot in range(1, SLOTS):
            period += np.maximum(level.shortest[slot][one], level.later[slot][other])
        most = -(1 - _ROUNDING) * fixed * period
        for of in (one, other % (1 << depth)):
            most += self._profit[depth][of] - (period - level.period[of]) * self._least[depth][of]
        able = np.flatnonzero(most > 0)
        return _Nodes(one[able], other[able])

    def _met(self, nodes: _Nodes, fixed: float) -> Met:
        """Return the groups of the pairs of leaves that may pay."""
        tree, leaves = self.tree, 1 << self.tree.depth
        one, other, of = nodes.one, nodes.other, nodes.other % leaves
        self.work += STEPS * len(one) * _OF_LEAF**2
        mine = [np.take(slot, one, axis=1) for slot in tree.mine]
        theirs = [np.take(slot, other, axis=1) for slot in tree.theirs]
        adds, pays = np.take(self._adds, of, axis=1), np.take(self._pays, of, axis=1) + np.float32(fixed)
        found = [np.zeros((3, 0), dtype=np.int64)]
        for row in range(_OF_LEAF):
            period = np.maximum(mine[0][row], theirs[0])
            for slot in range(1, SLOTS):
                period += np.maximum(mine[slot][row], theirs[slot])
            period *= self._pays[row][one] + pays
            column, place = np.nonzero(self._adds[row][one] + adds > period)
            found.append(np.stack([_OF_LEAF * one[place] + row, _OF_LEAF * of[place] + column, other[place] // leaves]))
        pair, second, turned = np.concatenate(found, axis=1)
        between = np.where(turned == 0, tree.first[second], tree.second[second])
        last = np.where(turned == 0, tree.second[second], tree.first[second])
        return Met(pair, np.column_stack([tree.first[pair], tree.second[pair], between, last]))


def _neighbours(slots: Sequence[Floats], depth: int) -> Ints:
    """Return pairs in line, so that each half of it, and each half of those, has times alike; filled up at the end."""
    line, count = np.arange(_OF_LEAF << depth), len(slots[0])
    points = np.stack(slots)
    for level in range(depth):
        nodes: Any = line.reshape(1 << level, -1)
        values = points[:, np.minimum(nodes, count - 1)]
        widest = np.ptp(values, axis=2).argmax(axis=0)
        parts = np.argpartition(values[widest, np.arange(1 << level)], nodes.shape[1] // 2, axis=1)
        line = np.take_along_axis(nodes, parts, axis=1).ravel()
    return line


def _level(slots: Sequence[Floats], nodes: int) -> _Level:
    shortest = [slot.reshape(nodes, -1).min(axis=1).astype(np.float64) for slot in slots]
    later = [np.concatenate([shortest[s - 1], shortest[s - 3]]) for s in range(SLOTS)]
    return _Level(shortest, later, shortest[0] + shortest[1] + shortest[2] + shortest[3])


def in_leaves(values: Floats) -> Floats:
    """Return numbers of pairs by their place in a leaf, then by leaf."""
    return np.ascontiguousarray(values.reshape(-1, _OF_LEAF).T.astype(np.float32))


def _halves(nodes: _Nodes, count: int) -> _Nodes:
    """Return the meetings of the halves of nodes; of a node with itself, each two meet once."""
    one, other, apart = 2 * nodes.one, 2 * nodes.other, nodes.one != nodes.other % count
    return _Nodes(
        np.concatenate([one, one, one + 1, one[apart] + 1]), np.concatenate([other, other + 1, other + 1, other[apart]])
    )


def _cut(nodes: _Nodes, most: int) -> Iterator[_Nodes]:
    """Yield nodes that meet, so many at once."""
    for begin in range(0, len(nodes.one), most):
        yield _Nodes(nodes.one[begin : begin + most], nodes.other[begin : begin + most])
