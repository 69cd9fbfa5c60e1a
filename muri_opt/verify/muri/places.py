"""Where jobs may share GPUs that ask for certain nodes: the verifier's own reading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from muri_opt.rounds import Round
from muri_opt.verify.demands import Asked

Place = frozenset[int] | tuple[tuple[int, int], ...]
"""Nodes inside of which all GPUs are; or the GPUs on each node of jobs that go on there."""


def shared_places(asked: Sequence[Asked], gpus: int) -> Iterator[Place]:
    """Yield where jobs that have ``asked`` may have so many GPUs together, whatever the nodes have.

    All of them start inside a part of each, or are exactly where some of them run now: those that do not run there must
    be able to start on just these nodes.
    """
    parts = [frozenset(part) for part in asked[0].parts]
    for other in asked[1:]:
        parts = [common for part in parts for mine in other.parts if (common := part.intersection(mine))]
    yield from parts
    homes = {tuple(sorted(one.home.items())) for one in asked if one.home is not None}
    for home in sorted(homes):
        nodes = {node for node, _ in home}
        others = [one for one in asked if one.home is None or tuple(sorted(one.home.items())) != home]
        may = all(any(nodes.issubset(part) for part in one.parts) for one in others)
        if may and sum(given for _, given in home) == gpus and not any(nodes <= part for part in parts):
            yield home


class Cheapest:
    """The least that GPUs of groups cost, at prices of those of each node; ``kind`` has jobs that ask for the same."""

    def __init__(self, round_: Round, asked: Mapping[str, Asked], prices: Sequence[int]) -> None:
        self._prices, self._has = prices, [node.gpus for node in round_.cluster.nodes]
        known: dict[object, int] = {}
        self._asked: list[Asked] = []
        self.kind: list[int] = []
        for job in round_.jobs:
            mine = asked[job.id]
            home = None if mine.home is None else tuple(sorted(mine.home.items()))
            key = mine.parts, home
            if key not in known:
                known[key] = len(self._asked)
                self._asked.append(mine)
            self.kind.append(known[key])
        self._known: dict[tuple[frozenset[int], int], int | None] = {}

    def cost(self, kinds: frozenset[int], gpus: int) -> int | None:
        """Return what so many GPUs of jobs of some kinds cost at least; ``None`` if they can be nowhere together."""
        key = kinds, gpus
        if key not in self._known:
            places = shared_places([self._asked[kind] for kind in sorted(kinds)], gpus)
            costs = (self._cost(place, gpus) for place in places)
            self._known[key] = min((cost for cost in costs if cost is not None), default=None)
        return self._known[key]

    def _cost(self, place: Place, gpus: int) -> int | None:
        if isinstance(place, tuple):
            return sum(self._prices[node] * given for node, given in place)
        if sum(self._has[node] for node in place) < gpus:
            return None
        return gpus * min(self._prices[node] for node in place)
