"""The levels of a cluster, from wide to narrow: which unit of each a node is in.

A unit of a level is told by its name alone, and lies in one unit of every wider level. ``Node.rack`` is the unit of
the level ``rack``; all other units of a node are in ``Node.levels``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds.error_text import listed, shortened, shown

if TYPE_CHECKING:
    from muri_opt.rounds.cluster import Cluster, Node

RACK: Final = "rack"


def check_levels(levels: Sequence[str], nodes: Sequence[Node]) -> None:
    """Refuse levels that no node has, units of levels that are not listed, and units that lie in two wider ones."""
    units = [node.units for node in nodes]
    for position, node in enumerate(nodes):
        for level in units[position]:
            if level not in levels:
                field = f"nodes[{position}] ({shown(node.id)}).levels[{shortened(level)}]"
                raise InputError(
                    field, shown(units[position][level]), f"a unit of a level of the cluster: {_of(levels)}"
                )
    for place, level in enumerate(levels):
        if nodes and not any(level in one for one in units):
            raise InputError(f"levels[{place}]", f"{shown(level)}, which no node has", "levels that some node is in")
    for wide, narrow in pairwise(levels):
        _check_nested(wide, narrow, nodes)


def unit_codes(cluster: Cluster, level: str) -> NDArray[np.int64]:
    """Return for each node the number of its unit of a level, -1 where it is in none; equal units, equal numbers."""
    known: dict[str, int] = {}
    units = (node.units.get(level) for node in cluster.nodes)
    return np.fromiter((-1 if unit is None else known.setdefault(unit, len(known)) for unit in units), dtype=np.int64)


def _check_nested(wide: str, narrow: str, nodes: Sequence[Node]) -> None:
    """Refuse a unit of the narrow level that has nodes in two units of the wide one."""
    first: dict[str, tuple[str | None, str]] = {}
    for position, node in enumerate(nodes):
        inner, outer = node.units.get(narrow), node.units.get(wide)
        if inner is None:
            continue
        before, other = first.setdefault(inner, (outer, node.id))
        if before != outer:
            found = f"{shown(inner)} in {wide} {shown(outer)}, and in {wide} {shown(before)} on node {shown(other)}"
            field = f"nodes[{position}] ({shown(node.id)}).levels[{shortened(narrow)}]"
            raise InputError(field, found, f"a name that is used inside one {shortened(wide)} only")


def _of(levels: Sequence[str]) -> str:
    return listed(levels) if levels else "it lists none in 'levels'"
