"""Where jobs may start and which may not start at all: what the fields of format 2 ask, as arrays.

Jobs that ask for the same are of one kind; a round of thousands of jobs has few. :class:`Eligibility` has a row of
nodes for each kind, and ``Round.eligible`` one for each job.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds.levels import unit_codes
from muri_opt.rounds.quantities import microseconds

if TYPE_CHECKING:
    from muri_opt.rounds.cluster import Cluster
    from muri_opt.rounds.round import Round

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
_Kind = tuple[tuple[str, ...] | None, tuple[str, ...], tuple[str, ...], str | None, int]
"""GPU types, labels required and excluded, the level it must be inside one unit of, and the end of its time limit."""


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
        ended = {limit: nodes.ended(limit) for limit in {job.time_limit_seconds for job in round_.jobs}}
        known: dict[_Kind, int] = {}
        kind = [
            known.setdefault(
                (
                    job.gpu_types,
                    job.requires,
                    job.excludes,
                    job.within.level if job.within is not None and job.within.required else None,
                    ended[job.time_limit_seconds],
                ),
                len(known),
            )
            for job in round_.jobs
        ]
        rows = [nodes.fit(kind) for kind in known]
        shape = (len(rows), len(round_.cluster.nodes))
        return cls(kind=_ints(kind), rows=np.array(rows, dtype=np.bool_).reshape(shape))

    @property
    def mask(self) -> Bools:
        """``[j, s]``: whether job j may start on node s."""
        return self.rows[self.kind]


class _Nodes:
    """What nodes say, ready to be asked for one kind of jobs after another."""

    def __init__(self, round_: Round) -> None:
        self._cluster, self._now = round_.cluster, microseconds(round_.now)
        nodes = self._cluster.nodes
        self._up = _bools(node.state == "up" for node in nodes)
        self._types = {name: _bools(node.gpu_type == name for node in nodes) for name in {n.gpu_type for n in nodes}}
        self._labels = [frozenset(node.labels) for node in nodes]
        ends = [None if node.available_until is None else microseconds(node.available_until) for node in nodes]
        self._ends = sorted({end for end in ends if end is not None})
        place = {end: position for position, end in enumerate(self._ends)}
        self._until = _ints(len(place) if end is None else place[end] for end in ends)

    def ended(self, limit: float | None) -> int:
        """Return how many of the different ends of availability come before a job that starts now has to end.

        A job without a limit has to have begun: a node that is available until now takes nothing.
        """
        last = self._now + (1 if limit is None else microseconds(limit))
        return bisect_left(self._ends, last)

    def fit(self, kind: _Kind) -> Bools:
        """Return which nodes a kind of jobs may start on."""
        types, requires, excludes, level, ended = kind
        fit = self._up & (self._until >= ended)
        if types is not None:
            own = [self._types[name] for name in types if name in self._types]
            fit &= np.logical_or.reduce(own) if own else np.zeros_like(fit)
        if requires:
            fit &= _bools(labels.issuperset(requires) for labels in self._labels)
        if excludes:
            fit &= _bools(labels.isdisjoint(excludes) for labels in self._labels)
        if level is not None:
            fit &= unit_codes(self._cluster, level) >= 0
        return fit


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
