"""Where jobs may start and which may not start at all: what the fields of format 2 ask, as arrays.

Jobs that ask for the same are of one kind; a round of thousands of jobs has few. :class:`Eligibility` has a row of
nodes for each kind, and ``Round.eligible`` one for each job.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import attrgetter, or_
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds.levels import unit_codes
from muri_opt.rounds.node_bits import Bits, bits_of, rows_of_bits
from muri_opt.rounds.quantities import microseconds

if TYPE_CHECKING:
    from muri_opt.rounds.cluster import Cluster
    from muri_opt.rounds.round import Round
    from muri_opt.rounds.shape import Within

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
_Kind = tuple[tuple[str, ...] | None, tuple[str, ...], tuple[str, ...], str | None, int]
"""GPU types, labels required and excluded, the level it must be inside one unit of, and the end of its time limit."""
_ASKED: Final = attrgetter("gpu_types", "requires", "excludes", "within", "time_limit_seconds")
"""What a job says of where it may start."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Eligibility:
    """Where jobs may start: job j is of kind ``kind[j]``, and ``rows[k, s]`` says whether kind k may be on node s."""

    kind: Ints
    rows: Bools

    @classmethod
    def of(cls, round_: Round) -> Eligibility:
        """Return the kinds of jobs of a round, and the nodes of each.

        A node must be up and available until the job's time limit has passed (for a job without one, at least now),
        have one of its GPU types, all labels that it requires and none that it excludes, and be in a unit of the level
        that it must be inside of. How many GPUs are free, and that a gang is of one type and in one unit, is not asked.
        """
        nodes = _Nodes(round_)
        asked = [*map(_ASKED, round_.jobs)]
        known: dict[_Kind, int] = {}
        number = {one: known.setdefault(nodes.kind(*one), len(known)) for one in dict.fromkeys(asked)}
        rows = rows_of_bits([nodes.fit(kind) for kind in known], len(round_.cluster.nodes))
        return cls(kind=_ints(map(number.__getitem__, asked)), rows=rows)

    @property
    def mask(self) -> Bools:
        """``[j, s]``: whether job j may start on node s."""
        return self.rows[self.kind]


class _Nodes:
    """What nodes say, ready to be asked for one kind of jobs after another; some of them are bits."""

    def __init__(self, round_: Round) -> None:
        self._cluster, self._now = round_.cluster, microseconds(round_.now)
        nodes = self._cluster.nodes
        self._up = bits_of(_bools(node.state == "up" for node in nodes))
        types = gpu_type_codes(self._cluster)
        first = dict(zip(reversed(types.tolist()), reversed(nodes), strict=True))
        self._types = {node.gpu_type: bits_of(types == code) for code, node in first.items()}
        self._labels: dict[str, Bits] = {}
        self._levels: dict[str, Bits] = {}
        ends = [None if node.available_until is None else microseconds(node.available_until) for node in nodes]
        self._ends = sorted({end for end in ends if end is not None})
        place = {end: position for position, end in enumerate(self._ends)}
        self._until = _ints(len(place) if end is None else place[end] for end in ends)
        self._long_enough: dict[int, Bits] = {}

    def kind(
        self,
        types: tuple[str, ...] | None,
        requires: tuple[str, ...],
        excludes: tuple[str, ...],
        within: Within | None,
        limit: float | None,
    ) -> _Kind:
        """Return the kind of the jobs that ask for this."""
        level = within.level if within is not None and within.required else None
        return types, requires, excludes, level, self._ended(limit)

    def _ended(self, limit: float | None) -> int:
        """Return how many of the different ends of availability come before a job that starts now has to end.

        A job without a limit has to have begun: a node that is available until now takes nothing.
        """
        last = self._now + (1 if limit is None else microseconds(limit))
        return bisect_left(self._ends, last)

    def fit(self, kind: _Kind) -> Bits:
        """Return which nodes a kind of jobs may start on."""
        types, requires, excludes, level, ended = kind
        if ended not in self._long_enough:
            self._long_enough[ended] = bits_of(self._until >= ended)
        fit = self._up & self._long_enough[ended]
        if types is not None:
            fit &= reduce(or_, [self._types.get(name, 0) for name in types], 0)
        for label in requires:
            fit &= self._with_label(label)
        for label in excludes:
            fit &= ~self._with_label(label)
        if level is not None:
            if level not in self._levels:
                self._levels[level] = bits_of(unit_codes(self._cluster, level) >= 0)
            fit &= self._levels[level]
        return fit

    def _with_label(self, label: str) -> Bits:
        if label not in self._labels:
            self._labels[label] = bits_of(_bools(label in node.labels for node in self._cluster.nodes))
        return self._labels[label]


def waits_by_order(round_: Round) -> Bools:
    """Return which jobs may not start in this round: they do not run, and are held or are to begin later.

    One that was lost with its node does not run any more.
    """
    now, used = round_.now, round_.used_fields
    if "job.held" not in used and "job.not_before" not in used:
        return np.zeros(len(round_.jobs), dtype=np.bool_)
    return _bools(
        (job.held is not None or (job.not_before is not None and job.not_before > now))
        and (job.state == "waiting" or is_lost(round_, position))
        for position, job in enumerate(round_.jobs)
    )


def is_lost(round_: Round, position: int) -> bool:
    """Return whether a job runs on a node that is down."""
    job = round_.jobs[position]
    if "node.state" not in round_.used_fields or job.state != "running":
        return False
    nodes, index = round_.cluster.nodes, round_.cluster.node_index
    return any(nodes[index[node]].state == "down" for node in job.placement or ())


def gpu_type_codes(cluster: Cluster) -> Ints:
    """Return a number for the GPU type of each node: equal types, equal numbers, and none is one type."""
    known: dict[str | None, int] = {}
    return _ints(known.setdefault(node.gpu_type, len(known)) for node in cluster.nodes)


def _bools(values: Iterable[bool]) -> Bools:
    return np.fromiter(values, dtype=np.bool_)


def _ints(values: Iterable[int]) -> Ints:
    return np.fromiter(values, dtype=np.int64)
