"""One search of the blossom algorithm: from a vertex that must not stay alone, until it need not or does not.

A single alternating tree is grown. Its outer nodes (``OUTER``) are reached from the root by paths that end with a
matched edge, its inner ones (``INNER``) by paths that end with an unmatched edge. All vertices of one tree have duals
of one parity, because tight edges join vertices of equal parity; so every step of the duals is a whole number.

This is one phase of Edmonds' primal-dual algorithm for weighted matching: grow, shrink an odd cycle, expand a blossom
of dual 0, augment, and change the duals by the least slack when none of these can be done.

Duals of the tree change at one rate, so they are kept as they were at time 0 of the search (Galil, Micali and Gabow
1986): at time t an outer vertex has ``base - t``, an inner one ``base + t``, and one outside the tree ``base``. What
then becomes tight when is known at once, and waits in a heap for its time; what has become of it meanwhile is seen when
it is taken out.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final

from muri_opt.algorithms.matching.blossoms import Node, Nodes, OddCycle, base_of, key_of, vertices_of
from muri_opt.algorithms.matching.near_edges import Edge, NearEdges

FREE, OUTER, INNER = 0, 1, 2
ALONE, TIGHT, OPEN, LOOK = 0, 1, 2, 3
"""What may happen: an outer vertex has dual 0, an edge becomes tight, an inner blossom has dual 0, edges are near."""
FAR: Final = 1 << 60
MANY: Final = 3
"""So many vertices of one node are looked at together, one edge of all of them to every other vertex."""


class Search:
    """The tree of one root, grown until the time ``limit`` at most.

    ``near.duals`` hold the ``base`` of every vertex until the search has ended. An edge between outer u and free v is
    tight at the time ``base(u) + base(v)`` less twice its weight, one between two outer vertices at half of that.
    ``reach[v]`` is the first time known of the free vertex v. Nothing is noted that happens after ``end``, by which
    the search has surely ended. An edge of weight 0 needs no thought: one of its ends is alone with dual 0 by then.
    """

    def __init__(self, near: NearEdges, nodes: Nodes, root: int, limit: int) -> None:
        self.near, self.duals, self.nodes = near, near.duals, nodes
        self.time, self.limit, self.end = 0, limit, limit
        self.label = [FREE] * len(self.duals)
        self.seen: list[int] = []
        self.reach: dict[int, int] = {}
        self.events: list[tuple[int, int, int, int]] = []
        self.waiting: list[list[Edge]] = []
        self.entry: dict[int, tuple[int, int]] = {}
        self.outer_cycles: dict[int, OddCycle] = {}
        self.inner_cycles: dict[int, OddCycle] = {}
        self._add_outer(nodes.top[root])

    def run(self) -> None:
        """Grow the tree until the root is matched, or another outer vertex with dual 0 is left alone in its place.

        At the time ``limit`` the search ends, with the matching as it was and duals that are nearer to the end.
        """
        events, done = self.events, False
        while events and not done:
            self.time, what, u, v = heappop(events)
            if what == TIGHT:
                done = self.label[v] == FREE and self.near.slack(u, v) == self.time and self._reach(u, v)
            elif what == ALONE:
                self._flip(u)
                self.nodes.mate[u] = -1
                done = True
            elif what == LOOK:
                self._look(u)
            elif (cycle := self.inner_cycles.get(u)) is not None and cycle.dual == 2 * self.time:
                self._open_inner(cycle)
        if not done:
            self.time = self.limit
        self._settle()
        self.nodes.open_idle()

    def _settle(self) -> None:
        """Give every vertex and blossom the dual that it has now."""
        for v in set(self.seen):
            if self.label[v] == OUTER:
                self.near.add(v, -self.time)
            elif self.label[v] == INNER:
                self.near.add(v, self.time)
        for cycle in self.outer_cycles.values():
            cycle.dual += 2 * self.time
        for cycle in self.inner_cycles.values():
            cycle.dual -= 2 * self.time

    def _reach(self, u: int, v: int) -> bool:
        """Take in the free node of ``v`` over the tight edge u-v; return True if it was unmatched and u now has it."""
        node = self.nodes.top[v]
        mate = self.nodes.mate[base_of(node)]
        if mate < 0:
            self._flip(u)
            self.nodes.turn(node, v)
            self.nodes.match(u, v)
            return True
        self._add_inner(node, (u, v))
        self._add_outer(self.nodes.top[mate])
        return False

    def _add_inner(self, node: Node, entry: tuple[int, int]) -> None:
        """Take in a free node over the edge ``entry``."""
        self.entry[key_of(node)] = entry
        for v in vertices_of(node):
            self.label[v] = INNER
            self.near.add(v, -self.time)
            self.seen.append(v)
        if isinstance(node, OddCycle):
            node.dual += 2 * self.time
            self.inner_cycles[node.key] = node
            if node.dual <= 2 * self.end:
                heappush(self.events, (node.dual // 2, OPEN, node.key, 0))

    def _add_outer(self, node: Node) -> None:
        """Take in the free node that is matched to an inner one."""
        vertices = vertices_of(node)
        for v in vertices:
            self.near.add(v, self.time)
            self.seen.append(v)
        if isinstance(node, OddCycle):
            node.dual -= 2 * self.time
            self.outer_cycles[node.key] = node
        self._make_outer(vertices)

    def _make_outer(self, new: list[int]) -> None:
        """Make vertices of one top node outer, and note when their edges become tight."""
        for u in new:
            self.label[u] = OUTER
            base = self.duals[u]
            if base <= self.end:
                self.end = base
                heappush(self.events, (base, ALONE, u, u))
        if len(new) < MANY:
            for u in new:
                self._note(self.near.of(u, 2 * self.end))
        else:
            self._note(self.near.of_all(new, 2 * self.end))

    def _note(self, edges: list[Edge]) -> None:
        """Note when edges of outer vertices to free vertices become tight, and those to other outer nodes first do."""
        label, reach, top, end, both_outer = self.label, self.reach, self.nodes.top, self.end, []
        for edge in edges:
            slack, u, v = edge
            if label[v] == FREE:
                if slack <= end and slack < reach.get(v, FAR):
                    reach[v] = slack
                    heappush(self.events, (slack, TIGHT, u, v))
            elif label[v] == OUTER and top[v] is not top[u]:
                both_outer.append(edge)
        if both_outer:
            both_outer.sort(reverse=True)
            self.waiting.append(both_outer)
            heappush(self.events, (both_outer[-1][0] // 2, LOOK, len(self.waiting) - 1, 0))

    def _look(self, number: int) -> None:
        """Act on edges between outer vertices that are tight now, and note when the next of their list is.

        One at a time, because most of them are inside a node when their time comes.
        """
        edges, top, slack_now = self.waiting[number], self.nodes.top, 2 * self.time
        while edges:
            slack, u, v = edges[-1]
            if top[u] is not top[v]:
                if slack > slack_now:
                    heappush(self.events, (slack // 2, LOOK, number, 0))
                    return
                self._close(u, v)
            edges.pop()

    def _make_free(self, node: Node) -> None:
        """Note when the vertices of a node that was inside an inner one become tight to outer vertices."""
        for v in vertices_of(node):
            self.reach.pop(v, None)
            self._note([(slack, u, v) for slack, _, u in self.near.of(v, self.end) if self.label[u] == OUTER])

    def _flip(self, u: int) -> None:
        """Exchange matched and unmatched edges from the outer vertex ``u`` to the root, leaving ``u`` to be matched."""
        nodes = self.nodes
        mate = nodes.mate[base_of(nodes.top[u])]
        while True:
            nodes.turn(nodes.top[u], u)
            if mate < 0:
                return
            inner = nodes.top[mate]
            before, v = self.entry[key_of(inner)]
            mate = nodes.mate[base_of(nodes.top[before])]
            nodes.turn(inner, v)
            nodes.match(before, v)
            u = before

    def _ways(self, u: int, v: int) -> tuple[_Way, _Way]:
        """Return the ways of two outer vertices towards the root up to the first node that both pass."""
        ways = _Way(self.nodes.top[u]), _Way(self.nodes.top[v])
        way, other = ways
        while True:
            if self._go_on(way) and (at := other.places.get(key_of(way.nodes[-1]))) is not None:
                del other.nodes[at + 1 :], other.links[at:]
                return ways
            way, other = other, way

    def _go_on(self, way: _Way) -> bool:
        """Add the next inner and outer node to a way; return False if it has come to the root."""
        base = base_of(way.nodes[-1])
        mate = self.nodes.mate[base]
        if mate < 0:
            return False
        inner = self.nodes.top[mate]
        before, x = self.entry[key_of(inner)]
        outer = self.nodes.top[before]
        way.places[key_of(outer)] = len(way.nodes) + 1
        way.nodes += [inner, outer]
        way.links += [(base, mate), (x, before)]
        return True

    def _close(self, u: int, v: int) -> None:
        """Make one outer node of the odd cycle that the tight edge u-v between outer nodes closes."""
        one, other = self._ways(u, v)
        children = [*reversed(one.nodes), *other.nodes[:-1]]
        links = [*((b, a) for a, b in reversed(one.links)), (u, v), *other.links]
        for child in children:
            self._make_inside(child)
        cycle = self.nodes.enclose(children, links)
        was_inner = [x for child in children if self.label[base_of(child)] == INNER for x in vertices_of(child)]
        for x in was_inner:
            self.near.add(x, 2 * self.time)
        cycle.dual -= 2 * self.time
        self.outer_cycles[cycle.key] = cycle
        self._make_outer(was_inner)

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
        for v in cycle.vertices:
            self.label[v] = FREE
            self.near.add(v, self.time)
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
        for child in children:
            if self.label[base_of(child)] == FREE:
                self._make_free(child)


class _Way:
    """A way towards the root: its nodes, the edges between them, and the place of every outer one by its number."""

    def __init__(self, first: Node) -> None:
        self.nodes: list[Node] = [first]
        self.links: list[tuple[int, int]] = []
        self.places = {key_of(first): 0}
