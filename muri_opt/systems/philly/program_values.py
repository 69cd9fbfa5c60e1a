"""From places of jobs to values of the columns of the chapter *placement*, and back."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from muri_opt.modelling import Values
from muri_opt.rounds import Decision, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.philly.cluster_state import ClusterState, seat
from muri_opt.systems.philly.job_status import Held
from muri_opt.systems.philly.program_columns import Letters, PlacementColumns

Places = Mapping[int, Held]
"""Where each job that runs is."""


def decided_places(round_: Round, decision: Decision) -> dict[int, Held]:
    """Return where a decision lets each job run."""
    node = round_.cluster.node_index
    return {
        round_.job_index[assignment.jobs[0]]: {node[name]: gpus for name, gpus in assignment.gpus.items()}
        for assignment in decision.assignments
    }


def values_of(round_: Round, table: PlacementColumns, places: Places) -> Ints:
    """Return the columns of a decision, with alike nodes exchanged so that the most used come first.

    What the columns cannot say (a job where it has no room) is left out, and then some row does not hold.
    """
    amounts, standing = round_.amounts, table.standing
    put = _in_order(table, {j: held for j, held in places.items() if held != standing.held[j]})
    count = len(amounts.G)
    on = np.zeros((len(table.placements.items), count), dtype=np.int64)
    spread = np.zeros((len(table.placements.items), 3), dtype=np.int64)
    for position, item in enumerate(table.placements.items):
        for job in item.jobs:
            for node, gpus in put.get(job, {}).items():
                on[position, node] += gpus
            if job in put:
                nodes = np.fromiter(places[job], dtype=np.int64)
                spread[position, standing.locality.spread(item.first, nodes)] += 1
    at, nodes = table.placements.places.item, table.placements.places.of
    n = on[at, nodes]
    b = np.where(table.placements.split, n > 0, n // np.maximum(1, amounts.g[table.placements.first[at]]))
    rack = np.zeros((len(table.placements.items), len(standing.locality.racks)), dtype=np.int64)
    np.add.at(rack, (at, standing.locality.rack[nodes]), n)
    used = standing.used.copy()
    runs = np.array([job in places for job in range(len(round_.jobs))], dtype=bool)
    owned = amounts.tenant >= 0
    np.add.at(used, amounts.tenant[owned], amounts.g[owned] * (runs[owned].astype(np.int64) - standing.running[owned]))
    gone = ~runs[table.running.evictable]
    again = np.array([job for job in put if table.running.restartable[job]], dtype=np.int64)
    return np.concatenate(
        [
            [1],
            runs[table.running.leavers] & ~np.isin(table.running.leavers, list(put)),
            gone,
            spread[table.placements.spreads.item, table.placements.spreads.of],
            b,
            n[table.placements.split],
            rack[table.placements.racks.item, table.placements.racks.of] > 0,
            np.maximum(0, used - amounts.U)[table.tenants.over],
            np.isin(
                table.tenants.losing, np.append(amounts.tenant[table.running.evictable[gone]], amounts.tenant[again])
            ),
        ]
    ).astype(np.int64)


def places_of(round_: Round, table: PlacementColumns, values: Values) -> dict[int, Held]:
    """Return where the values put the jobs: sitting as close as the values say, and with the least fragmentation.

    Among places of the same worth a solver takes any. So all jobs that start or move are seated anew, the largest
    first; where that does not work, they go where the values say.
    """
    at, whole = Letters.of(table), values.astype(np.int64)
    floor = ClusterState(round_, table.standing)
    for job in table.running.leavers[whole[at.x] == 0].tolist():
        floor.take(job)
    said = _as_valued(round_, table, whole[at.b], whole[at.n])
    level: dict[int, int] = {}
    ways = zip(
        table.placements.spreads.item.tolist(), table.placements.spreads.of.tolist(), whole[at.y].tolist(), strict=True
    )
    for position, spread, times in ways:
        level.update(dict.fromkeys(table.placements.items[position].jobs[:times], spread))
    kept = dict(floor.at)
    for job in sorted(said, key=lambda job: (-int(round_.amounts.g[job]), job)):
        held = seat(floor, job, level[job])
        if held is None:
            return kept | said
        floor.put(job, held)
    return floor.at


def _as_valued(round_: Round, table: PlacementColumns, b: Ints, n: Ints) -> dict[int, Held]:
    """Return where the columns b and n put the jobs that start or move."""
    on = b * round_.amounts.g[table.placements.first[table.placements.places.item]]
    on[table.placements.split] = n
    said: dict[int, Held] = {}
    for i in np.flatnonzero(on).tolist():
        item, node, gpus = (
            table.placements.items[table.placements.places.item[i]],
            int(table.placements.places.of[i]),
            int(on[i]),
        )
        if item.whole:
            waiting = [job for job in item.jobs if job not in said]
            said.update((job, {node: gpus // int(b[i])}) for job in waiting[: int(b[i])])
        else:
            said.setdefault(item.first, {})[node] = gpus
    return said


def _in_order(table: PlacementColumns, put: dict[int, Held]) -> dict[int, Held]:
    """Return the places of jobs with alike nodes exchanged: of each class the most used ones first."""
    size = len(table.free.gpus)
    load = np.zeros(size, dtype=np.int64)
    for held in put.values():
        load[list(held)] += list(held.values())
    name = np.arange(size)
    for nodes in table.nodes.alike:
        name[nodes[np.argsort(-load[nodes], kind="stable")]] = nodes
    return {job: {int(name[node]): gpus for node, gpus in held.items()} for job, held in put.items()}
