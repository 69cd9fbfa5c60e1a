"""One search of the blossom algorithm: from a vertex that must not stay alone, until it need not or does not.

A single alternating tree is grown. Its outer nodes (``OUTER``) are reached from the root by paths that end with a
matched edge, its inner ones (``INNER``) by paths that end with an unmatched edge. All vertices of one tree have duals
of one parity, because tight edges join vertices of equal parity; so every step of the duals is a whole number.

This is one phase of Edmonds' primal-dual algorithm for weighted matching: grow, shrink an odd cycle, expand a blossom
of dual 0, augment, and change the duals by the least slack when none of these can be done.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from muri_opt.algorithms.matching.blossoms import Node, Nodes, OddCycle, base_of, key_of, vertices_of
from muri_opt.algorithms.matching.result import Ints

FREE, OUTER, INNER = 0, 1, 2
FAR: Final = 1 << 61


class Search:
    """The tree of one root, with the nearest outer vertex of every vertex by slack."""

    def __init__(self, doubled: Ints, duals: Ints, nodes: Nodes, root: int) -> None:
        n = len(duals)
        self.doubled, self.duals, self.nodes = doubled, duals, nodes
        self.label = np.zeros(n, dtype=np.int8)
        self.slack = np.full(n, FAR, dtype=np.int64)
        self.nearest = np.full(n, root, dtype=np.int64)
        self.entry: dict[int, tuple[int, int]] = {}
        self.inner_cycles: dict[int, OddCycle] = {}
        self._add_outer(nodes.top[root])

    def run(self) -> None:
        """Grow the tree until the root is matched, or another outer vertex with dual 0 is left alone in its place."""
        done = False
        while not done:
            done = self._step()
        self.nodes.open_idle()

    def _step(self) -> bool:
        """Change the duals until something becomes tight, act on it, and return whether the search has ended."""
        outer, free = (self.label == OUTER).nonzero()[0], (self.label == FREE).nonzero()[0]
        alone = int(outer[self.duals[outer].argmin()])
        inside = int(outer[self.slack[outer].argmin()])
        outside = int(free[self.slack[free].argmin()]) if len(free) else inside
        cycle = min(self.inner_cycles.values(), key=lambda cycle: cycle.dual, default=None)
        to_zero = int(self.duals[alone])
        to_free = int(self.slack[outside]) if len(free) else FAR
        to_outer = int(self.slack[inside]) // 2
        to_open = FAR if cycle is None else cycle.dual // 2
        least = min(to_zero, to_free, to_outer, to_open)
        self._move_duals(least, outer, free)
        if least == to_zero:
            self._flip(alone)
            self.nodes.mate[alone] = -1
            return True
        if least == to_free:
            return self._reach(int(self.nearest[outside]), outside)
        if least == to_outer:
            self._close(int(self.nearest[inside]), inside)
        elif cycle is not None:
            self._open_inner(cycle)
        return False

    def _move_duals(self, step: int, outer: Ints, free: Ints) -> None:
        if step == 0:
            return
        self.duals[outer] -= step
        self.duals[self.label == INNER] += step
        self.slack[free] -= step
        near = outer[self.slack[outer] < FAR]
        self.slack[near] -= 2 * step
        for key in set(self.nodes.top_key[outer].tolist()) & self.nodes.cycles.keys():
            self.nodes.cycles[key].dual += 2 * step
        for cycle in self.inner_cycles.values():
            cycle.dual -= 2 * step

    def _reach(self, u: int, v: int) -> bool:
        """Take in the free node of ``v`` over the tight edge u-v; return True if it was unmatched and u now has it."""
        node = self.nodes.top[v]
        mate = int(self.nodes.mate[base_of(node)])
        if mate < 0:
            self._flip(u)
            self.nodes.turn(node, v)
            self.nodes.match(u, v)
            return True
        self._add_inner(node, (u, v))
        self._add_outer(self.nodes.top[mate])
        return False

    def _add_inner(self, node: Node, entry: tuple[int, int]) -> None:
        self.entry[key_of(node)] = entry
        self.label[vertices_of(node)] = INNER
        if isinstance(node, OddCycle):
            self.inner_cycles[node.key] = node

    def _add_outer(self, node: Node) -> None:
        vertices = vertices_of(node)
        self.label[vertices] = OUTER
        self._scan(vertices, key_of(node))

    def _scan(self, new: Ints, key: int) -> None:
        """Bring the slacks up to date after the vertices ``new`` of top node ``key`` became outer."""
        outside = self.nodes.top_key != key
        slack = self.duals[new][:, None] + self.duals - self.doubled[new]
        least = slack[0] if len(new) == 1 else slack.min(axis=0)
        better = ((least < self.slack) & outside).nonzero()[0]
        self.slack[better] = least[better]
        self.nearest[better] = new[0] if len(new) == 1 else new[slack[:, better].argmin(axis=0)]
        own = (~outside).nonzero()[0]
        stale = own[~outside[self.nearest[own]]]  # the others are nearest to another node, and stay so
        if len(stale):
            self._scan_inside(stale, ((self.label == OUTER) & outside).nonzero()[0])

    def _scan_inside(self, own: Ints, others: Ints) -> None:
        """Find anew the nearest outer vertex of another node for the vertices ``own`` of one node."""
        if not len(others):
            self.slack[own] = FAR
            return
        slack = self.duals[own][:, None] + self.duals[others] - self.doubled[own[:, None], others]
        self.slack[own] = slack.min(axis=1)
        self.nearest[own] = others[slack.argmin(axis=1)]

    def _flip(self, u: int) -> None:
        """Exchange matched and unmatched edges from the outer vertex ``u`` to the root, leaving ``u`` to be matched."""
        nodes = self.nodes
        mate = int(nodes.mate[base_of(nodes.top[u])])
        while True:
            nodes.turn(nodes.top[u], u)
            if mate < 0:
                return
            inner = nodes.top[mate]
            before, v = self.entry[key_of(inner)]
            mate = int(nodes.mate[base_of(nodes.top[before])])
            nodes.turn(inner, v)
            nodes.match(before, v)
            u = before

    def _path(self, v: int) -> tuple[list[Node], list[tuple[int, int]]]:
        """Return the nodes from the outer vertex ``v`` to the root, and the edges between them."""
        path: list[Node] = [self.nodes.top[v]]
        links: list[tuple[int, int]] = []
        while True:
            base = base_of(path[-1])
            mate = int(self.nodes.mate[base])
            if mate < 0:
                return path, links
            inner = self.nodes.top[mate]
            before, x = self.entry[key_of(inner)]
            path += [inner, self.nodes.top[before]]
            links += [(base, mate), (x, before)]

    def _close(self, u: int, v: int) -> None:
        """Make one outer node of the odd cycle that the tight edge u-v between outer nodes closes."""
        (path_u, links_u), (path_v, links_v) = self._path(u), self._path(v)
        where = {key_of(node): i for i, node in enumerate(path_u)}
        j = next(j for j, node in enumerate(path_v) if key_of(node) in where)
        i = where[key_of(path_v[j])]
        children = [path_u[i], *reversed(path_u[:i]), *path_v[:j]]
        links = [*((b, a) for a, b in reversed(links_u[:i])), (u, v), *links_v[:j]]
        for child in children:
            self.inner_cycles.pop(key_of(child), None)
        cycle = self.nodes.enclose(children, links)
        was_inner = cycle.vertices[self.label[cycle.vertices] == INNER]
        self.label[cycle.vertices] = OUTER
        self._scan(was_inner, cycle.key)

    def _open_inner(self, cycle: OddCycle) -> None:
        """Replace an inner cycle of dual 0 by the even path inside it from its entry to its base; the rest is free."""
        entry = self.entry.pop(cycle.key)
        del self.inner_cycles[cycle.key]
        self.nodes.open(cycle)
        self.label[cycle.vertices] = FREE
        children, links, size = cycle.children, cycle.links, len(cycle.children)
        first = key_of(self.nodes.top[entry[1]])
        at = next(i for i, child in enumerate(children) if key_of(child) == first)
        step = -1 if at % 2 == 0 else 1
        outer = []
        while True:
            self._add_inner(children[at], entry)
            if at == 0:
                break
            matched = (at + step) % size
            at = (matched + step) % size
            outer.append(children[matched])
            entry = links[matched] if step == 1 else links[at][::-1]
        for child in outer:
            self._add_outer(child)
