"""On which nodes jobs may start by what they ask of nodes; the verifier's own reading, of all nodes at once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Job, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.amounts import micro

Parts = tuple[tuple[int, ...], ...]
"""Sets of nodes, by their positions."""
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


class OpenNodes:
    """The nodes of a round, to be asked where its jobs may start; who asks for the same is told the same object.

    >>> nodes = OpenNodes(round_ := shipped_round("toy/two-gangs"))
    >>> nodes.parts(round_.jobs[0])
    ((0, 1),)
    """

    def __init__(self, round_: Round) -> None:
        self._nodes, self._now = round_.cluster.nodes, micro(round_.now)
        self._up = np.array([node.state == "up" for node in self._nodes], dtype=np.bool_)
        self._type_of, self._type = _numbered(node.gpu_type for node in self._nodes)
        self._units: dict[str, Ints] = {}
        self._labelled: dict[str, list[int]] = {}
        for place, node in enumerate(self._nodes):
            for label in node.labels:
                self._labelled.setdefault(label, []).append(place)
        self._rows: dict[str, Bools] = {}
        ends = [None if node.available_until is None else micro(node.available_until) for node in self._nodes]
        self._ends = sorted({end for end in ends if end is not None})
        self._end = np.array([bisect_left(self._ends, end) if end is not None else len(self._ends) for end in ends])
        self._known: dict[object, Parts] = {}
        self._same: dict[tuple[int, ...], tuple[int, ...]] = {}

    def parts(self, job: Job) -> Parts:
        """Return the nodes where a job may start, those of each GPU type and unit apart."""
        limit = job.time_limit_seconds if self._ends else None
        key = job.gpu_types, job.requires, job.excludes, level_of(job), limit
        if key not in self._known:
            self._known[key] = tuple(self._same.setdefault(part, part) for part in self._parts(job))
        return self._known[key]

    def _parts(self, job: Job) -> list[tuple[int, ...]]:
        able, kind, level = self._open_to(job), self._type, level_of(job)
        if level is not None:
            unit = self._unit(level)
            able &= unit >= 0
            kind = kind * (int(unit.max(initial=0)) + 1) + unit
        nodes = np.flatnonzero(able)
        line = nodes[np.argsort(kind[nodes], kind="stable")]
        ends = np.flatnonzero(np.diff(kind[line])) + 1
        return sorted(tuple(some.tolist()) for some in np.split(line, ends) if len(some))

    def _open_to(self, job: Job) -> Bools:
        """Return on which nodes a job may start, wherever they are."""
        able = self._up.copy()
        if job.gpu_types is not None:
            of_type = [name in job.gpu_types for name in self._type_of]
            able &= np.array(of_type, dtype=np.bool_)[self._type]
        for label in job.requires:
            able &= self._with_label(label)
        for label in job.excludes:
            able &= ~self._with_label(label)
        if self._ends:
            ends = self._now + (1 if job.time_limit_seconds is None else micro(job.time_limit_seconds))
            able &= self._end >= bisect_left(self._ends, ends)
        return able

    def _with_label(self, label: str) -> Bools:
        if label not in self._rows:
            row = self._rows[label] = np.zeros(len(self._nodes), dtype=np.bool_)
            row[self._labelled.get(label, [])] = True
        return self._rows[label]

    def _unit(self, level: str) -> Ints:
        """Return the number of each node's unit of a level, -1 where it is in none."""
        if level not in self._units:
            names, unit = _numbered(node.units.get(level) for node in self._nodes)
            self._units[level] = np.where([name is None for name in names], -1, np.arange(len(names)))[unit]
        return self._units[level]


@recalled
def open_nodes(round_: Round) -> OpenNodes:
    """Return the nodes of a round to be asked, the same object each time, so that parts are the same objects, too."""
    return OpenNodes(round_)


def level_of(job: Job) -> str | None:
    """Return the level inside a unit of which a job must be."""
    return job.within.level if job.within is not None and job.within.required else None


def _numbered(names: Iterable[str | None]) -> tuple[list[str | None], Ints]:
    """Return the names that differ, and which of them each is."""
    known: dict[str | None, int] = {}
    numbers = [known.setdefault(name, len(known)) for name in names]
    return [*known], np.array(numbers, dtype=np.int64)
