"""Where jobs may share GPUs that ask for certain nodes: the verifier's own reading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from muri_opt.rounds import Round
from muri_opt.verify.demands import Asked, is_lost

Held = tuple[tuple[int, int], ...]
"""GPUs on each node where a job runs, by the positions of nodes."""
Place = frozenset[int] | Held
"""Nodes inside of which all GPUs are; or the GPUs on each node of jobs that go on there."""


class Where(NamedTuple):
    """Where a job may be: it starts inside one of the ``parts``, or goes on with all GPUs that are ``held``."""

    parts: tuple[tuple[int, ...], ...]
    held: Held | None

    def may_have(self, held: Held) -> bool:
        """Return whether the job runs there now, or could start on just these nodes."""
        nodes = {node for node, _ in held}
        return self.held == held or any(nodes.issubset(part) for part in self.parts)


def wheres(round_: Round, asked: Mapping[str, Asked] | None) -> list[Where]:
    """Return where each job of a round may be; anywhere, if none has ``asked`` for anything."""
    if asked is None:
        return [Where((tuple(range(len(round_.cluster.nodes))),), None)] * len(round_.jobs)
    index = round_.cluster.node_index
    found = []
    for job in round_.jobs:
        runs = job.state == "running" and not is_lost(round_, job)
        held = tuple(sorted((index[node], gpus) for node, gpus in (job.placement or {}).items()))
        found.append(Where(asked[job.id].parts, held if runs else None))
    return found


def shared_places(jobs: Sequence[Where], gpus: int) -> Iterator[Place]:
    """Yield where jobs may have so many GPUs together, whatever the nodes have.

    All of them start inside a part of each, or are exactly where some of them run now: those that do not run there must
    be able to start on just these nodes.
    """
    parts = [frozenset(part) for part in jobs[0].parts]
    for other in jobs[1:]:
        parts = [common for part in parts for mine in other.parts if (common := part.intersection(mine))]
    yield from parts
    for held in sorted({one.held for one in jobs if one.held is not None}):
        nodes = {node for node, _ in held}
        fits = sum(given for _, given in held) == gpus and not any(nodes <= part for part in parts)
        if fits and all(one.may_have(held) for one in jobs):
            yield held


class Cheapest:
    """The least that GPUs of groups cost, at prices of those of each node; ``kind`` has jobs that ask for the same."""

    def __init__(self, round_: Round, asked: Mapping[str, Asked], prices: Sequence[int]) -> None:
        self._prices, self._has = prices, [node.gpus for node in round_.cluster.nodes]
        found = wheres(round_, asked)
        self._wheres = [*dict.fromkeys(found)]
        number = {where: place for place, where in enumerate(self._wheres)}
        self.kind = [number[where] for where in found]
        self._known: dict[tuple[frozenset[int], int], int | None] = {}

    def cost(self, kinds: frozenset[int], gpus: int) -> int | None:
        """Return what so many GPUs of jobs of some kinds cost at least; ``None`` if they can be nowhere together."""
        key = kinds, gpus
        if key not in self._known:
            places = shared_places([self._wheres[kind] for kind in sorted(kinds)], gpus)
            costs = (self._cost(place, gpus) for place in places)
            self._known[key] = min((cost for cost in costs if cost is not None), default=None)
        return self._known[key]

    def _cost(self, place: Place, gpus: int) -> int | None:
        if isinstance(place, tuple):
            return sum(self._prices[node] * given for node, given in place)
        if sum(self._has[node] for node in place) < gpus:
            return None
        return gpus * min(self._prices[node] for node in place)
