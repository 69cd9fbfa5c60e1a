"""From places of jobs to values of the columns of the chapter *placement*, and back."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from muri_opt.modelling import Values
from muri_opt.rounds import Decision, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.philly.cluster_state import ClusterState, find_placement
from muri_opt.systems.philly.job_status import Held
from muri_opt.systems.philly.program_columns import Letters, PlacementColumns
from muri_opt.systems.philly.quota_tree import QuotaTree

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
    amounts, status = round_.amounts, table.status
    put = _in_order(table, {j: held for j, held in places.items() if held != status.held[j]})
    count = len(amounts.G)
    on = np.zeros((len(table.placements.items), count), dtype=np.int64)
    spread = np.zeros((len(table.placements.items), 3), dtype=np.int64)
    for job, position in _positions(table, put).items():
        for node, gpus in put[job].items():
            on[position, node] += gpus
        nodes = np.fromiter(places[job], dtype=np.int64)
        spread[position, status.locality.spread(job, nodes)] += 1
    at, nodes = table.placements.places.item, table.placements.places.of
    n = on[at, nodes]
    b = np.where(table.placements.split, n > 0, n // np.maximum(1, table.placements.shares[at]))
    rack = np.zeros((len(table.placements.items), len(status.locality.racks)), dtype=np.int64)
    np.add.at(rack, (at, status.locality.rack[nodes]), n)
    tree, tenants = QuotaTree.of(round_), table.tenants
    used = tree.used(places)
    runs = np.array([job in places for job in range(len(round_.jobs))], dtype=bool)
    gone = ~runs[table.running.evictable]
    again = [job for job in put if table.running.restartable[job]]
    stopped = [*table.running.evictable[gone].tolist(), *again]
    losing = tree.nearest(amounts.tenant[np.array(stopped, dtype=np.int64)])
    return np.concatenate(
        [
            [1],
            runs[table.running.leavers] & ~np.isin(table.running.leavers, list(put)),
            gone,
            spread[table.placements.spreads.item, table.placements.spreads.of],
            b,
            n[table.placements.split],
            rack[table.placements.racks.item, table.placements.racks.of] > 0,
            tree.over(used)[tenants.over, tenants.rank],
            np.isin(tenants.losing, losing),
        ]
    ).astype(np.int64)


def places_of(round_: Round, table: PlacementColumns, values: Values) -> dict[int, Held]:
    """Return where the values put the jobs: sitting as close as the values say, and with the least fragmentation.

    Among places of the same worth a solver takes any. So all jobs that start or move are placed anew, the largest
    first; where that does not work, they go where the values say.
    """
    at, whole = Letters.of(table), values.astype(np.int64)
    state = ClusterState(round_, table.status)
    for job in table.running.leavers[whole[at.x] == 0].tolist():
        state.take(job)
    said = _as_valued(table, whole[at.b], whole[at.n])
    level: dict[int, int] = {}
    ways = zip(
        table.placements.spreads.item.tolist(), table.placements.spreads.of.tolist(), whole[at.y].tolist(), strict=True
    )
    for position, spread, times in ways:
        if times:
            level.update(dict.fromkeys(table.placements.items[position].jobs, spread))
    kept = dict(state.at)
    for job in sorted(said, key=lambda job: (-int(round_.amounts.g[job]), job)):
        held = find_placement(state, job, level[job])
        if held is None:
            return kept | said
        state.put(job, held)
    return state.at


def _positions(table: PlacementColumns, put: Places) -> dict[int, int]:
    """Return of which of its items each job is that is put there; of the last where it can be of none."""
    found: dict[int, int] = {}
    sure: set[int] = set()
    for position, item in enumerate(table.placements.items):
        for job in item.jobs:
            if job not in put or job in sure:
                continue
            found[job] = position
            if item.holds(put[job]):
                sure.add(job)
    return found


def _as_valued(table: PlacementColumns, b: Ints, n: Ints) -> dict[int, Held]:
    """Return where the columns b and n put the jobs that start or move."""
    on = b * table.placements.shares[table.placements.places.item]
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
