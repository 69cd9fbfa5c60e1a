"""The cluster as a heat map: a row for each node, time to the right, the darker the more GPUs are in use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.replay.outcome import Floats
from muri_opt.report.charts.frame import LEFT, RIGHT, TOP, Figure, axes, key, swatch
from muri_opt.report.charts.replay_groups import Group
from muri_opt.report.charts.replay_series import Heat, heat
from muri_opt.report.charts.scales import duration, straight, ticks, time_unit
from muri_opt.report.format import amount
from muri_opt.report.svg import element, rect, tooltip

LEVELS: Final = 8
"""Shades of a heat map."""
_HIGHEST_ROW = 14.0
_ALL_ROWS = 250.0
_MOST_NAMED = 12
_RULES = """\
.node path{stroke:var(--c0);stroke-width:1;fill:none}
.shade{stroke:var(--c0);stroke-width:10;fill:none}"""


def heat_maps(group: Group) -> Iterator[Figure]:
    """Yield a heat map for each replay that knows its nodes, all with the same time and the same shades."""
    begin, end = group.span
    for name, outcome in zip(group.names, group.outcomes, strict=True):
        found = heat(outcome.timeline, begin, end)
        if found.rows:
            yield _heat_map(name, found, begin, end, group.most_gpus_of_a_node)


def levels(values: Floats, most: float) -> NDArray[np.int64]:
    """Return the shade of each value: 0 for nothing at all, ``LEVELS`` for ``most``."""
    scaled = np.ceil(values * (LEVELS / max(most, 1.0)) - 1e-9).astype(np.int64)
    return np.where(values > 0, np.clip(scaled, 1, LEVELS), 0)


def heat_style() -> str:
    """Return the rules of style that heat maps need beside those of every chart: shades of the first colour."""
    shades = [f".h{level}{{stroke-opacity:{0.12 + 0.88 * level / LEVELS:.3g}}}" for level in range(1, LEVELS + 1)]
    return "\n".join([_RULES, *shades])


def _heat_map(name: str, found: Heat, begin: float, end: float, most: float) -> Figure:
    high = min(_HIGHEST_ROW, _ALL_ROWS / len(found.rows))
    columns = found.values.shape[1]
    wide, bottom = (RIGHT - LEFT) / columns, TOP + high * len(found.rows)
    unit = time_unit(end - begin)
    x = straight(0.0, (end - begin) / unit.seconds, LEFT, RIGHT)
    every = -(-len(found.rows) // _MOST_NAMED)
    named = [(TOP + high * (place + 0.5), str(found.rows[place].start)) for place in range(0, len(found.rows), every)]
    marks = [(x(mark), amount(mark)) for mark in ticks((end - begin) / unit.seconds, 8)]
    rows = [
        _row(row, values, shades, f"translate({LEFT:g} {TOP + high * place:.2f}) scale({wide:.4f} {high:.3f})")
        for place, (row, values, shades) in enumerate(
            zip(found.rows, found.values, levels(found.values, most), strict=True)
        )
    ]
    shared = "" if len(found.rows[0]) == 1 else f" A row is the mean of up to {len(found.rows[0])} neighbouring nodes."
    return Figure(
        kind="heat",
        title=f"Nodes over time: {name}",
        caption=f"GPUs in use of each node, as means over {duration((end - begin) / columns)}.{shared}",
        high=bottom + 44.0,
        parts=(*axes(marks, named, f"{unit.name} since the beginning; nodes from 0", bottom=bottom), *rows),
        key=key([_swatch(level, most) for level in (1, LEVELS // 2, LEVELS)]),
    )


def _row(row: range, values: Floats, shades: NDArray[np.int64], placed: str) -> str:
    who = f"node {row.start}" if len(row) == 1 else f"nodes {row.start} to {row[-1]}"
    words = tooltip(f"{who}: {amount(float(values.mean()), 1)} GPUs in use on average")
    ground = rect(0, 0, len(shades), 1, kind="ground")
    paths = [
        element("path", d=path, kind=f"h{level}") for level in range(1, LEVELS + 1) if (path := _runs(shades == level))
    ]
    return element("g", words, ground, *paths, transform=placed, kind="node", shape_rendering="crispEdges")


def _runs(hit: NDArray[np.bool_]) -> str:
    """Return a stroke for every run of columns."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], hit, [False]]).astype(np.int8)))
    return "".join(f"M{first} .5h{last - first}" for first, last in edges.reshape(-1, 2).tolist())


def _swatch(level: int, most: float) -> tuple[str, str]:
    stroke = element("path", d="M0 5H28", kind=f"shade h{level}")
    gpus = amount(most * level / LEVELS, 1)
    words = f"up to {gpus} GPU{'' if gpus == '1' else 's'}"
    return swatch(stroke), words
