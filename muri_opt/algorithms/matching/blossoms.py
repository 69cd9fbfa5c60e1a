"""Vertices and nested blossoms, and how a matching turns inside them.

Edmonds' nested odd cycles: shrunk, a blossom is one vertex; opened, its matching is turned so that any of its vertices
may be the one matched outside. All of it is kept in lists: it is read and changed one vertex at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class OddCycle:
    """A blossom while it exists: children in cyclic order, the one with the base first.

    ``links[i]`` is the edge from ``children[i]`` to the next child. Inside, children 1 and 2, 3 and 4, ... are matched;
    ``children[0]`` holds the vertex that is matched outside, or not at all, ``base``. ``dual`` is in halves of a weight
    unit.
    """

    key: int
    children: list[Node]
    links: list[tuple[int, int]]
    vertices: list[int]
    base: int
    dual: int = 0
    parent: OddCycle | None = field(default=None, repr=False)


Node = int | OddCycle


def key_of(node: Node) -> int:
    """Return the number of a node: a vertex is its own."""
    return node.key if isinstance(node, OddCycle) else node


def vertices_of(node: Node) -> list[int]:
    """Return the vertices of a node."""
    return node.vertices if isinstance(node, OddCycle) else [node]


def base_of(node: Node) -> int:
    """Return the vertex of a node that is matched outside, or not at all."""
    return node.base if isinstance(node, OddCycle) else node


class Nodes:
    """All nodes of a graph: which top node and which parent every vertex has, and who is matched to whom."""

    def __init__(self, mate: list[int]) -> None:
        self.mate = mate
        self.top: list[Node] = list(range(len(mate)))
        """The outermost node that holds a vertex."""
        self.parent: list[OddCycle | None] = [None] * len(mate)
        self.cycles: dict[int, OddCycle] = {}
        self._next = len(mate)

    def enclose(self, children: list[Node], links: list[tuple[int, int]]) -> OddCycle:
        """Return a new top node around an odd cycle of top nodes."""
        vertices: list[int] = []
        for child in children:
            vertices += vertices_of(child)
        cycle = OddCycle(self._next, children, links, vertices, base_of(children[0]))
        self._next += 1
        self.cycles[cycle.key] = cycle
        for child in children:
            self._set_parent(child, cycle)
        for v in vertices:
            self.top[v] = cycle
        return cycle

    def open(self, cycle: OddCycle) -> None:
        """Make the children of a top node top nodes."""
        for child in cycle.children:
            self._set_parent(child, None)
            for v in vertices_of(child):
                self.top[v] = child
        del self.cycles[cycle.key]

    def open_idle(self) -> None:
        """Open every top node whose dual is 0: it proves nothing."""
        idle = [cycle for cycle in self.cycles.values() if cycle.parent is None and cycle.dual == 0]
        while idle:
            cycle = idle.pop()
            self.open(cycle)
            idle += [child for child in cycle.children if isinstance(child, OddCycle) and child.dual == 0]

    def match(self, u: int, v: int) -> None:
        """Match two vertices."""
        self.mate[u], self.mate[v] = v, u

    def turn(self, node: Node, v: int) -> None:
        """Re-match the inside of a node so that its vertex ``v`` is its base, free to be matched outside."""
        waiting = [(node, v)]  # a list, not recursion: blossoms nest deeper than Python calls
        while waiting:
            cycle, base = waiting.pop()
            if not isinstance(cycle, OddCycle):
                continue
            cycle.base = base
            child = self._child_with(cycle, base)
            waiting.append((child, base))
            at = next(i for i, other in enumerate(cycle.children) if key_of(other) == key_of(child))
            if at:
                cycle.children = cycle.children[at:] + cycle.children[:at]
                cycle.links = cycle.links[at:] + cycle.links[:at]
                for i in range(1, len(cycle.children), 2):
                    a, b = cycle.links[i]
                    waiting += [(cycle.children[i], a), (cycle.children[i + 1], b)]
                    self.match(a, b)

    def _child_with(self, cycle: OddCycle, v: int) -> Node:
        node: Node = v
        parent = self.parent[v]
        while parent is not None and parent is not cycle:
            node, parent = parent, parent.parent
        return node

    def _set_parent(self, node: Node, parent: OddCycle | None) -> None:
        if isinstance(node, OddCycle):
            node.parent = parent
        else:
            self.parent[node] = parent
