"""The columns and rows of the chapter *placement*, family by family."""

from __future__ import annotations

import numpy as np

from muri_opt.modelling import ModelBuilder
from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.systems.philly.locality import ANYWHERE
from muri_opt.systems.philly.program_columns import Letters, PlacementColumns

Entries = tuple[Ints, Ints, Ints]
"""Rows, columns and coefficients."""


def add_letters(builder: ModelBuilder, round_: Round, table: PlacementColumns) -> None:
    """Add all columns to a model, in the order of :class:`Letters`."""
    first, spreads, racks, split = (
        table.placements.first,
        table.placements.spreads,
        table.placements.racks,
        table.placements.split,
    )
    pairs = np.column_stack([first[table.placements.places.item], table.placements.places.of])
    many = np.array([len(item.jobs) for item in table.placements.items], dtype=np.int64)
    builder.add_columns("f", [0], lower=1)
    builder.add_columns("x", table.running.leavers)
    builder.add_columns("e", table.running.evictable)
    builder.add_columns("y", np.column_stack([first[spreads.item], spreads.of]), upper=many[spreads.item])
    builder.add_columns("b", pairs, upper=_side_by_side(round_, table, many))
    builder.add_columns("n", pairs[split], upper=table.placements.room[split])
    builder.add_columns("t", np.column_stack([first[racks.item], racks.of]))
    builder.add_columns("o", table.tenants.over, lower=table.tenants.least, upper=table.tenants.most)
    builder.add_columns("p", table.tenants.losing)


def add_gangs(builder: ModelBuilder, round_: Round, table: PlacementColumns, at: Letters) -> None:
    """Add the rows of single jobs: what happens to each, all its GPUs at once, and how far apart."""
    first, spreads, places, split = (
        table.placements.first,
        table.placements.spreads,
        table.placements.places,
        table.placements.split,
    )
    gpus = round_.amounts.g[first]
    mine = np.searchsorted(table.running.leavers, first[spreads.item])
    moves = ~table.starting(spreads)
    entries = _together(
        (np.arange(len(at.x)), at.x, 1),
        (np.searchsorted(table.running.leavers, table.running.evictable), at.e, 1),
        (mine[moves], at.y[moves], 1),
    )
    builder.add_rows("stay", table.running.leavers, entries=entries, sense="=", rhs=1)
    whole = np.array([item.whole for item in table.placements.items], dtype=bool)
    choice = (
        np.array([len(item.caps) > 1 for item in table.placements.items], dtype=bool) & ~table.standing.running[first]
    )
    either = choice[spreads.item]
    entries = _together(((np.cumsum(choice) - 1)[spreads.item[either]], at.y[either], 1))
    builder.add_rows("once", first[choice], entries=entries, sense="<=", rhs=1)
    row = np.where(whole, np.cumsum(whole), np.cumsum(~whole)) - 1
    one = whole[spreads.item]
    entries = _together((row[places.item[~split]], at.b[~split], 1), (row[spreads.item[one]], at.y[one], -1))
    builder.add_rows("whole", first[whole], entries=entries, sense="=", rhs=0)
    parts, ways = row[places.item[split]], row[spreads.item[~one]]
    entries = _together((parts, at.n, 1), (ways, at.y[~one], -gpus[spreads.item[~one]]))
    builder.add_rows("gang", first[~whole], entries=entries, sense="=", rhs=0)
    used = np.arange(len(at.n))
    entries = _together((used, at.n, 1), (used, at.b[split], -table.placements.room[split]))
    index = np.column_stack([first[places.item[split]], places.of[split]])
    builder.add_rows("link", index, entries=entries, sense="<=", rhs=0)
    caps = np.array(
        [cap for item in table.placements.items if not item.whole for cap in item.caps.values()], dtype=np.int64
    )
    entries = _together((parts, at.b[split], 1), (ways, at.y[~one], -caps))
    builder.add_rows("few", first[~whole], entries=entries, sense="<=", rhs=0)
    _add_racks(builder, table, at, gpus)


def _add_racks(builder: ModelBuilder, table: PlacementColumns, at: Letters, gpus: Ints) -> None:
    racks, spreads, count = table.placements.racks, table.placements.spreads, len(table.standing.locality.racks)
    split = np.flatnonzero(table.placements.split)
    keys = racks.item * count + racks.of
    mine = table.placements.places.item[split] * count + table.standing.locality.rack[table.placements.places.of[split]]
    bound = np.isin(mine, keys)
    row = np.searchsorted(keys, mine[bound])
    most = np.bincount(row, weights=table.placements.room[split][bound], minlength=len(keys)).astype(np.int64)
    entries = _together((row, at.n[bound], 1), (np.arange(len(keys)), at.t, -np.minimum(most, gpus[racks.item])))
    builder.add_rows(
        "rack", np.column_stack([table.placements.first[racks.item], racks.of]), entries=entries, sense="<=", rhs=0
    )
    items, starts = np.unique(racks.item, return_index=True)
    wide = np.diff(np.append(starts, len(racks)))
    ways = np.isin(spreads.item, items)
    row = np.searchsorted(items, spreads.item[ways])
    most = np.where(spreads.of[ways] == ANYWHERE, wide[row], 1)
    entries = _together((np.searchsorted(items, racks.item), at.t, 1), (row, at.y[ways], -most))
    builder.add_rows("racks", table.placements.first[items], entries=entries, sense="<=", rhs=0)


def add_nodes(builder: ModelBuilder, round_: Round, table: PlacementColumns, at: Letters) -> None:
    """Add the rows of nodes: their GPUs, CPUs and memory, and jobs that stay and have nodes of their own."""
    amounts, free, places, split = round_.amounts, table.free, table.placements.places, table.placements.split
    job, node = table.placements.first[places.item], places.of
    stayer = np.array(
        [(i, s, h) for i, j in enumerate(table.running.leavers) for s, h in table.standing.held[j].items()]
    )
    stays, where, held = stayer.reshape(-1, 3).astype(np.int64).T
    column, size = at.b.copy(), amounts.g[job]
    column[split], size[split] = at.n, 1
    alone = np.array([table.standing.rules.shares_with_nobody(g) for g in amounts.g.tolist()], dtype=bool)
    taker, takes = np.where(alone[job], at.b, column), np.where(alone[job], free.gpus[node], size)
    busy = np.unique(np.append(node, where))
    entries = _together((np.searchsorted(busy, node), taker, takes), (np.searchsorted(busy, where), at.x[stays], held))
    builder.add_rows("gpus", busy, entries=entries, sense="<=", rhs=free.gpus[busy])
    for label, need, has in (("cpus", amounts.c, free.cpus), ("memory", amounts.m, free.memory)):
        unit = max(1, int(np.gcd.reduce(need)))
        bound = busy[has[busy] < UNLIMITED]
        here, there = np.isin(node, bound), np.isin(where, bound)
        mine = table.running.leavers[stays[there]]
        entries = _together(
            (np.searchsorted(bound, node[here]), column[here], size[here] * need[job[here]] // unit),
            (np.searchsorted(bound, where[there]), at.x[stays[there]], held[there] * need[mine] // unit),
        )
        builder.add_rows(label, bound, entries=entries, sense="<=", rhs=has[bound] // unit)
    keep = np.flatnonzero(alone[table.running.leavers[stays]])
    beside, of = np.nonzero(where[keep][:, None] == node)
    entries = _together(
        (beside, column[of], size[of]), (np.arange(len(keep)), at.x[stays[keep]], free.gpus[where[keep]])
    )
    index = np.column_stack([table.running.leavers[stays[keep]], where[keep]])
    builder.add_rows("beside", index, entries=entries, sense="<=", rhs=free.gpus[where[keep]])


def add_tenants(builder: ModelBuilder, round_: Round, table: PlacementColumns, at: Letters) -> None:
    """Add the rows of tenants: GPUs over quotas, and when somebody may be preempted; and of what may be moved."""
    amounts, standing = round_.amounts, table.standing
    job, going = table.placements.first[table.placements.spreads.item], table.running.evictable
    gpus, starts = amounts.g[job], table.starting(table.placements.spreads)
    tenant = np.where(starts, amounts.tenant[job], -1)

    def used(tenants: Ints) -> tuple[Entries, Entries]:
        mine, theirs = np.isin(tenant, tenants), np.isin(amounts.tenant[going], tenants)
        gone = going[theirs]
        return (np.searchsorted(tenants, tenant[mine]), at.y[mine], gpus[mine]), (
            np.searchsorted(tenants, amounts.tenant[gone]),
            at.e[theirs],
            -amounts.g[gone],
        )

    over, losing = table.tenants.over, table.tenants.losing
    entries = _together(*used(over), (np.arange(len(over)), at.o, -1))
    rhs = amounts.U[over] - standing.used[over]
    builder.add_rows("quota", over, entries=entries, sense="<=", rhs=rhs)
    entries = _together(*used(losing), (np.arange(len(losing)), at.p, -amounts.U[losing]))
    builder.add_rows("protect", losing, entries=entries, sense=">=", rhs=-standing.used[losing])
    again = np.flatnonzero(table.restarting)
    stopped = np.union1d(going, job[again])
    whose = at.p[np.searchsorted(losing, amounts.tenant[stopped])]
    entries = _together(
        (np.searchsorted(stopped, going), at.e, 1),
        (np.searchsorted(stopped, job[again]), at.y[again], 1),
        (np.arange(len(stopped)), whose, -1),
    )
    builder.add_rows("preempt", stopped, entries=entries, sense="<=", rhs=0)
    wanting = losing if table.tenants.load else losing[:0]
    every = np.repeat(np.arange(len(wanting)), np.count_nonzero(starts))
    new = np.flatnonzero(starts)
    entries = _together(
        (every, np.tile(at.y[new], len(wanting)), np.tile(gpus[new], len(wanting))),
        (np.arange(len(wanting)), at.p[: len(wanting)], -table.tenants.load),
    )
    builder.add_rows("load", wanting, entries=entries, sense=">=", rhs=0)
    moves = np.flatnonzero(~starts if standing.rules.migrate else starts & ~starts)
    budget = [standing.rules.migrate] if standing.rules.migrate else []
    entries = (np.zeros_like(moves), at.y[moves], gpus[moves])
    builder.add_rows("budget", np.arange(len(budget)), entries=entries, sense="<=", rhs=budget)


def _together(*parts: tuple[Ints, Ints, Ints | int]) -> Entries:
    """Return several lists of entries as one; a coefficient may be given once for all."""
    rows, columns, sizes = zip(
        *((row, column, np.broadcast_to(size, row.shape)) for row, column, size in parts), strict=True
    )
    return np.concatenate(rows), np.concatenate(columns), np.concatenate(sizes)


def _side_by_side(round_: Round, table: PlacementColumns, many: Ints) -> Ints:
    """Return how many jobs of an item can be on each of its nodes: more than one only if they cannot be told apart."""
    asks = round_.amounts.g[table.placements.first[table.placements.places.item]]
    alone = np.array([table.standing.rules.shares_with_nobody(gpus) for gpus in asks.tolist()], dtype=bool)
    fit = np.where(alone, 1, table.free.gpus[table.placements.places.of] // asks)
    return np.where(table.placements.split, 1, np.minimum(fit, many[table.placements.places.item]))
