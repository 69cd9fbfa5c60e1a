"""What the charts of a replay show, as arrays of a bounded length: exact where that is short, else exact means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.replay.outcome import Floats, Timeline

CDF_POINTS: Final = 400
STEPS: Final = 300
HEAT_COLUMNS: Final = 180
HEAT_ROWS: Final = 48
SHORTEST: Final = 0.001
"""Seconds: a logarithmic axis knows no 0, and no clock counts less."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Steps:
    """A value for every stretch of time between two edges: one edge more than values, or nothing at all."""

    edges: Floats
    values: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Heat:
    """Mean GPUs in use of a node: ``values[r, c]`` of the nodes in ``rows[r]`` during the c-th part of the time."""

    rows: tuple[range, ...]
    values: Floats


def distribution(values: Floats, most: int = CDF_POINTS) -> tuple[Floats, Floats]:
    """Return different values in order, and which part of all is at most each; of many, some evenly spread ones.

    The least and the greatest are always among them, and each point returned is exact.
    """
    ordered = np.sort(np.maximum(values, SHORTEST))
    if not len(ordered):
        return ordered, ordered
    places = np.flatnonzero(np.append(np.diff(ordered) > 0, True))
    if len(places) > most:
        places = places[np.unique(np.linspace(0, len(places) - 1, most).round().astype(np.int64))]
    return ordered[places], (places + 1) / len(ordered)


def steps(timeline: Timeline, values: NDArray[np.int64] | Floats, most: int = STEPS) -> Steps:
    """Return the values as they were, or where they changed too often their means over equal parts of the time."""
    seconds = timeline.seconds
    if len(seconds) < 2:
        return Steps(edges=np.empty(0), values=np.empty(0))
    if len(seconds) <= most + 1:
        return Steps(edges=seconds, values=np.asarray(values[:-1], dtype=np.float64))
    edges = np.linspace(seconds[0], seconds[-1], most + 1)
    return Steps(edges=edges, values=means(timeline, values, edges))


def means(timeline: Timeline, values: NDArray[np.int64] | NDArray[np.int32] | Floats, edges: Floats) -> Floats:
    """Return the mean of what the timeline says between each two edges; outside of the timeline all is 0."""
    area = np.concatenate([[0.0], np.cumsum(np.diff(timeline.seconds) * values[:-1])])
    return np.asarray(np.diff(np.interp(edges, timeline.seconds, area)) / np.diff(edges))


def heat(timeline: Timeline, begin: float, end: float, *, columns: int = HEAT_COLUMNS, most: int = HEAT_ROWS) -> Heat:
    """Return the use of all nodes; neighbours share a row where there are more nodes than rows."""
    nodes = timeline.nodes.shape[1]
    if not nodes or len(timeline.seconds) < 2 or end <= begin:
        return Heat(rows=(), values=np.zeros((0, columns)))
    high = -(-nodes // most)
    rows = tuple(range(first, min(first + high, nodes)) for first in range(0, nodes, high))
    edges = np.linspace(begin, end, columns + 1)
    used = [means(timeline, timeline.nodes[:, row.start : row.stop].mean(axis=1), edges) for row in rows]
    return Heat(rows=rows, values=np.array(used))
