"""The columns and rows of the chapter *placement*, family by family."""

from __future__ import annotations

import numpy as np

from muri_opt.modelling import ModelBuilder
from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.systems.philly.locality import ANYWHERE
from muri_opt.systems.philly.program_columns import Letters, PlacementColumns
from muri_opt.systems.philly.quota_tree import QuotaTree

Entries = tuple[Ints, Ints, Ints]
"""Rows, columns and coefficients."""


def add_letters(builder: ModelBuilder, round_: Round, table: PlacementColumns) -> None:
    """Add all columns to a model, in the order of :class:`Letters`."""
    choices, tenants = table.placements, table.tenants
    spreads, racks, names = choices.spreads, choices.racks, choices.names
    pairs = np.column_stack([names[choices.places.item], choices.places.of])
    many = np.array([len(item.jobs) for item in choices.items], dtype=np.int64)
    over = tenants.over if table.status.classes == 1 else np.column_stack([tenants.over, tenants.rank])
    builder.add_columns("f", [0], lower=1)
    builder.add_columns("x", table.running.leavers)
    builder.add_columns("e", table.running.evictable)
    builder.add_columns("y", np.column_stack([names[spreads.item], spreads.of]), upper=many[spreads.item])
    builder.add_columns("b", pairs, upper=_side_by_side(round_, table, many))
    builder.add_columns("n", pairs[choices.split], upper=choices.room[choices.split])
    builder.add_columns("t", np.column_stack([names[racks.item], racks.of]))
    builder.add_columns("o", over, lower=tenants.least, upper=tenants.most)
    builder.add_columns("p", tenants.losing)


def add_gangs(builder: ModelBuilder, round_: Round, table: PlacementColumns, at: Letters) -> None:
    """Add the rows of single jobs: what happens to each, all its GPUs at once, and how far apart."""
    choices = table.placements
    first, names, spreads, places, split = choices.first, choices.names, choices.spreads, choices.places, choices.split
    gpus = round_.amounts.g[first]
    mine = np.searchsorted(table.running.leavers, first[spreads.item])
    moves = ~table.starting(spreads)
    entries = _together(
        (np.arange(len(at.x)), at.x, 1),
        (np.searchsorted(table.running.leavers, table.running.evictable), at.e, 1),
        (mine[moves], at.y[moves], 1),
    )
    builder.add_rows("stay", table.running.leavers, entries=entries, sense="=", rhs=1)
    _add_once(builder, table, at)
    equal = np.array([item.share is not None for item in choices.items], dtype=bool)
    parts_of = np.array([item.parts for item in choices.items], dtype=np.int64)
    row = np.where(equal, np.cumsum(equal), np.cumsum(~equal)) - 1
    one = equal[spreads.item]
    entries = _together(
        (row[places.item[~split]], at.b[~split], 1), (row[spreads.item[one]], at.y[one], -parts_of[spreads.item[one]])
    )
    builder.add_rows("whole", names[equal], entries=entries, sense="=", rhs=0)
    parts, ways = row[places.item[split]], row[spreads.item[~one]]
    entries = _together((parts, at.n, 1), (ways, at.y[~one], -gpus[spreads.item[~one]]))
    builder.add_rows("gang", names[~equal], entries=entries, sense="=", rhs=0)
    used = np.arange(len(at.n))
    entries = _together((used, at.n, 1), (used, at.b[split], -choices.room[split]))
    index = np.column_stack([names[places.item[split]], places.of[split]])
    builder.add_rows("link", index, entries=entries, sense="<=", rhs=0)
    caps = np.array([cap for item in choices.items if item.share is None for cap in item.caps.values()], dtype=np.int64)
    entries = _together((parts, at.b[split], 1), (ways, at.y[~one], -caps))
    builder.add_rows("few", names[~equal], entries=entries, sense="<=", rhs=0)
    _add_least(builder, table, at)
    _add_racks(builder, table, at, gpus)


def _add_once(builder: ModelBuilder, table: PlacementColumns, at: Letters) -> None:
    """Add the rows of waiting jobs that may start in several ways: each starts in one of them."""
    choices = table.placements
    job = choices.first[choices.spreads.item]
    many = {item.first: len(item.jobs) for item in choices.items}
    starting, ways = np.unique(job[table.starting(choices.spreads)], return_counts=True)
    several = starting[ways > 1]
    either = np.isin(job, several)
    rhs = np.array([many[one] for one in several.tolist()], dtype=np.int64)
    entries = _together((np.searchsorted(several, job[either]), at.y[either], 1))
    builder.add_rows("once", several, entries=entries, sense="<=", rhs=rhs)


def _add_least(builder: ModelBuilder, table: PlacementColumns, at: Letters) -> None:
    """Add the rows of jobs that ask for several nodes: as many are used as they ask for at least."""
    choices = table.placements
    least = np.array([item.least if item.share is None else 1 for item in choices.items], dtype=np.int64)
    wide = np.flatnonzero(least > 1)
    if not len(wide):
        return
    split = np.flatnonzero(choices.split)
    some = np.flatnonzero(np.isin(choices.places.item[split], wide))
    item, node = choices.places.item[split[some]], choices.places.of[split[some]]
    used = np.arange(len(some))
    entries = _together((used, at.b[split[some]], 1), (used, at.n[some], -1))
    builder.add_rows("uses", np.column_stack([choices.names[item], node]), entries=entries, sense="<=", rhs=0)
    ways = np.flatnonzero(np.isin(choices.spreads.item, wide))
    mine = choices.spreads.item[ways]
    entries = _together(
        (np.searchsorted(wide, item), at.b[split[some]], 1), (np.searchsorted(wide, mine), at.y[ways], -least[mine])
    )
    builder.add_rows("least", choices.names[wide], entries=entries, sense=">=", rhs=0)


def _add_racks(builder: ModelBuilder, table: PlacementColumns, at: Letters, gpus: Ints) -> None:
    choices, count = table.placements, len(table.status.locality.racks)
    racks, spreads, places = choices.racks, choices.spreads, choices.places
    column, size = _taken(table, at)
    keys = racks.item * count + racks.of
    mine = places.item * count + table.status.locality.rack[places.of]
    bound = np.isin(mine, keys)
    row = np.searchsorted(keys, mine[bound])
    most = np.bincount(row, weights=choices.room[bound], minlength=len(keys)).astype(np.int64)
    entries = _together(
        (row, column[bound], size[bound]), (np.arange(len(keys)), at.t, -np.minimum(most, gpus[racks.item]))
    )
    builder.add_rows("rack", np.column_stack([choices.names[racks.item], racks.of]), entries=entries, sense="<=", rhs=0)
    items, starts = np.unique(racks.item, return_index=True)
    wide = np.diff(np.append(starts, len(racks)))
    ways = np.isin(spreads.item, items)
    row = np.searchsorted(items, spreads.item[ways])
    most = np.where(spreads.of[ways] == ANYWHERE, wide[row], 1)
    entries = _together((np.searchsorted(items, racks.item), at.t, 1), (row, at.y[ways], -most))
    builder.add_rows("racks", choices.names[items], entries=entries, sense="<=", rhs=0)


def _taken(table: PlacementColumns, at: Letters) -> tuple[Ints, Ints]:
    """Return for each place the column that says how many GPUs are taken there, and how many for each unit of it."""
    choices = table.placements
    column, size = at.b.copy(), choices.shares[choices.places.item]
    column[choices.split], size[choices.split] = at.n, 1
    return column, size


def add_nodes(builder: ModelBuilder, round_: Round, table: PlacementColumns, at: Letters) -> None:
    """Add the rows of nodes: their GPUs, CPUs and memory, and jobs that stay and have nodes of their own."""
    amounts, free, places = round_.amounts, table.free, table.placements.places
    job, node = table.placements.first[places.item], places.of
    stayer = np.array([(i, s, h) for i, j in enumerate(table.running.leavers) for s, h in table.status.held[j].items()])
    stays, where, held = stayer.reshape(-1, 3).astype(np.int64).T
    column, size = _taken(table, at)
    alone = np.array([table.status.rules.shares_with_nobody(g) for g in amounts.g.tolist()], dtype=bool)
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
    amounts, status, tree, tenants = round_.amounts, table.status, QuotaTree.of(round_), table.tenants
    job, going = table.placements.first[table.placements.spreads.item], table.running.evictable
    gpus, starts = amounts.g[job], table.starting(table.placements.spreads)
    new = np.flatnonzero(starts)

    def used(owners: Ints, ranks: Ints) -> tuple[Entries, Entries]:
        """Return the entries of what starts and is preempted of each tenant, and priority at least so large."""
        found = []
        for jobs, columns, sizes in ((job[new], at.y[new], gpus[new]), (going, at.e, -amounts.g[going])):
            counts = tree.counts_for(amounts.tenant[jobs], owners) & (status.rank[jobs] >= ranks[:, None])
            row, place = np.nonzero(counts)
            found.append((row, columns[place], sizes[place]))
        return found[0], found[1]

    over, losing = tenants.over, tenants.losing
    inside = tree.counts_for(over, over) & (tenants.rank == tenants.rank[:, None])
    above, part = np.nonzero(inside)
    entries = _together(*used(over, tenants.rank), (above, at.o[part], -1))
    index = over if status.classes == 1 else np.column_stack([over, tenants.rank])
    builder.add_rows("quota", index, entries=entries, sense="<=", rhs=tenants.left)
    entries = _together(*used(losing, np.zeros_like(losing)), (np.arange(len(losing)), at.p, -amounts.U[losing]))
    builder.add_rows("protect", losing, entries=entries, sense=">=", rhs=-tenants.used)
    again = np.flatnonzero(table.restarting)
    stopped = np.union1d(going, job[again])
    whose = at.p[np.searchsorted(losing, tree.nearest(amounts.tenant[stopped]))]
    entries = _together(
        (np.searchsorted(stopped, going), at.e, 1),
        (np.searchsorted(stopped, job[again]), at.y[again], 1),
        (np.arange(len(stopped)), whose, -1),
    )
    builder.add_rows("preempt", stopped, entries=entries, sense="<=", rhs=0)
    wanting = losing if table.tenants.load else losing[:0]
    every = np.repeat(np.arange(len(wanting)), np.count_nonzero(starts))
    entries = _together(
        (every, np.tile(at.y[new], len(wanting)), np.tile(gpus[new], len(wanting))),
        (np.arange(len(wanting)), at.p[: len(wanting)], -table.tenants.load),
    )
    builder.add_rows("load", wanting, entries=entries, sense=">=", rhs=0)
    moves = np.flatnonzero(~starts if status.rules.migrate else starts & ~starts)
    budget = [status.rules.migrate] if status.rules.migrate else []
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
    choices = table.placements
    asks = round_.amounts.g[choices.first[choices.places.item]]
    alone = np.array([table.status.rules.shares_with_nobody(gpus) for gpus in asks.tolist()], dtype=bool)
    fit = np.where(alone, 1, table.free.gpus[choices.places.of] // asks)
    whole = np.array([item.whole for item in choices.items], dtype=bool)[choices.places.item]
    return np.where(whole, np.minimum(fit, many[choices.places.item]), 1)
