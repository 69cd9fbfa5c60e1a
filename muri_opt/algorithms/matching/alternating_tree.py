"""One search of the blossom algorithm: from a vertex that must not stay alone, until it need not or does not.

A single alternating tree is grown. Its outer nodes (``OUTER``) are reached from the root by paths that end with a
matched edge, its inner ones (``INNER``) by paths that end with an unmatched edge. All vertices of one tree have duals
of one parity, because tight edges join vertices of equal parity; so every step of the duals is a whole number.

This is one phase of Edmonds' primal-dual algorithm for weighted matching: grow, shrink an odd cycle, expand a blossom
of dual 0, augment, and change the duals by the least slack when none of these can be done.

Duals of the tree change at one rate, so they are kept as they were at time 0 of the search (Galil, Micali and Gabow
1986): at time t an outer vertex has ``base - t``, an inner one ``base + t``, and one outside the tree ``base``. What
then becomes tight when is known at once, and a step costs the arrays one look for the least time.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from muri_opt.algorithms.matching.blossoms import Node, Nodes, OddCycle, base_of, key_of
from muri_opt.algorithms.matching.result import Ints

FREE, OUTER, INNER = 0, 1, 2
FAR: Final = 1 << 60
AT_ONCE: Final = 1 << 14
"""So many pairs of outer vertices are looked through again at once when a blossom is made, more when they matter."""


class Search:
    """The tree of one root, with the nearest outer vertex of every vertex by slack.

    ``duals`` hold the ``base`` of every vertex until the search has ended; ``free`` is that of vertices outside the
    tree and ``outer`` that of outer ones, and FAR for others. ``reach[v]`` is the least of an outer vertex' base less
    twice the weight of its edge to v, and ``nearest[v]`` that vertex. The slack of the edge at time t is then
    ``reach[v] - t`` and the dual of v: it is 0 at the time ``reach + free``, or half of ``reach + outer`` between two
    outer vertices, whose duals both fall.
    """

    def __init__(self, doubled: Ints, duals: Ints, nodes: Nodes, root: int) -> None:
        n = len(duals)
        self.doubled, self.duals, self.nodes = doubled, duals, nodes
        self.time = 0
        self.label = np.zeros(n, dtype=np.int8)
        self.reach = np.full(n, FAR, dtype=np.int64)
        self.nearest = np.full(n, root, dtype=np.int64)
        self.free = duals.copy()
        self.outer = np.full(n, FAR, dtype=np.int64)
        self.zero_at = (FAR, root)
        self.entry: dict[int, tuple[int, int]] = {}
        self.outer_cycles: dict[int, OddCycle] = {}
        self.inner_cycles: dict[int, OddCycle] = {}
        self._add_outer(nodes.top(root))

    def run(self, limit: int = FAR) -> None:
        """Grow the tree until the root is matched, or another outer vertex with dual 0 is left alone in its place.

        At the time ``limit`` the search ends, with the matching as it was and duals that are nearer to the end.
        """
        done = False
        while not done:
            done = self._step(limit)
        self._settle()
        self.nodes.open_idle()

    def _step(self, limit: int) -> bool:
        """Go on to the time at which something becomes tight, act on it, and return whether the search has ended."""
        free_at, outer_at = self.reach + self.free, self.reach + self.outer
        outside, inside = int(free_at.argmin()), int(outer_at.argmin())
        cycle = min(self.inner_cycles.values(), key=lambda cycle: cycle.dual, default=None)
        to_zero, alone = self.zero_at
        to_free, to_outer = int(free_at[outside]), int(outer_at[inside]) // 2
        to_open = FAR if cycle is None else cycle.dual // 2
        least = min(to_zero, to_free, to_outer, to_open)
        u = int(self.nearest[inside])
        if least == to_outer and self.nodes.top_key[u] == self.nodes.top_key[inside]:
            self._scan_inside(np.array([inside]), self._outer_besides(inside))
            return False  # it was a time of before the two were in one node
        self.time = min(least, limit)
        if least > limit:
            return True
        if least == to_zero:
            self._flip(alone)
            self.nodes.mate[alone] = -1
            return True
        if least == to_free:
            return self._reach(int(self.nearest[outside]), outside)
        if least == to_outer:
            self._close(u, inside)
        elif cycle is not None:
            self._open_inner(cycle)
        return False

    def _settle(self) -> None:
        """Give every vertex and blossom the dual that it has now."""
        self.duals[self.label == OUTER] -= self.time
        self.duals[self.label == INNER] += self.time
        for cycle in self.outer_cycles.values():
            cycle.dual += 2 * self.time
        for cycle in self.inner_cycles.values():
            cycle.dual -= 2 * self.time

    def _reach(self, u: int, v: int) -> bool:
        """Take in the free node of ``v`` over the tight edge u-v; return True if it was unmatched and u now has it."""
        node = self.nodes.top(v)
        mate = int(self.nodes.mate[base_of(node)])
        if mate < 0:
            self._flip(u)
            self.nodes.turn(node, v)
            self.nodes.match(u, v)
            return True
        self._add_inner(node, (u, v))
        self._add_outer(self.nodes.top(mate))
        return False

    def _add_inner(self, node: Node, entry: tuple[int, int]) -> None:
        """Take in a free node over the edge ``entry``."""
        vertices = place_of(node)
        self.entry[key_of(node)] = entry
        self.label[vertices] = INNER
        self.free[vertices] = FAR
        self.duals[vertices] -= self.time
        if isinstance(node, OddCycle):
            node.dual += 2 * self.time
            self.inner_cycles[node.key] = node

    def _add_outer(self, node: Node) -> None:
        """Take in the free node that is matched to an inner one."""
        vertices = place_of(node)
        self.free[vertices] = FAR
        self.duals[vertices] += self.time
        if isinstance(node, OddCycle):
            node.dual -= 2 * self.time
            self.outer_cycles[node.key] = node
            self._make_outer(node.vertices.tolist(), node)
        else:
            self._make_outer([node], node)

    def _make_outer(self, new: list[int], node: Node) -> None:
        """Make the vertices ``new`` of a top node outer, and note to whom they are the nearest."""
        own = place_of(node)
        for u in new:
            base = int(self.duals[u])
            self.zero_at = min(self.zero_at, (base, u))
            reach = base - self.doubled[u]
            reach[own] = FAR
            np.copyto(self.nearest, u, where=reach < self.reach)
            np.minimum(self.reach, reach, out=self.reach)
        self.label[own] = OUTER
        self.outer[own] = self.duals[own]
        if isinstance(node, OddCycle):
            vertices = node.vertices
            stale = vertices[self.nodes.top_key[self.nearest[vertices]] == node.key]
            others = self._outer_besides(node.base)
            if len(stale) * len(others) <= AT_ONCE:
                self._scan_inside(stale, others)

    def _outer_besides(self, v: int) -> Ints:
        """Return the outer vertices that are not in one node with ``v``."""
        elsewhere = self.nodes.top_key != self.nodes.top_key[v]
        return np.asarray(((self.label == OUTER) & elsewhere).nonzero()[0])

    def _scan_inside(self, own: Ints, others: Ints) -> None:
        """Find anew the nearest outer vertex of another node for the vertices ``own`` of one node."""
        if not len(others) or not len(own):
            self.reach[own] = FAR
            return
        reach = self.duals[others] - self.doubled[own[:, None], others]
        self.reach[own] = reach.min(axis=1)
        self.nearest[own] = others[reach.argmin(axis=1)]

    def _flip(self, u: int) -> None:
        """Exchange matched and unmatched edges from the outer vertex ``u`` to the root, leaving ``u`` to be matched."""
        nodes = self.nodes
        mate = int(nodes.mate[base_of(nodes.top(u))])
        while True:
            nodes.turn(nodes.top(u), u)
            if mate < 0:
                return
            inner = nodes.top(mate)
            before, v = self.entry[key_of(inner)]
            mate = int(nodes.mate[base_of(nodes.top(before))])
            nodes.turn(inner, v)
            nodes.match(before, v)
            u = before

    def _path(self, v: int) -> tuple[list[Node], list[tuple[int, int]]]:
        """Return the nodes from the outer vertex ``v`` to the root, and the edges between them."""
        path: list[Node] = [self.nodes.top(v)]
        links: list[tuple[int, int]] = []
        while True:
            base = base_of(path[-1])
            mate = int(self.nodes.mate[base])
            if mate < 0:
                return path, links
            inner = self.nodes.top(mate)
            before, x = self.entry[key_of(inner)]
            path += [inner, self.nodes.top(before)]
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
            self._make_inside(child)
        cycle = self.nodes.enclose(children, links)
        was_inner = cycle.vertices[self.label[cycle.vertices] == INNER]
        self.duals[was_inner] += 2 * self.time
        cycle.dual -= 2 * self.time
        self.outer_cycles[cycle.key] = cycle
        self._make_outer(was_inner.tolist(), cycle)

    def _make_inside(self, node: Node) -> None:
        """Give a node that is about to be inside a new blossom the dual that it has now, and keeps."""
        key = key_of(node)
        if (cycle := self.inner_cycles.pop(key, None)) is not None:
            cycle.dual -= 2 * self.time
        if (cycle := self.outer_cycles.pop(key, None)) is not None:
            cycle.dual += 2 * self.time

    def _open_inner(self, cycle: OddCycle) -> None:
        """Replace an inner cycle of dual 0 by the even path inside it from its entry to its base; the rest is free."""
        entry = self.entry.pop(cycle.key)
        del self.inner_cycles[cycle.key]
        self.nodes.open(cycle)
        self.label[cycle.vertices] = FREE
        self.duals[cycle.vertices] += self.time
        self.free[cycle.vertices] = self.duals[cycle.vertices]
        children, links, size = cycle.children, cycle.links, len(cycle.children)
        first = key_of(self.nodes.top(entry[1]))
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


def place_of(node: Node) -> Ints | int:
    """Return where the vertices of a node are in an array; of a single one the number is faster than an array of it."""
    return node.vertices if isinstance(node, OddCycle) else node
