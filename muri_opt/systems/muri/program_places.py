"""Where the groups of a solved program run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from muri_opt.modelling import Values
from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.capacity import Leftover, best_fit
from muri_opt.systems.muri.group_locations import Location
from muri_opt.systems.muri.periods import Group
from muri_opt.systems.muri.program_locations import Cells

Chosen = Sequence[tuple[Group, int]]
"""Groups, each with the place of its location."""
Fit = Callable[[Ints, int, int], Ints | None]
"""From room per node, GPUs and the place of a location to GPUs per node."""


def held_on(round_: Round, gpus: Mapping[str, int]) -> Ints:
    """Return GPUs by the name of a node as GPUs per node."""
    share = np.zeros(len(round_.cluster.nodes), dtype=np.int64)
    for node, given in gpus.items():
        share[round_.cluster.node_index[node]] = given
    return share


def shares_anywhere(round_: Round, groups: Sequence[Group], stay: Mapping[Group, Ints]) -> dict[Group, Ints]:
    """Return GPUs per node of the groups that find a place: where they ``stay``, or by best fit, large ones first."""
    g, own = round_.amounts.g, [*stay.values()]
    line = [*stay, *sorted((jobs for jobs in groups if jobs not in stay), key=lambda jobs: -int(g[list(jobs)].max()))]

    def fit(room: Ints, gpus: int, place: int) -> Ints | None:
        if place >= len(own):
            return best_fit(room, gpus)
        return own[place] if (own[place] <= room).all() else None

    return _filled(round_, [(jobs, place) for place, jobs in enumerate(line)], fit)


def shares_at_locations(
    round_: Round, chosen: Chosen, locations: Sequence[Location], cells: Cells, flows: Values
) -> dict[Group, Ints]:
    """Return GPUs per node of the groups that find a place; of values of a program that only counts GPUs, all do.

    Best fit, from the locations of the fewest nodes, splits fewer groups than the columns f; they say where groups go
    where best fit does not find a place for all.
    """
    g = round_.amounts.g

    def size(item: tuple[Group, int]) -> tuple[bool, int, int]:
        jobs, place = item
        return locations[place].share is None, len(locations[place].nodes), -int(g[list(jobs)].max())

    line = sorted(chosen, key=size)
    packed = _filled(round_, line, lambda room, gpus, place: _packed(room, gpus, locations[place]))
    if len(packed) == len(line):
        return packed
    rest = np.rint(flows).astype(np.int64)
    told = _filled(round_, line, lambda room, gpus, place: _told(room, gpus, place, locations[place], cells, rest))
    return told if len(told) > len(packed) else packed


def _filled(round_: Round, line: Chosen, fit: Fit) -> dict[Group, Ints]:
    """Return the places of the groups that fit into the cluster, tried in order."""
    left, shares = Leftover(round_), dict[Group, Ints]()
    for jobs, place in line:
        if left.within_quota(*jobs):
            share = fit(left.room(*jobs), int(round_.amounts.g[list(jobs)].max()), place)
            if share is not None:
                left.take(share, *jobs)
                shares[jobs] = share
    return shares


def _packed(room: Ints, gpus: int, location: Location) -> Ints | None:
    """Return the best fit at a location."""
    if location.share is not None:
        share = location.on_nodes(len(room))
        return share if (share <= room).all() else None
    nodes = np.array(sorted(location.nodes), dtype=np.int64)
    found = best_fit(room[nodes], gpus)
    if found is None:
        return None
    share = np.zeros_like(room)
    share[nodes] = found
    return share


def _told(room: Ints, gpus: int, place: int, location: Location, cells: Cells, rest: Ints) -> Ints | None:
    """Return GPUs in the cells of a location as the columns f, of which ``rest`` is left, say; take them from it."""
    mine = np.flatnonzero(cells.pairs[:, 0] == place)
    if not len(mine):
        return _packed(room, gpus, location)
    share, missing = np.zeros_like(room), gpus
    for pair in mine.tolist():
        part = min(missing, int(rest[pair]))
        nodes = np.flatnonzero(cells.of_node == cells.pairs[pair, 1])
        found = best_fit(room[nodes], part)
        if found is None:
            return None
        share[nodes] += found
        rest[pair] -= part
        missing -= part
    return None if missing else share
