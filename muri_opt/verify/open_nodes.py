"""On which nodes jobs may start by what they ask of nodes; the verifier's own reading, of all nodes at once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable
from functools import reduce
from itertools import accumulate
from math import inf
from operator import or_
from typing import Final, TypeVar

from muri_opt.rounds import Job, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.rounds.node_bits import Bits, nodes_of
from muri_opt.verify.amounts import micro

Parts = tuple[tuple[int, ...], ...]
"""Sets of nodes, by their positions."""
Value = TypeVar("Value", bound=Hashable)
_NOWHERE: Final[Bits] = 0


class OpenNodes:
    """The nodes of a round, to be asked where its jobs may start; who asks for the same is told the same object.

    >>> nodes = OpenNodes(round_ := shipped_round("toy/two-gangs"))
    >>> nodes.parts(round_.jobs[0])
    ((0, 1),)
    """

    def __init__(self, round_: Round) -> None:
        self._nodes, self._now = round_.cluster.nodes, micro(round_.now)
        self._up = _by_value(node.state for node in self._nodes).get("up", _NOWHERE)
        self._of_type = _by_value(node.gpu_type for node in self._nodes)
        self._units: dict[str, list[Bits]] = {}
        """By levels that were asked for, the nodes of each GPU type in each of their units."""
        self._labelled: dict[str, Bits] = {}
        for place, node in enumerate(self._nodes):
            for label in node.labels:
                self._labelled[label] = self._labelled.get(label, _NOWHERE) | 1 << place
        until = _by_value(inf if node.available_until is None else micro(node.available_until) for node in self._nodes)
        self._ends = sorted({*until} - {inf})
        later = accumulate([until.get(inf, _NOWHERE), *(until[end] for end in reversed(self._ends))], or_)
        self._available = [*later][::-1]
        """The nodes that are there until each of the ends or longer, and at last those that always are."""
        self._known: dict[Hashable, Parts] = {}
        self._part: dict[Bits, tuple[int, ...]] = {}

    def parts(self, job: Job) -> Parts:
        """Return the nodes where a job may start, those of each GPU type and unit apart."""
        limit = job.time_limit_seconds if self._ends else None
        key = job.gpu_types, job.requires, job.excludes, level_of(job), limit
        if key not in self._known:
            able, level = self._open_to(job), level_of(job)
            every = self._of_type.values() if level is None else self._in_units(level)
            self._known[key] = tuple(sorted([self._positions(able & some) for some in every if able & some]))
        return self._known[key]

    def _open_to(self, job: Job) -> Bits:
        """Return on which nodes a job may start, wherever they are."""
        able = self._up
        if job.gpu_types is not None:
            able &= reduce(or_, [self._of_type.get(name, _NOWHERE) for name in job.gpu_types], _NOWHERE)
        for label in job.requires:
            able &= self._labelled.get(label, _NOWHERE)
        for label in job.excludes:
            able &= ~self._labelled.get(label, _NOWHERE)
        if self._ends:
            ends = self._now + (1 if job.time_limit_seconds is None else micro(job.time_limit_seconds))
            able &= self._available[bisect_left(self._ends, ends)]
        return able

    def _in_units(self, level: str) -> list[Bits]:
        """Return the nodes of each GPU type in each unit of a level; those in no unit are left out."""
        if level not in self._units:
            each = _by_value((node.gpu_type, node.units.get(level)) for node in self._nodes)
            self._units[level] = [nodes for (_, unit), nodes in each.items() if unit is not None]
        return self._units[level]

    def _positions(self, some: Bits) -> tuple[int, ...]:
        """Return nodes by their positions, the same object for the same nodes."""
        if some not in self._part:
            self._part[some] = tuple(nodes_of(some, len(self._nodes)).tolist())
        return self._part[some]


@recalled
def open_nodes(round_: Round) -> OpenNodes:
    """Return the nodes of a round to be asked, the same object each time, so that parts are the same objects, too."""
    return OpenNodes(round_)


def level_of(job: Job) -> str | None:
    """Return the level inside a unit of which a job must be."""
    return job.within.level if job.within is not None and job.within.required else None


def _by_value(values: Iterable[Value]) -> dict[Value, Bits]:
    """Return which of some nodes have each value, in the order of the first of them."""
    found: dict[Value, Bits] = {}
    for place, value in enumerate(values):
        found[value] = found.get(value, _NOWHERE) | 1 << place
    return found
